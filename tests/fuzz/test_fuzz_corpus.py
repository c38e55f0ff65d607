"""Every stored input of the fuzzer is taken, in a process of bounded memory; and faults are found at all."""

import os
import random
import subprocess
import sys
from pathlib import Path

import fuzz_target
import fuzzer
import pytest

from support.thorough import thorough


@pytest.mark.parametrize("target", fuzzer.TARGETS)
def test_every_stored_input_is_taken(target):
    command = [sys.executable, fuzzer.__file__, "--seconds", "0", "--target", target]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


DRAW = """
import zlib, fuzzer
print([zlib.crc32(fuzzer.drawn(name, {seed}, number)) for name in fuzzer.TARGETS for number in range(100, 200)])
"""


def run(source, folder, **more):
    path = os.pathsep.join([str(Path(fuzzer.__file__).parent), *sys.path])
    command = [sys.executable, "-c", source]
    environment = os.environ | {"PYTHONPATH": path} | more
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)


def test_an_input_depends_on_nothing_but_its_number(tmp_path):
    first, again, other = (
        run(DRAW.format(seed=seed), tmp_path, PYTHONHASHSEED=hashes).stdout
        for seed, hashes in ((1, "1"), (1, "2"), (2, "1"))
    )
    assert first == again != other


DRIVE = """
import os, pathlib, fuzz_target, fuzzer
fuzzer.TARGETS = {{"it": fuzz_target.Target(lambda data: data and {read}, (b"x",))}}
fuzzer.CORPUS, fuzzer.WRITTEN, fuzzer.CPU_S, fuzzer.HANG_S = pathlib.Path("."), pathlib.Path("found"), 0.05, 6
assert not fuzzer.fuzzed("it", 1, 0)
"""


@pytest.mark.parametrize(
    ("read", "says"),
    [
        ("{}[data]", "KeyError at"),
        ("os.abort()", "ended with -6"),
        ("bytearray(1 << 40)", "MemoryError"),
        ("sum(range(2 * 10**7))", "TimeoutError"),
        thorough(("pow(7, 7**10**6, 2**10**6 + 1)", "ended with -14")),
    ],
)
def test_a_fault_of_any_kind_is_found_and_written(tmp_path, read, says):
    (tmp_path / "it").mkdir()
    (tmp_path / "it" / "seed").write_bytes(b"abc")
    done = run(DRIVE.format(read=read), tmp_path)
    assert done.returncode == 0 and says in done.stdout, done.stdout + done.stderr
    (found,) = (tmp_path / "found").iterdir()
    assert found.read_bytes() == b"abc"


def test_mutations_reach_far_from_what_they_start_from():
    target = fuzz_target.Target(print, (b"token",))
    made = {fuzz_target.drawn(random.Random(n), target, [b'{"a": 17}', b"other"]) for n in range(500)}
    assert len(made) > 300
    assert max(map(len, made)) > 10_000 and b"" in made and any(b"token" in data for data in made)


def test_the_corpus_is_small_and_each_folder_is_described():
    files = [path for path in fuzzer.CORPUS.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) < 200_000
    described = (fuzzer.CORPUS / "README.md").read_text()
    assert all(f"`{name}/`" in described for name in fuzzer.TARGETS)
    assert {path.name for path in Path(fuzzer.CORPUS).iterdir() if path.is_dir()} == set(fuzzer.TARGETS)
