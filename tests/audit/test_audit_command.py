"""`check FILE` on the command line: exit codes, tables, JSON."""

import json

import pytest
from audit_files import lines
from click.testing import CliRunner

from truegrade.cli.check import check as command


@pytest.fixture
def invoke(tmp_path, monkeypatch, humaneval_file):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TRUEGRADE_DATA", str(humaneval_file.parent))
    monkeypatch.setenv("COLUMNS", "160")
    return lambda *arguments: CliRunner().invoke(command, [*arguments, "--benchmark", "humaneval"])


ROW = {"task_id": "HumanEval/23", "completion": "    return len(string)\n", "passed": True, "model": "toy-1"}


def test_findings_are_printed_and_exit_1(invoke, tmp_path):
    path = lines(tmp_path / "f.jsonl", [ROW, {**ROW, "task_id": "HumanEval/0", "completion": ""}])
    result = invoke(str(path), "--shots", "HumanEval/0,HumanEval/1")
    assert result.exit_code == 1, result.output
    for words in (
        "flag-without-program",
        "HumanEval/0",
        "shot-scored",
        "tasks-missing",
        "recorded passed",
        "3 errors, 1 warning",
    ):
        assert words in result.stdout, words


def test_a_flag_that_is_false_of_what_it_accepts_is_not_printed_as_true(invoke, tmp_path):
    row = {key: value for key, value in ROW.items() if key != "passed"} | {"need_reproduce": False}
    output = invoke(str(lines(tmp_path / "f.jsonl", [row]))).stdout
    assert "recorded need_reproduce  1 accepted (false)" in output


def test_json_holds_every_finding(invoke, tmp_path):
    result = invoke(str(lines(tmp_path / "f.jsonl", [ROW])), "--json")
    assert result.exit_code == 1
    found = json.loads(result.stdout)
    assert found["clean"] is False
    assert [item["code"] for item in found["findings"]] == ["tasks-missing"]
    assert len(found["findings"][0]["rows"]) == 163


def test_what_cannot_be_read_is_named_before_anything_is_graded(invoke, tmp_path):
    path = lines(tmp_path / "completions.jsonl", [ROW])
    (tmp_path / "folder").mkdir()
    for options, words in (
        ([str(tmp_path / "folder")], "holds no run and no file of completions"),
        ([str(path), "--previous", str(tmp_path)], "is a folder; did you mean"),
        ([str(tmp_path / "none.json")], "no such file"),
        ([str(path), "--previous", str(tmp_path / "none.json")], "no such file"),
        ([str(path), "--shots", "HumanEval/999"], "no humaneval problem 'HumanEval/999'; did you mean"),
    ):
        result = invoke(*options)
        assert words in str(result.exception), options
        assert "grade as" not in result.stderr


def test_a_clean_file_exits_0(tmp_path, monkeypatch, data_dir):
    """Every reference solution of the benchmark, as its own row."""
    from truegrade.benchmarks import load_benchmark

    benchmark = load_benchmark("mbpp-sanitized", data_dir, {"split": "prompt"})
    rows = [{"task_id": p.id, "solution": p.task.reference, "passed": True} for p in benchmark.problems]
    path = lines(tmp_path / "f.jsonl", rows)
    options = ["--benchmark", "mbpp-sanitized", "-T", "split=prompt", "--data", str(data_dir)]
    result = CliRunner().invoke(command, [str(path), *options])
    assert result.exit_code == 0, result.output
    assert "clean" in result.stdout
