"""Archives of a few megabytes that hold gigabytes: one sentence, and little memory, in a watched process."""

import base64
import gzip
import io
import itertools
import json
import random
import resource
import subprocess
import sys
import zipfile
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.importing import document, streamed
from support.thorough import one_in
from truegrade.errors import BadRecord
from truegrade.files import unpacking
from truegrade.files.unpacking import (
    InflationMeter,
    UnpackedTooLarge,
    deflate_stream,
    gunzipped,
    unpack,
    zlib_stream,
)
from truegrade.store.importers.reading import SourceFile, json_lines

MOST_MIB = 300
PIECE = 1 << 22
HEAD = b'{"task_id": "HumanEval/0", "completion": "'
NOISE = base64.b64encode(random.Random(0).randbytes(1 << 20))

CHILD = """
import sys
from pathlib import Path
from truegrade.errors import UserError
{code}
try:
    answer = attempt(Path(sys.argv[1]))
except UserError as error:
    answer = error
peak = Path("/proc/self/status").read_text().partition("VmHWM:")[2]  # of this process, unlike `ru_maxrss`
print(int(peak.split()[0]) // 1024, answer)
"""
ROWS = """
def attempt(path):
    from truegrade.store.importers import SourceFile, ImportTarget, find_format, index_ids
    target = ImportTarget(benchmark="humaneval", dataset_sha256="d", ids=index_ids(["HumanEval/0"]))
    with SourceFile(path) as source:
        return sum(1 for _ in find_format(source, None).read(source, target))
"""
DATA = """
def attempt(path):
    from truegrade.datasets.download import read_content
    return len(read_content(path))
"""
TESTS = """
def attempt(path):
    from truegrade.grading.contests.tests import decode
    from truegrade.records import ContestTask
    return decode(ContestTask(title="", question="", public_tests="[]", private_tests=path.read_text()))
"""


def attempt(code, path):
    """Memory in MiB and what was said, of a process that cannot take more than a little."""

    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
        resource.setrlimit(resource.RLIMIT_CPU, (120, 120))

    command = [sys.executable, "-c", CHILD.format(code=code), str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, preexec_fn=limit)
    assert done.returncode == 0, done.stderr
    memory, _, said = done.stdout.partition(" ")
    return int(memory), said


