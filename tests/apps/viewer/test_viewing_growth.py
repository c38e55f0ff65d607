"""A run that is written to while it is looked at: nothing is lost, doubled or seen torn."""

import os
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from viewing_runs import standard_runs

import truegrade
from truegrade.apps.viewer.run_catalogue import look
from truegrade.apps.viewer.sample_table import SampleTable
from truegrade.files.json_text import with_checksum
from truegrade.store.journal import Follower


class Line(msgspec.Struct):
    number: int


@settings(max_examples=40, derandomize=True, deadline=None)
@given(st.lists(st.integers(0, 10**6), max_size=30), st.lists(st.integers(1, 40), max_size=60))
def test_a_journal_read_in_any_steps_gives_every_line_once(tmp_path_factory, numbers, steps):
    content = b"".join(msgspec.json.encode(Line(number)) + b"\n" for number in numbers)
    path = tmp_path_factory.mktemp("journal") / "lines.jsonl"
    follower = Follower(path, Line)
    found = []
    written = 0
    with path.open("wb", buffering=0) as file:
        for step in [*steps, len(content)]:
            file.write(content[written : written + step])
            written += step
            assert not follower.replaced()
            found += [(span, line.number) for span, line in follower.news()]
    assert [number for _, number in found] == numbers
    for span, number in found:
        assert msgspec.json.decode(content[span.offset : span.offset + span.length]) == {"number": number}


def test_a_journal_that_was_replaced_is_read_anew(tmp_path):
    path = tmp_path / "lines.jsonl"
    path.write_text('{"number": 1}\n{"number": 2}\n')
    follower = Follower(path, Line)
    assert [line.number for _, line in follower.news()] == [1, 2]
    other = tmp_path / "other"
    other.write_text('{"number": 3}\n{"number": 4}\n{"number": 5}\n')
    other.replace(path)
    assert follower.replaced()
    assert [line.number for _, line in follower.news()] == [3, 4, 5]
    assert not follower.replaced()


@pytest.fixture
def whole_run(tmp_path):
    return standard_runs(tmp_path / "whole") / "parrot"


def test_a_growing_run_never_shrinks_and_ends_whole(whole_run, tmp_path, view):
    """A writer appends in pieces that end anywhere while requests come in."""
    root = tmp_path / "runs"
    growing = root / "parrot"
    growing.mkdir(parents=True)
    for name in ("manifest.json", "prompts.jsonl"):
        shutil.copy(whole_run / name, growing)
    journals = ["completions.jsonl", "verdicts.house@1.jsonl", "verdicts.lenient@1.jsonl"]

    def write():
        for name in journals:
            content = (whole_run / name).read_bytes()
            with (growing / name).open("ab", buffering=0) as file:
                for start in range(0, len(content), 4099):
                    file.write(content[start : start + 4099])
                    time.sleep(0.002)

    with view(root) as viewer:
        writer = threading.Thread(target=write)
        writer.start()
        totals, graded = [], []
        while writer.is_alive():
            page = viewer.json("/api/samples", run="parrot", limit=1)
            totals.append(page["total"])
            line = viewer.json("/api/run", run="parrot")["run"]
            assert line["state"] == "unfinished" and not line["headlines"]
            graded.append(sum(one["graded"] for one in line["so_far"]))
        writer.join()
        assert totals == sorted(totals) and graded == sorted(graded)
        page = viewer.json("/api/samples", run="parrot", limit=500)
        assert page["total"] == 90 and all(one["reason"] for one in page["samples"])
        assert viewer.json("/api/run", run="parrot")["run"]["answered"] == 90
        shutil.copy(whole_run / "summary.json", growing)
        line = viewer.json("/api/run", run="parrot")["run"]
        assert (line["state"], line["grown"], len(line["headlines"])) == ("finished", False, 2)


def test_copied_files_with_wrong_times_are_no_growth(whole_run, view):
    later = time.time() + 100
    os.utime(whole_run / "completions.jsonl", (later, later))
    with view(whole_run.parent) as viewer:
        line = viewer.json("/api/run", run="parrot")["run"]
        assert (line["state"], line["grown"]) == ("finished", False)


def test_a_regraded_sample_has_its_last_verdict(whole_run):
    path = whole_run / "verdicts.house@1.jsonl"
    table = SampleTable(whole_run)
    table.update(look(whole_run.parent, whole_run))
    failed = next(row for row in table.rows.values() if not row.verdicts["house@1"].passed)
    last = next(
        line
        for line in path.read_bytes().splitlines(True)
        if f'"{failed.key.problem_id}","sample":{failed.key.sample},'.encode() in line
    )
    with path.open("ab") as file:
        again = last.replace(b'"passed":false', b'"passed":true').replace(
            failed.verdicts["house@1"].reason.encode(), b"passed", 1
        )
        file.write(with_checksum(again[: again.index(b',"crc32"')] + b"}"))
    table.update(look(whole_run.parent, whole_run))
    assert table.rows[failed.key].verdicts["house@1"].passed
    assert table.open(failed.key).view.verdicts[0].passed


@pytest.mark.skipif(not Path("/proc/locks").exists(), reason="this system does not tell who holds a lock")
def test_a_run_is_running_while_a_process_holds_it(whole_run, view):
    held = (
        "import sys; from pathlib import Path; from truegrade.store import Run\n"
        "with Run.open(Path(sys.argv[1])).locked():\n    print(flush=True); sys.stdin.read()"
    )
    with view(whole_run.parent) as viewer:
        holder = subprocess.Popen(
            [sys.executable, "-c", held, str(whole_run)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        holder.stdout.readline()
        try:
            assert viewer.json("/api/run", run="parrot")["run"]["state"] == "running"
            assert viewer.json("/api/run", run="magpie")["run"]["state"] == "unfinished"
        finally:
            holder.communicate(timeout=180)
        assert viewer.json("/api/run", run="parrot")["run"]["state"] == "finished"


@pytest.fixture(scope="module")
def graded(humaneval_file, tmp_path_factory):
    folder = tmp_path_factory.mktemp("graded")
    return truegrade.run(
        "humaneval", model="baseline/lookup", data=humaneval_file, limit=6, out=folder / "runs" / "he"
    ).path


def test_the_stored_report_is_shown_until_the_run_grows(graded, view):
    """Then it is counted anew in a folder of the viewer's own."""
    with view(graded.parent) as viewer:
        assert viewer.json("/api/run", run="he")["report"] == "stored"
        assert viewer.get("/report", run="he")[2] == (graded / "report.html").read_bytes()
        for name in ("summary.json", "report.html"):
            (graded / name).unlink()
        verdicts = next(graded.glob("verdicts.strict*.jsonl"))
        lines = verdicts.read_bytes().splitlines(True)
        verdicts.write_bytes(b"".join(lines[:4]))
        assert viewer.json("/api/run", run="he")["report"] == "counted"
        status, _, four = viewer.get("/report", run="he")
        assert status == 200 and b"2 of 6 problems have fewer than 1 graded samples" in four
        assert viewer.get("/report", run="he")[2] == four
        with verdicts.open("ab") as file:
            file.write(lines[4])
        five = viewer.get("/report", run="he")[2]
        assert b"1 of 6 problems have fewer than 1 graded samples" in five
        assert not (graded / "summary.json").exists() and not (graded / "report.html").exists()
