"""Replies of a service are graded while others are asked for; what is stored is what grading after would store."""

import signal
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import Future
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

import truegrade
from support import scripted_server as scripted
from truegrade.cli import main
from truegrade.errors import ModelError, SandboxError
from truegrade.files.json_text import with_checksum
from truegrade.models.local import Generated, LocalModel
from truegrade.profiles import open_profile
from truegrade.records import Usage
from truegrade.records.config import RequestPolicy
from truegrade.store.journal import Journal, followed, read_journal

REPLY = scripted.chat("```python\ndef has_close_elements(numbers, threshold):\n    return True\n```")
ONE_BY_ONE = RequestPolicy(max_connections=1)


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path, monkeypatch, humaneval_file):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TRUEGRADE_DATA", str(humaneval_file.parent))


def verdict_lines(folder="run"):
    return sum(path.read_bytes().count(b"\n") for path in Path(folder).glob("verdicts.*"))


def wait_for(condition, timeout_s=60.0):
    """Whether it became true; the limit is far beyond what it takes."""
    until = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() > until:
            return False
        time.sleep(0.01)
    return True


def judged(run, profile):
    """What does not differ from one grading to the next."""
    fields = ("problem_id", "sample", "completion_sha256", "passed", "reason", "answer", "level")
    return {v.key: [getattr(v, name) for name in fields] for v in run.verdicts(profile)}


def test_a_verdict_is_stored_before_the_next_sample_is_asked():
    """The second request is answered once the verdict on the first reply is on disk."""
    seen = []

    def script(_):
        if len(server.requests) == 1:
            seen.append(wait_for(lambda: verdict_lines() >= 2))
        return scripted.Answer(REPLY)

    with scripted.scripted_server(script) as server:
        run = truegrade.run("humaneval", model="openai-compatible/x", base_url=server.url, limit=3, out="run",
                            profiles=("strict", "simple-evals"), request_policy=ONE_BY_ONE)  # fmt: skip
    assert seen == [True]
    assert list(run.manifest.profiles) == [open_profile(name).id for name in ("strict", "simple-evals")]
    after = truegrade.generate("humaneval", model="replay:run/completions.jsonl", limit=3, out="after")
    after = truegrade.grade(after.path, profiles=("strict", "simple-evals"))
    for profile in ("strict", "simple-evals"):
        assert len(list(run.verdicts(profile))) == 3
        assert judged(run, profile) == judged(after, profile)
    assert run.manifest.levels == after.manifest.levels and run.manifest.packages == after.manifest.packages


@pytest.mark.thorough
def test_kill_9_while_replies_are_graded_then_the_same_command_repeats_nothing():
    held = {"after": 8}

    def script(_):
        return scripted.Answer(REPLY, hold=len(server.requests) >= held["after"])

    with scripted.scripted_server(script) as server:
        options = ("--base-url", server.url, "--limit", "24", "--max-connections", "2", "--out", "run", "--json")
        command = ["run", "humaneval", "--model", "openai-compatible/x", *options]
        process = subprocess.Popen([sys.executable, "-m", "truegrade", *command], stdout=subprocess.DEVNULL)
        assert wait_for(lambda: verdict_lines() >= 4)
        process.send_signal(signal.SIGKILL)
        process.wait()
        kept = next(Path("run").glob("verdicts.*")).read_bytes()
        assert len(truegrade.load("run").answered()) == 8
        held["after"] = 100
        assert CliRunner().invoke(main, command).exit_code == 0
    whole = kept[: kept.rindex(b"\n") + 1]
    assert next(Path("run").glob("verdicts.*")).read_bytes().startswith(whole)
    run = truegrade.load("run")
    for records in (run.completions(), run.verdicts()):
        counted = Counter(record.key for record in records)
        assert len(counted) == 24 and set(counted.values()) == {1}


class Broken(type(open_profile("strict"))):
    """The machine fails when the first program is to run."""

    name = "broken"

    def judgement(self, problem, answer, executor):
        raise SandboxError("no memory left for a program")


