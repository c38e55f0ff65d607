"""The whole line, on the real HumanEval, with real programs in real processes."""

import asyncio
import json
import re
import signal
import subprocess
import sys
import time
from collections import Counter

import pytest
from click.testing import CliRunner

import truegrade
from truegrade.cli import main
from truegrade.errors import NotComparable, UserError
from truegrade.records.config import Sampling


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path, monkeypatch, humaneval_file):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TRUEGRADE_DATA", str(humaneval_file.parent))


def headline(run, profile="strict@6"):
    (found,) = [p for p in run.summary["profiles"] if p["profile"] == profile]
    return found["estimates"][0]


def test_perfect_answers_score_100_percent_under_strict_and_a_stub_scores_nothing():
    perfect = truegrade.run("humaneval", model="baseline/reference", limit=12)
    assert headline(perfect)["value"] == 1.0
    assert headline(perfect)["low"] < 1.0
    empty = truegrade.run("humaneval", model="baseline/empty", limit=12)
    assert headline(empty)["value"] == 0.0
    comparison = truegrade.compare(empty, perfect)
    assert comparison.difference == 1.0
    assert len(comparison.wins) == 12


def test_one_set_of_replies_under_two_profiles_and_where_they_differ():
    run = truegrade.run("humaneval", model="baseline/reference", profiles=["strict", "human-eval"], limit=5)
    assert headline(run)["value"] == 1.0
    assert headline(run, "human-eval@6d43fb9")["value"] == 0.0, "a fenced reply is a syntax error to human-eval"
    assert run.summary["disagreeing"] == 5
    assert run.summary["disagreements"][0]["reasons"] == {
        "strict@6": "passed",
        "human-eval@6d43fb9": "syntax_error",
    }


def test_the_same_call_asks_and_grades_nothing_twice_and_more_samples_extend_the_run():
    first = truegrade.run("humaneval", model="baseline/lookup", limit=4, n=2)
    before = first.completions_path.read_bytes(), first.verdicts_path("strict@6").read_bytes()
    again = truegrade.run("humaneval", model="baseline/lookup", limit=4, n=2)
    assert again.path == first.path
    assert (again.completions_path.read_bytes(), again.verdicts_path("strict@6").read_bytes()) == before
    more = truegrade.run("humaneval", model="baseline/lookup", limit=4, n=3)
    assert more.completions_path.read_bytes().startswith(before[0])
    assert Counter(c.problem_id for c in more.completions()) == {f"HumanEval/{i}": 3 for i in range(4)}
    other = truegrade.run("humaneval", model="baseline/lookup", limit=4, sampling=Sampling(temperature=0.5))
    assert other.path != first.path


def test_a_smaller_selection_forgets_nothing_of_the_run():
    whole = truegrade.run("humaneval", model="baseline/lookup", limit=4)
    part = truegrade.run("humaneval", model="baseline/lookup", limit=1)
    assert part.path == whole.path
    assert [task[0] for task in part.summary["profiles"][0]["tasks"]] == [f"HumanEval/{i}" for i in range(4)]
    further = truegrade.run("humaneval", model="baseline/lookup", ids=["HumanEval/9"])
    assert further.manifest.selected == ("HumanEval/0", "HumanEval/1", "HumanEval/2", "HumanEval/3", "HumanEval/9")
    assert set(further.prompts()) == set(further.manifest.selected)


def test_a_run_replayed_from_its_file_grades_the_same():
    run = truegrade.run("humaneval", model="baseline/lookup", limit=6, n=2)
    replayed = truegrade.run("humaneval", model=f"replay:{run.path}", limit=6, n=2)
    assert replayed.summary["profiles"] == run.summary["profiles"]


def test_a_run_graded_again_under_another_profile_keeps_the_first():
    run = truegrade.run("humaneval", model="baseline/reference", limit=3)
    graded = truegrade.grade(run.path, profiles=["human-eval"])
    assert [p["profile"] for p in graded.summary["profiles"]] == ["human-eval@6d43fb9", "strict@6"]


