"""An import and a command read each file once, and what stops an import leaves nothing of it."""

import contextlib
import gzip
import hashlib
import itertools
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter

import msgspec
import pytest

import truegrade
from truegrade.benchmarks import load_benchmark
from truegrade.errors import BadRecord, SandboxError, UserError
from truegrade.pipeline.grade import LocalGrader, grade_run
from truegrade.profiles import open_profile
from truegrade.records import sha256_json
from truegrade.settings import Silent
from truegrade.store import spool

OPENED: Counter[str] = Counter()
WATCHED: list[str] = []


def watch(event, arguments):
    if WATCHED and event == "open" and str(arguments[0]).startswith(WATCHED[0]):
        OPENED[os.path.basename(arguments[0])] += not (arguments[2] or 0) & (os.O_WRONLY | os.O_RDWR)


@pytest.fixture(scope="module")
def hook():
    sys.addaudithook(watch)


@pytest.fixture
def opened(hook, tmp_path):
    """How often each file of this test was opened for reading."""
    OPENED.clear()
    WATCHED[:] = [str(tmp_path)]
    yield OPENED
    WATCHED.clear()


PROBLEMS = 20


def answers(samples=2):
    """A line for each problem and sample; texts that try to look like the field which the import fills in."""
    tricky = 'assert f(1) == 2 # "config_sha256":"pending"'
    lines = [
        {"problem_id": f"p{number}", "generated_code": f"{tricky} {sample}"}
        for number in range(PROBLEMS)
        for sample in range(samples)
    ]
    return "".join(json.dumps(line) + "\n" for line in lines).encode()


@pytest.fixture
def data(tmp_path):
    rows = [
        {"id": f"p{number}", "function_name": "f", "code": f"def f(x):\n    return x + {number}\n",
         "input": "f(1)", "output": repr(1 + number)}
        for number in range(PROBLEMS)
    ]  # fmt: skip
    path = tmp_path / "problems.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture
def grade(data, tmp_path):
    def grade(path, **more):
        options = {"benchmark": "execution-prediction", "data": data, "out": tmp_path / "run", **more}
        return truegrade.grade(path, **options)

    return grade


@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzipped"])
def test_a_file_is_opened_once_and_a_journal_once_more_for_texts(tmp_path, grade, opened, pack):
    path = tmp_path / "x_results.jsonl"
    path.write_bytes(pack(answers()))
    grade(path)
    assert opened["x_results.jsonl"] == 1
    assert opened["completions.jsonl"] == 2, "to grade them, and for the page"
    assert opened["verdicts.strict@6.jsonl"] == 1, "for the page"
    assert opened["prompts.jsonl"] == 1
    opened.clear()
    grade(tmp_path / "run")
    assert opened["completions.jsonl"] == opened["verdicts.strict@6.jsonl"] == 2, "what is there, and for the page"


@pytest.mark.parametrize("in_memory", [spool.IN_MEMORY_BYTES, 100])
def test_every_record_holds_the_hash_that_is_known_at_the_files_end(tmp_path, grade, monkeypatch, in_memory):
    monkeypatch.setattr(spool, "IN_MEMORY_BYTES", in_memory)
    path = tmp_path / "x_results.jsonl"
    path.write_bytes(answers())
    digest = hashlib.sha256(answers()).hexdigest()
    run = grade(path)
    assert run.manifest.imported_from == f"x_results.jsonl sha256:{digest}"
    config = sha256_json({"import": "results-jsonl", "file_sha256": digest})
    assert {completion.config_sha256 for completion in run.completions()} == {config}
    assert [json.loads(line)["generated_code"] for line in answers().splitlines()] == [
        completion.text for completion in run.completions()
    ]
    kept = run.path.joinpath("completions.jsonl").read_bytes()
    grade(path)
    assert run.path.joinpath("completions.jsonl").read_bytes() == kept, "the same file is the same run"


@pytest.mark.parametrize("in_memory", [spool.IN_MEMORY_BYTES, 100])
def test_a_bad_last_line_leaves_nothing(tmp_path, grade, monkeypatch, in_memory):
    monkeypatch.setattr(spool, "IN_MEMORY_BYTES", in_memory)
    path = tmp_path / "x_results.jsonl"
    path.write_bytes(answers() + b'{"problem_id": 99, "generated_code": "1"}\n')
    before = sorted(tmp_path.iterdir())
    with pytest.raises(BadRecord) as caught:
        grade(path)
    assert (caught.value.line, caught.value.field) == (2 * PROBLEMS + 1, "problem_id")
    assert sorted(tmp_path.iterdir()) == before


