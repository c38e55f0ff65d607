"""The folder for lm-evaluation-harness, without the harness."""

import json

import msgspec
import pytest
from click.testing import CliRunner

from truegrade.apps.integrations.lm_eval import GraderName, grade, metric_names, process_results, write_task
from truegrade.cli import main
from truegrade.errors import UserError
from truegrade.prompts.making import CODEX_STOP


@pytest.fixture(autouse=True)
def data(monkeypatch, humaneval_file):
    monkeypatch.setenv("TRUEGRADE_DATA", str(humaneval_file.parent))


def documents(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def settings(path):
    """The YAML's keys whose values are JSON."""
    lines = [line.partition(": ") for line in path.read_text().splitlines() if not line.startswith(" ")]
    return {key: json.loads(value) for key, _, value in lines if value and not value.startswith("!")}


def test_the_command_writes_documents_settings_and_functions(tmp_path):
    asked = ["export", "humaneval", "--format", "lm-eval", "--out", str(tmp_path / "tasks"), "-n", "5", "--json"]
    result = CliRunner().invoke(main, asked)
    assert json.loads(result.stdout)["tasks"] == ["truegrade_humaneval_strict"]
    told = settings(tmp_path / "tasks" / "truegrade_humaneval_strict.yaml")
    assert told["repeats"] == 5 and [m["metric"] for m in told["metric_list"]] == metric_names(5)
    assert told["generation_kwargs"] == {"until": [], "max_gen_toks": 2048, "temperature": 0.8, "do_sample": True}
    rows = documents(tmp_path / "tasks" / "truegrade_humaneval_strict.jsonl")
    assert len(rows) == 164 and told["doc_to_text"] in rows[0]
    assert told["dataset_kwargs"]["data_files"]["test"].endswith("/tasks/truegrade_humaneval_strict.jsonl")
    assert "expected" not in rows[0] and rows[0]["target"] == ""


def test_a_text_to_continue_keeps_its_stops_and_another_field(tmp_path):
    name = write_task(tmp_path, "humaneval", "human-eval")
    told = settings(tmp_path / f"{name}.yaml")
    assert told["generation_kwargs"]["until"] == list(CODEX_STOP) and told["doc_to_text"] == "prompt"
    assert documents(tmp_path / f"{name}.jsonl")[0]["prompt"].startswith("from typing import List")


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("humaneval", "--format", "lm-eval"), "name it with --out"),
        (("humaneval", "--format", "lm-eval", "--out", "x", "-b", "own.py"), "--benchmark is about a run"),
        (("run", "--format", "evalplus", "-n", "5"), "-n is about tasks, and evalplus is a format of runs"),
        (("run", "other", "--format", "evalplus"), "is written of one run, and 2 are given"),
    ],
)
def test_what_is_about_runs_or_tasks_alone_is_refused(words, why):
    result = CliRunner().invoke(main, ["export", *words])
    assert result.exit_code == 2 and why in result.stderr, result.stderr


def test_functions_grade_all_replies_and_count(tmp_path, humaneval_file):
    name = write_task(tmp_path, "humaneval", repeats=2)
    docs = documents(tmp_path / f"{name}.jsonl")[:2]
    scope = {}
    exec((tmp_path / "utils.py").read_text(), scope)
    grader = msgspec.json.decode(docs[0]["grader"], type=GraderName).open()
    right = [grader.items[row][0].task.reference for row in range(2)]
    graded = scope["grade"]([[right[0], "pass"], ["", right[1]]], docs)
    assert [[json.loads(verdict)["passed"] for verdict in row] for row in graded] == [[True, False], [False, True]]
    metrics = scope["process_results"](docs[0], [graded[0]])
    assert metrics == {"pass@1": 0.5, "any_correct": 1.0, "all_correct": 0.0}
    assert list(metrics) == metric_names(2) and metric_names(1) == ["pass@1"]
    assert grade([], []) == [] and process_results is scope["process_results"]


def test_other_data_than_that_of_the_folder_is_refused(tmp_path):
    name = write_task(tmp_path, "humaneval")
    doc = documents(tmp_path / f"{name}.jsonl")[0]
    doc["grader"] = doc["grader"].replace('"dataset_sha256":"', '"dataset_sha256":"0')
    with pytest.raises(UserError, match="truegrade export --format lm-eval"):
        grade([["pass"]], [doc])


def test_prompts_with_turns_of_the_model_are_refused(tmp_path):
    with pytest.raises(UserError, match="user, assistant"):
        write_task(tmp_path, "humaneval", "lm-eval-instruct")


def test_a_folder_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="file"):
        write_task(tmp_path / "file", "humaneval")
