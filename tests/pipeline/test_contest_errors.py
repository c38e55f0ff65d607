"""Tests of a problem that cannot be decoded say nothing about a model: no denominator, a name, an exit code."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from support import contest_files
from truegrade.cli import main

RIGHT = "print(sum(map(int, input().split())))"


def graded(folder, rows, *words):
    data = contest_files.write_rows(folder / "rows.jsonl", rows)
    (folder / "answers.json").write_text(
        json.dumps([{"question_id": row["question_id"], "code_list": [RIGHT]} for row in rows])
    )
    command = ("grade", folder / "answers.json", "--benchmark", "livecodebench", "--data", data)
    given = map(str, (*command, "--out", folder / "run", *words))
    return CliRunner().invoke(main, list(given), catch_exceptions=False)


@pytest.mark.parametrize("profile", ["strict", "livecodebench", "evalscope", "evalscope-sandbox"])
def test_undecodable_tests_are_named_and_in_no_denominator(tmp_path, profile):
    rows = [contest_files.row("good"), contest_files.row("bad", private_test_cases="!damaged!")]
    done = graded(tmp_path, rows, "--as", profile)
    assert done.exit_code == 1
    assert "grader errors on 1 problem (bad)" in done.output and "private_test_cases is neither" in done.output
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    (found,) = summary["profiles"]
    assert found["estimates"][0]["value"] == 1.0 and found["estimates"][0]["tasks"] == 1
    assert [*found["grader_errors"]] == ["bad"] and found["reasons"] == {"passed": 1, "grader_error": 1}
    again = graded(tmp_path, rows, "--as", profile)
    assert again.exit_code == 1 and "contradict" not in again.output


def test_nothing_but_undecodable_tests_is_no_number(tmp_path):
    done = graded(tmp_path, [contest_files.row("bad", public_test_cases="no json")])
    assert done.exit_code == 2 and "no valid verdict" in done.output
