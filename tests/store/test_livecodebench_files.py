"""LiveCodeBench's files in both directions: what we write its own scripts read, and what they write we read."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import truegrade
from support import contest_files
from support.importing import read_completions, sniff_format, streamed
from truegrade.errors import BadRecord, UserError
from truegrade.records import Answer, Completion, Reason
from truegrade.store.exporters import Exported, find_exporter
from truegrade.store.importers.livecodebench import read_rows

RIGHT = "```python\na, b = map(int, input().split())\nprint(a + b)\n```"
WRONG = "```python\nprint(3)\n```"
FUNCTION = "```python\nclass Solution:\n    def add(self, a, b):\n        return a + b\n```"


@pytest.fixture
def rows_file(tmp_path):
    rows = [
        contest_files.row("abc_b", contest_date="2024-06-01T00:00:00", difficulty="hard"),
        contest_files.row("2000", function="add"),
        contest_files.row("abc_a", difficulty="medium"),
    ]
    return contest_files.write_rows(tmp_path / "rows.jsonl", rows)


def load(path, **more):
    known = ["2000", "abc_a", "abc_b"]
    return list(
        read_completions(path, benchmark="livecodebench", dataset_sha256="d" * 64, known_ids=known, **more)
    )


def brief(path):
    assert sniff_format(path).name == "livecodebench"
    return [(c.problem_id, c.sample, c.text, c.form) for c in load(path)]


def written(tmp_path, content, name="file.json"):
    path = tmp_path / name
    path.write_text(json.dumps(content))
    return path


# ---------------------------------------------------------------------------------------------- reading


def test_answers_are_programs_and_outputs_are_replies(tmp_path):
    rows = [{"question_id": 2000, "code_list": ["x", ""]}, {"question_id": "abc_a", "code_list": ["y", None]}]
    assert brief(written(tmp_path, rows)) == [
        ("2000", 0, "x", "program"), ("2000", 1, "", "program"),
        ("abc_a", 0, "y", "program"), ("abc_a", 1, "", "program"),
    ]  # fmt: skip
    evaluated = {"question_id": "abc_b", "output_list": [RIGHT, ["repaired"]], "code_list": ["cut", ""]}
    assert brief(written(tmp_path, [evaluated])) == [
        ("abc_b", 0, RIGHT, "reply"),
        ("abc_b", 1, "repaired", "reply"),
    ]
    copied = {"question_id": "abc_b", "output_list": ["x", ""], "code_list": ["x", ""]}
    assert brief(written(tmp_path, [copied])) == [("abc_b", 0, "x", "program"), ("abc_b", 1, "", "program")]


def test_a_long_reply_before_the_programs_is_still_recognised(tmp_path):
    row = {
        "question_content": "q" * 9000,
        "question_id": "abc_a",
        "output_list": ["r" * 200_000],
        "code_list": [""],
    }
    assert brief(written(tmp_path, [row]))[0][2] == "r" * 200_000


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ([{"question_id": "nope", "code_list": ["x"]}], "no problem 'nope'"),
        ([{"question_id": "abc_a", "code_list": ["x"]}] * 2, "occurs twice"),
        ([{"question_id": "abc_a", "code_list": [], "output_list": []}], "holds no answer"),
        ([{"question_id": "abc_a", "code_list": "x"}], "expected `?array"),
        ([{"pass@1": 1.0, "detail": {}}, {"0": [[True]]}, [["{}"]]], "_eval_all.json beside it"),
    ],
)
def test_what_is_no_such_file_is_refused(tmp_path, content, says):
    with pytest.raises(BadRecord, match=says):
        load(written(tmp_path, content))


def test_evalscope_rows_without_ids_are_known_by_their_question(tmp_path, rows_file):
    from truegrade.benchmarks import load_benchmark
    from truegrade.profiles.evalscope import contest_prompt

    problem = load_benchmark("livecodebench", rows_file).by_id()["2000"]
    prompt = contest_prompt(problem.task).messages
    messages = [{"role": m.role, "content": m.content} for m in prompt]
    score = {
        "value": {"acc": 1.0},
        "prediction": FUNCTION,
        "extracted_prediction": "x",
        "metadata": {"pass_rate": 1},
    }
    row = {"index": 41, "target": "", "messages": messages, "sample_score": {"score": score, "sample_id": 41}}
    path = tmp_path / "live_code_bench_v5.jsonl"
    path.write_text(json.dumps(row) + "\n" + json.dumps(row | {"messages": [], "input": prompt[1].content}) + "\n")
    found = load(path, questions={problem.task.question: "2000"})
    assert [(c.problem_id, c.sample, c.text) for c in found] == [("2000", 0, FUNCTION), ("2000", 1, FUNCTION)]
    with pytest.raises(BadRecord, match="no problem with the question"):
        load(path)


def test_samples_of_lm_eval_are_known_by_their_question_id(tmp_path):
    doc = {"question_id": "abc_a", "question_content": "Add.", "metadata": "{}"}
    path = tmp_path / "samples_livecodebench.jsonl"
    path.write_text(json.dumps({"doc_id": 0, "doc": doc, "resps": [["one", "two"]], "arguments": {}}) + "\n")
    assert [(c.problem_id, c.text, c.form) for c in load(path)] == [
        ("abc_a", "one", "reply"), ("abc_a", "two", "reply"),
    ]  # fmt: skip
    path.write_text(json.dumps({"doc_id": 0, "doc": {}, "resps": [["one"]]}) + "\n")
    with pytest.raises(BadRecord, match=r"doc\.task_id"):
        load(path)


# ---------------------------------------------------------------------------------------------- writing


@pytest.fixture
def samples(rows_file):
    from truegrade.benchmarks import load_benchmark

    problems = load_benchmark("livecodebench", rows_file).by_id()
    verdicts = {
        "2000": [(FUNCTION, Reason.PASSED, None), ("nothing", Reason.RUNTIME_ERROR, None)],
        "abc_a": [
            (RIGHT, Reason.PASSED, {"results": [True, True], "metadata": {"execution time": 0.1}}),
            (WRONG, Reason.WRONG_ANSWER, {"results": [True, -2], "metadata": {"error_code": -2, "output": "3"}}),
        ],
        "abc_b": [(WRONG, Reason.TIME_LIMIT, None), (WRONG, Reason.WRONG_ANSWER, None)],
    }

    def sample(problem_id, number, text, reason, harness):
        completion = Completion(
            benchmark="livecodebench", dataset_sha256="d", problem_id=problem_id, sample=number, config_sha256="c",
            prompt_sha256="p", text=text, model="m",
        )  # fmt: skip
        answer = Answer(value=text.strip("`"), found="f")
        return Exported(problem=problems[problem_id], completion=completion, answer=answer, kept=text,
        reason=reason,
                        harness=harness)  # fmt: skip

    rows = [sample(key, i, *verdict) for key, found in verdicts.items() for i, verdict in enumerate(found)]
    return rows, problems


def exported(tmp_path, samples, name):
    path = tmp_path / f"{name}.json"
    with path.open("wb") as file:
        find_exporter(name).write(*samples, file)
    return path


def test_what_is_written_can_be_read_again(tmp_path, samples):
    answers = exported(tmp_path, samples, "livecodebench")
    assert [row["question_id"] for row in json.loads(answers.read_text())] == ["2000", "abc_a", "abc_b"]
    assert brief(answers)[0] == ("2000", 0, FUNCTION.strip("`"), "program")
    everything = exported(tmp_path, samples, "livecodebench-eval-all")
    assert [item[2] for item in brief(everything)] == [FUNCTION, "nothing", RIGHT, WRONG, WRONG, WRONG]
    graded = {row.question_id: row.graded_list for _, row in streamed(read_rows, everything)}
    assert graded == {"2000": (True, False), "abc_a": (True, False), "abc_b": (False, False)}
    for row in json.loads(everything.read_text()):
        failed = ["error_code" in json.loads(text) for text in row["metadata"]]
        assert failed == [not passed for passed in row["graded_list"]]


def test_metrics_are_the_official_functions_own(tmp_path, samples):
    metrics, results, metadata = json.loads(exported(tmp_path, samples, "livecodebench-eval").read_text())
    assert results == {"0": [[True], [-4]], "1": [[True, True], [True, -2]], "2": [[-3], [-2]]}
    assert json.loads(metadata[1][1]) == {"error_code": -2, "output": "3"}
    assert metrics.keys() == {"pass@1", "detail"}, "two samples a problem allow no pass@5"
    code = (
        "import json, sys; from lcb_runner.evaluation.pass_k_utils import *; results = json.loads(sys.argv[1]);"
        "print(json.dumps([compute_metrics_from_results(results, [1, 5]), extract_instance_results(results)]))"
    )
    theirs, graded = json.loads(official(code, json.dumps(results)).splitlines()[-1])
    assert theirs == metrics
    assert graded == [[True, False], [True, False], [False, False]]


def test_compute_scores_accepts_eval_all(tmp_path, samples):
    path = exported(tmp_path, samples, "livecodebench-eval-all")
    code = (
        "import argparse, sys; from lcb_runner.evaluation.compute_scores import compute_scores;"
        "named = {'start_date': '2024-01-01', 'end_date': None, 'platform': None};"
        "compute_scores(argparse.Namespace(eval_all_file=sys.argv[1], **named))"
    )
    said = official(code, str(path))
    assert f"Pass@1: {1 / 3}" in said and "Easy Pass@1: 0.5" in said and "Hard Pass@1: 0.0" in said


def official(code, argument):
    """Run code beside LiveCodeBench's checkout; what is imported there and not used here is replaced."""
    if not os.environ.get("TRUEGRADE_PEERS"):
        pytest.skip("peers not present: set TRUEGRADE_PEERS")
    checkout = Path(os.environ["TRUEGRADE_PEERS"]) / "LiveCodeBench+LiveCodeBench"
    stubs = (
        "import sys, types\n"
        "def stub(name, **members):\n"
        "    sys.modules[name] = module = types.ModuleType(name); module.__dict__.update(members)\n"
        "    return module\n"
        f"stub('lcb_runner.evaluation').__path__ = [{str(checkout / 'lcb_runner/evaluation')!r}]\n"
        "stub('anthropic'); stub('datasets', load_dataset=None)\n"
    )
    environment = os.environ | {"PYTHONPATH": str(checkout)}
    command = [sys.executable, "-W", "ignore", "-c", stubs + code, argument]
    done = subprocess.run(command, cwd=checkout, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


@pytest.mark.slow
def test_from_a_file_to_a_file(tmp_path, rows_file, monkeypatch):
    """Import, grade as the official runner, export: the recorded harness output is what is written."""
    monkeypatch.chdir(tmp_path)
    wrong = "class Solution:\n    def add(self, a, b):\n        return a - b"
    right = "a, b = map(int, input().split())\nprint(a + b)"
    rows = [
        {"question_id": "abc_a", "code_list": [right, "print(3)"]},
        {"question_id": "2000", "code_list": [wrong, ""]},
    ]
    Path("mine.json").write_text(json.dumps(rows))
    run = truegrade.grade(
        "mine.json", benchmark="livecodebench", data=rows_file, profiles=["livecodebench"], out="run"
    )
    path = truegrade.export(run, "livecodebench-eval", data=rows_file)
    metrics, results, metadata = json.loads(path.read_text())
    by_the_preamble = [True, True]  # the empty answer: `add` is operator's
    assert results == {"0": [[False], by_the_preamble], "1": [[True, True], [True, -2]]}
    assert [json.loads(text).get("error_code") for row in metadata for text in row] == [-2, None, None, -2]
    assert metrics["pass@1"] == 0.5
    with pytest.raises(UserError, match="--as strict"):
        truegrade.export(run, "livecodebench-eval-all", profile="strict", data=rows_file)