def test_where_grading_fails_no_further_sample_is_asked_and_the_replies_stay():
    def script(_):
        time.sleep(0.05)
        return scripted.Answer(REPLY)

    with scripted.scripted_server(script) as server:
        with pytest.raises(SandboxError, match="no memory left"):
            truegrade.run("humaneval", model="openai-compatible/x", base_url=server.url, limit=150, out="run",
                          profiles=(Broken(),), request_policy=ONE_BY_ONE)  # fmt: skip
        asked = len(server.requests)
        assert 1 <= asked < 150
    assert len(truegrade.load("run").answered()) == asked


def test_where_the_service_fails_the_verdicts_so_far_stay_and_nothing_is_begun():
    def script(_):
        if len(server.requests) == 2:
            assert wait_for(lambda: verdict_lines() == 2)
            return scripted.error(401, "bad key", code="invalid_api_key")
        return scripted.Answer(REPLY)

    with scripted.scripted_server(script) as server, pytest.raises(ModelError):
        truegrade.run("humaneval", model="openai-compatible/x", base_url=server.url, limit=9, out="run",
                      request_policy=ONE_BY_ONE)  # fmt: skip
    assert verdict_lines() == 2
    graded = truegrade.grade("run")
    assert len(list(graded.verdicts())) == 2


class Stages:
    """A progress that notes when stages begin and end."""

    def __init__(self, noted=None):
        self.noted = [] if noted is None else noted

    def beside(self):
        return Stages(self.noted)

    def start(self, stage, total, done):
        self._stage = stage
        self.noted.append((stage, total, done))

    def advance(self, **_):
        pass

    def finish(self):
        self.noted.append(self._stage)


class Constant:
    """An engine that writes the same text."""

    name, parallel = "own/constant", 1

    def submit(self, prompt, sampling, sample=0):
        done = Future()
        done.set_result(Generated(text="x", finish_reason="stop", usage=Usage()))
        return done

    def close(self):
        pass


def test_weights_in_this_process_are_not_disturbed_by_programs():
    stages = Stages()
    model = LocalModel(Constant(), RequestPolicy())
    truegrade.run("humaneval", model=model, limit=1, out="run", progress=stages)
    assert [each if isinstance(each, str) else each[0] for each in stages.noted] == [
        "generate", "generate", "grade as strict", "grade as strict",
    ]  # fmt: skip


def test_both_stages_count_what_an_earlier_command_did():
    with scripted.scripted_server(lambda _: scripted.Answer(REPLY)) as server:
        options = {"model": "openai-compatible/x", "base_url": server.url, "out": "run"}
        truegrade.run("humaneval", limit=2, **options)
        stages = Stages()
        truegrade.run("humaneval", limit=5, progress=stages, **options)
    assert sorted(each for each in stages.noted if isinstance(each, tuple)) == [
        ("generate", 5, 2),
        ("grade as strict", 5, 2),
    ]


class Row(msgspec.Struct):
    n: int


def test_a_journal_is_followed_while_it_grows(tmp_path):
    path = tmp_path / "rows.jsonl"
    ended = False
    with Journal(path) as journal:
        rows = followed(path, Row, lambda: ended)
        assert next(rows) is None
        journal.append(Row(1))
        journal.append(Row(2))
        assert [next(rows).n, next(rows).n, next(rows)] == [1, 2, None]
        with path.open("ab") as file:  # half of a line, then the rest
            file.write(with_checksum(b'{"n":3}')[:4])
        assert next(rows) is None
        with path.open("ab") as file:
            file.write(with_checksum(b'{"n":3}')[4:] + with_checksum(b'{"n":4}')[:-1])
        assert next(rows).n == 3
        ended = True
        assert list(rows) == [], "a line without an end is not read"
    assert [row.n for row in read_journal(path, Row)] == [1, 2, 3]