def bomb(head, filling, window=16 + zlib.MAX_WBITS):
    """4 GiB in 4 MB: one member, whose end is one piece again and again."""
    packer = zlib.compressobj(9, zlib.DEFLATED, window)
    start = packer.compress(head) + packer.flush(zlib.Z_FULL_FLUSH)
    piece = filling * (PIECE // len(filling))
    again = packer.compress(piece) + packer.flush(zlib.Z_FULL_FLUSH)
    return start + again * (4 * (1 << 30) // PIECE)


@pytest.mark.parametrize("code", [ROWS, DATA])
@pytest.mark.parametrize(
    ("head", "filling"),
    one_in(
        2,
        [
            (HEAD, b" "),
            (HEAD + NOISE, b"a"),
            (b'[{"task_id": "a", "completion": 1}, ', b"{},"),
            (b"[" * 1000, b"[],"),
        ],
    ),
    ids=["one text", "noise first", "objects", "lists"],
)
def test_a_gzip_bomb_is_refused_while_it_is_read(tmp_path, code, head, filling):
    path = tmp_path / "samples.jsonl.gz"
    path.write_bytes(bomb(head, filling))
    assert path.stat().st_size < 20 << 20
    memory, said = attempt(code, path)
    assert "samples.jsonl.gz" in said
    assert "256 times its size" in said
    assert "gunzip" in said
    assert memory < MOST_MIB


@pytest.mark.parametrize("packing", ["deflate", "zstandard"])
@pytest.mark.parametrize("where", one_in(2, ["header.json", "samples/HumanEval/0_epoch_1.json"]))
def test_a_log_of_inspect_that_is_a_bomb_is_refused(tmp_path, where, packing):
    path = tmp_path / "log.eval"
    if packing == "zstandard":
        backport = pytest.importorskip("backports.zstd.zipfile", reason="the extra [zstd] is not installed")
        archive = backport.ZipFile(path, "w", backport.ZIP_ZSTANDARD)
    else:
        archive = zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED)
    with archive:
        if where != "header.json":
            archive.writestr("header.json", json.dumps({"version": 2, "status": "success", "eval": {"task": "x"}}))
        with archive.open(where, "w") as member:
            for _ in range(80):
                member.write(b" " * PIECE)
            member.write(b"{}")
    memory, said = attempt(ROWS, path)
    assert f"log.eval, field '{where}': one member unpacks to more than 256 times its size" in said
    assert "inspect log convert" in said
    assert memory < MOST_MIB


def test_packed_tests_that_are_a_bomb_are_refused(tmp_path):
    path = tmp_path / "tests.txt"
    path.write_text(base64.b64encode(bomb(b"\x80\x04X", b" ", zlib.MAX_WBITS)).decode())
    memory, said = attempt(TESTS, path)
    assert "private_test_cases" in said
    assert "256 times its size" in said
    assert memory < MOST_MIB


def pieces_of(content, opener, meter):
    return list(unpack(io.BytesIO(content).read, opener, meter))


@given(st.lists(st.binary(max_size=300), min_size=1, max_size=4), st.integers(1, 2000))
def test_members_that_follow_each_other_are_read_as_gzip_does(parts, times):
    content = b"".join(gzip.compress(part * times) + b"\0" * 7 for part in parts)
    with gunzipped(io.BytesIO(content).read, InflationMeter("document")) as file:
        assert file.read() == b"".join(part * times for part in parts)


@pytest.mark.parametrize("cut", [1, 4, 9, 30])
def test_a_cut_stream_is_an_error(cut):
    content = gzip.compress(random.Random(0).randbytes(100))
    with pytest.raises(EOFError), gunzipped(io.BytesIO(content[:-cut]).read, InflationMeter("line")) as file:
        file.read()
    with (
        pytest.raises(zlib.error),
        gunzipped(io.BytesIO(content + b"x" * 20).read, InflationMeter("line")) as file,
    ):
        file.read()


def test_no_piece_is_larger_than_a_step():
    packed = zlib.compress(b"a" * 1_000_000)
    sizes = [len(piece) for piece in pieces_of(packed, zlib_stream, InflationMeter("member"))]
    assert sum(sizes) == 1_000_000
    assert max(sizes) <= unpacking.STEP


def test_lines_are_bounded_one_by_one_and_all_together(monkeypatch):
    monkeypatch.setattr(unpacking, "FREE_TOTAL", 2_500_000)
    row = json.dumps({"text": "a" * 50_000}).encode() + b"\n"
    packed = gzip.compress(row * 40)
    with gunzipped(io.BytesIO(packed).read, InflationMeter("line", free=100_000)) as file:
        assert sum(1 for _ in file) == 40  # 2 MB of lines, each within what is free
    for unit, content in (("document", packed), ("line", packed * 3)):
        with (
            pytest.raises(UnpackedTooLarge, match="256 times"),
            gunzipped(io.BytesIO(content).read, InflationMeter(unit, free=10**5)) as f,
        ):
            f.read()
    noise = gzip.compress(base64.b64encode(random.Random(0).randbytes(300_000)))
    with pytest.raises(UnpackedTooLarge, match="one line unpacks to more than 0 MiB"):
        list(gunzipped(io.BytesIO(noise).read, InflationMeter("line", most=200_000)))


def test_members_that_share_their_bytes_are_counted_against_the_archive(monkeypatch):
    monkeypatch.setattr(unpacking, "FREE_TOTAL", 1_000_000)
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    packed = packer.compress(b"a" * 80_000) + packer.flush()
    meter = InflationMeter("member", size=len(packed))
    with pytest.raises(UnpackedTooLarge):
        for _ in itertools.repeat(None, 100):
            meter.next()
            pieces_of(packed, deflate_stream, meter)


def test_benchmark_files_and_repeated_samples_are_far_from_the_bounds(tmp_path, data_dir):
    for name in ("HumanEvalPlus", "MbppPlus"):
        packed = data_dir / f"{name}.jsonl.gz"
        with SourceFile(packed) as source, source.content("document") as file:
            assert len(file.read()) < 20 * packed.stat().st_size < unpacking.MOST_RATIO * packed.stat().st_size
    program = (data_dir / "mbpp.jsonl").read_text()[:1500]
    rows = [{"task_id": f"HumanEval/{n // 200}", "solution": program} for n in range(164 * 200)]
    path = tmp_path / "greedy.jsonl.gz"
    path.write_bytes(gzip.compress("".join(json.dumps(row) + "\n" for row in rows).encode()))
    assert sum(1 for _ in streamed(json_lines, path, dict)) == len(rows)
    generations = tmp_path / "generations.json.gz"
    generations.write_bytes(gzip.compress(json.dumps([program] * 164 * 200).encode()))
    assert len(document(generations)) == len(rows)


def test_an_honest_file_beyond_the_bounds_has_a_way_out(tmp_path):
    path = tmp_path / "dense.json.gz"
    content = json.dumps(["a" * (12 << 20)]).encode()
    path.write_bytes(gzip.compress(content))
    with pytest.raises(BadRecord, match="unpack it with gunzip and give what that makes"):
        document(path)
    path.write_bytes(content)
    assert document(path) == ["a" * (12 << 20)]


def test_a_document_that_memory_does_not_hold_is_refused_in_one_line(tmp_path):
    path = tmp_path / "generations.json"
    path.write_bytes(gzip.compress(b"[" + b"1234567," * (5 * 10**6) + b"0]", compresslevel=1))
    code = (
        "import resource, sys\nfrom pathlib import Path\nfrom truegrade.errors import UserError\n"
        "from truegrade.store.importers.reading import SourceFile, json_document\n"
        "resource.setrlimit(resource.RLIMIT_AS, (300 << 20, 300 << 20))\n"
        "try:\n    json_document(SourceFile(Path(sys.argv[1])))\nexcept UserError as error:\n    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True)
    assert done.stdout == f"{path}: takes more memory than there is; split the file\n", done.stderr