def test_one_sample_is_graded_without_numpy(tmp_path):
    line = {"task_id": "HumanEval/23", "completion": "    return len(string)\n"}
    (tmp_path / "sample.jsonl").write_text(json.dumps(line))
    code = (
        "import sys, truegrade as t; t.grade('sample.jsonl', benchmark='humaneval'); print('numpy' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_what_was_slow_under_another_profile_is_graded_first(tmp_path):
    bodies = ["return len(string)", "return 0", "while True: pass", "return 1"]
    lines = [json.dumps({"task_id": "HumanEval/23", "completion": f"    {body}\n"}) for body in bodies]
    (tmp_path / "samples.jsonl").write_text("\n".join(lines))
    run = truegrade.grade("samples.jsonl", benchmark="humaneval", profiles=["human-eval+0.5s"], workers=1)
    assert [verdict.sample for verdict in run.verdicts()] == [0, 1, 2, 3]
    run = truegrade.grade(run.path, profiles=["strict+0.5s"], workers=1)
    assert [verdict.sample for verdict in run.verdicts("strict")] == [2, 0, 1, 3]


def test_a_foreign_file_becomes_a_run(tmp_path):
    lines = [{"task_id": "HumanEval/23", "completion": "    return len(string)\n"} for _ in range(3)]
    lines += [{"task_id": "HumanEval/53", "completion": "    return x - y\n"}]
    (tmp_path / "samples.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    notices = []
    run = truegrade.grade("samples.jsonl", benchmark="humaneval", profiles=["strict", "human-eval"],
                          notice=notices.append)  # fmt: skip
    assert notices == ["samples.jsonl answers 2 of the 164 problems of humaneval; only these are scored"]
    for profile in run.summary["profiles"]:
        lines = [["HumanEval/23", 3, 3, "HumanEval/23", {}], ["HumanEval/53", 1, 0, "HumanEval/53", {}]]
        assert profile["tasks"] == lines
        assert "1 of 2 problems have fewer than 3 graded samples" in profile["warnings"]
    assert run.summary["missing"] == 2


def test_k_above_n_is_refused_and_the_verdicts_stay():
    run = truegrade.run("humaneval", model="baseline/empty", limit=2)
    with pytest.raises(UserError, match="pass@5 needs at least 5 samples per problem, this run has 1"):
        truegrade.run("humaneval", model="baseline/empty", limit=2, ks=[5])
    assert len(list(truegrade.load(run.path).verdicts("strict"))) == 2


def test_runs_on_different_data_or_profiles_are_not_compared(tmp_path):
    problem = {"id": "p", "function_name": "f", "code": "def f():\n    return 1\n", "input": "f()", "output": "1"}
    (tmp_path / "p.jsonl").write_text(json.dumps(problem) + "\n")
    a = truegrade.run("humaneval", model="baseline/empty", limit=1)
    b = truegrade.run("execution-prediction", model="baseline/reference", data="p.jsonl")
    with pytest.raises(NotComparable, match="data set"):
        truegrade.compare(a, b)


def test_a_run_inside_a_running_event_loop_as_in_a_notebook():
    async def cell():
        return truegrade.run("humaneval", model="baseline/reference", limit=1)

    assert headline(asyncio.run(cell()))["value"] == 1.0


def test_frames_join_verdicts_with_completions():
    run = truegrade.run("humaneval", model="baseline/reference", limit=2)
    frame = run.to_pandas()
    assert list(frame["passed"]) == [True, True]
    assert frame["text"].str.contains("def ").all()
    assert run.to_polars().shape == frame.shape


def start(*arguments):
    return subprocess.Popen(
        [sys.executable, "-m", "truegrade", *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )


@pytest.mark.slow
def test_kill_9_while_grading_then_the_same_command_gives_the_uninterrupted_result(tmp_path):
    command = ("run", "humaneval", "--model", "baseline/lookup", "--limit", "10", "-n", "2", "--out")
    assert CliRunner().invoke(main, [*command, "whole"]).exit_code == 0
    for wanted in (1, 10):
        process = start(*command, "killed")
        deadline = time.monotonic() + 300
        verdicts = tmp_path / "killed" / "verdicts.strict@6.jsonl"
        while process.poll() is None and (not verdicts.exists() or verdicts.read_bytes().count(b"\n") < wanted):
            assert time.monotonic() < deadline
            time.sleep(0.002)
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert CliRunner().invoke(main, [*command, "killed"]).exit_code == 0
    killed = truegrade.load("killed")
    for records in (killed.completions(), killed.verdicts()):
        assert set(Counter(record.key for record in records).values()) == {1}
    assert _without_times(killed.summary) == _without_times(truegrade.load("whole").summary)


def _without_times(summary):
    summary = dict(summary)
    del summary["usage"]
    return json.loads(re.sub(r'"time_sensitive": \d+', '"time_sensitive": 0', json.dumps(summary)))