def test_an_import_that_was_killed_is_gone_on_with(tmp_path, grade):
    path = tmp_path / "x_results.jsonl"
    path.write_bytes(answers())
    run = grade(path)
    journal = run.path / "completions.jsonl"
    whole, summary = journal.read_bytes(), (run.path / "summary.json").read_bytes()
    for cut in (0, len(whole) // 2, len(whole) - 1):
        journal.write_bytes(whole[:cut])
        assert grade(path).path == run.path
        assert journal.read_bytes() == whole
        assert (run.path / "summary.json").read_bytes() == summary


class Chained(LocalGrader):
    """Fails behind some verdicts."""

    def __init__(self, verdicts):
        super().__init__(1)
        self._before = verdicts

    def verdicts(self, completions, problems, profile):
        yield from itertools.islice(super().verdicts(completions, problems, profile), self._before)
        raise SandboxError("broken")


@pytest.mark.parametrize("made", [0, 3])
def test_what_was_graded_before_a_fault_is_written_and_not_graded_again(tmp_path, grade, data, made):
    path = tmp_path / "x_results.jsonl"
    path.write_bytes(answers(samples=5))
    run = grade(path)
    journal = run.verdicts_path("strict@6")
    whole = journal.read_bytes()
    journal.write_bytes(b"")
    problems = load_benchmark("execution-prediction", data).by_id()
    opened = truegrade.load(run.path)
    with pytest.raises(SandboxError, match="broken"):
        grade_run(opened, problems, open_profile("strict"), progress=Silent(), grader=Chained(made))
    assert journal.read_bytes() == b"".join(whole.splitlines(keepends=True)[:made])
    assert len(opened.verdict_facts("strict")) == made
    grade(path)
    assert journal.read_bytes() == whole


IMPORT = """
import sys
import truegrade
truegrade.grade(sys.argv[1], benchmark="execution-prediction", data=sys.argv[2], out=sys.argv[3])
"""


def test_a_kill_while_the_file_is_read_leaves_nothing(tmp_path, data):
    file = tmp_path / "x_results.jsonl"
    file.write_bytes(answers(samples=5_000))
    before = sorted(tmp_path.iterdir())
    process = subprocess.Popen([sys.executable, "-c", IMPORT, str(file), str(data), str(tmp_path / "run")])
    while "x_results" not in str(opened_by(process.pid)):
        time.sleep(0.01)
        assert process.poll() is None
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert sorted(tmp_path.iterdir()) == before


def opened_by(pid):
    found = []
    for link in os.scandir(f"/proc/{pid}/fd"):
        with contextlib.suppress(OSError):
            found.append(os.readlink(link.path))
    return found


def test_facts_follow_what_this_and_another_process_append(tmp_path, grade):
    path = tmp_path / "x_results.jsonl"
    path.write_bytes(answers(samples=1))
    run = grade(path)
    first, other = truegrade.load(run.path), truegrade.load(run.path)
    assert len(first.completion_facts()) == len(other.completion_facts()) == PROBLEMS
    record = msgspec.structs.replace(next(iter(run.completions())), sample=1)
    with first.append_completions() as journal:
        journal.append(record)
    assert len(first.completion_facts()) == len(other.completion_facts()) == PROBLEMS + 1
    assert first.completion_facts() == other.completion_facts() == truegrade.load(run.path).completion_facts()
    with run.completions_path.open("ab") as file:
        file.write(b'{"torn')
    with first.append_completions() as journal:
        journal.append(msgspec.structs.replace(record, sample=2))
    assert len(first.completion_facts()) == len(other.completion_facts()) == PROBLEMS + 2


def test_an_empty_run_is_not_exported(tmp_path, grade):
    path = tmp_path / "x_results.jsonl"
    path.write_bytes(answers(samples=1))
    run = grade(path)
    run.completions_path.write_bytes(b"")
    with pytest.raises(UserError, match="holds no reply to export"):
        truegrade.export(run, "seed-results", data=tmp_path / "problems.jsonl")
