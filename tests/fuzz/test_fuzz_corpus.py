"""Every stored input of the fuzzer is taken, in a process of bounded memory; and faults are found at all."""

import os
import random
import re
import subprocess
import sys
from pathlib import Path

import fuzz_target
import fuzzer
import pytest

from support.thorough import thorough


def test_every_stored_input_is_taken():
    done = subprocess.run([sys.executable, fuzzer.__file__, "--seconds", "0"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    read = dict(re.findall(r"^(\w+): (\d+) inputs in ", done.stdout, re.MULTILINE))
    assert read == {name: str(len(list((fuzzer.CORPUS / name).iterdir()))) for name in fuzzer.TARGETS}


DRAW = """
import zlib, fuzzer
for seed in (1, 2):
    print([zlib.crc32(fuzzer.drawn(name, seed, number)) for name in fuzzer.TARGETS for number in range(100, 140)])
"""


def run(source, folder, **more):
    path = os.pathsep.join([str(Path(fuzzer.__file__).parent), *sys.path])
    command = [sys.executable, "-c", source]
    environment = os.environ | {"PYTHONPATH": path} | more
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)


def test_an_input_depends_on_nothing_but_its_number(tmp_path):
    first, again = (run(DRAW, tmp_path, PYTHONHASHSEED=hashes).stdout for hashes in "12")
    assert first == again
    of_one, of_two = first.splitlines()
    assert of_one != of_two


DRIVE = """
import os, pathlib, fuzz_target, fuzzer
READS = {reads!r}
fuzzer.TARGETS = {{
    name: fuzz_target.Target(lambda data, code=compile(read, name, "eval"): data and eval(code), (b"x",))
    for name, read in READS.items()
}}
fuzzer.CORPUS, fuzzer.WRITTEN, fuzzer.CPU_S, fuzzer.HANG_S = pathlib.Path("."), pathlib.Path("found"), 0.05, 6
for name in READS:
    assert not fuzzer.fuzzed(name, 1, 0)
"""


@pytest.mark.parametrize(
    "faults",
    [
        {
            "raised": ("{}[data]", "KeyError at"),
            "ended": ("os.abort()", "the process ended with -6"),
            "memory": ("bytearray(1 << 40)", "MemoryError at"),
            "slow": ("sum(range(2 * 10**7))", "TimeoutError at"),
        },
        thorough({"hung": ("pow(7, 7**10**6, 2**10**6 + 1)", "the process ended with -14")}),
    ],
    ids=["noticed", "hung"],
)
def test_a_fault_of_any_kind_is_found_and_written(tmp_path, faults):
    for name in faults:
        (tmp_path / name).mkdir()
        (tmp_path / name / "seed").write_bytes(name.encode())
    done = run(DRIVE.format(reads={name: read for name, (read, _) in faults.items()}), tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert [f"{name}: {says}" in done.stdout for name, (_, says) in faults.items()] == [True] * len(faults)
    found = sorted(path.read_bytes().decode() for path in (tmp_path / "found").iterdir())
    assert found == sorted(faults)


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
