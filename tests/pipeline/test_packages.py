"""What programs may import is named and recorded; one that fails for another package says so."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

import truegrade
from support import contest_files
from truegrade.cli import main
from truegrade.cli.diagnosis import examine
from truegrade.grading.marks import missing_package

SORTED = "from sortedcontainers import SortedList\nprint(sum(SortedList(map(int, input().split()))))"


def told(*words, code=0):
    done = CliRunner().invoke(main, [*map(str, words)], catch_exceptions=False)
    assert done.exit_code == code, done.output
    return done.output


def test_a_program_without_its_package_is_marked_and_graded_again_with_it(tmp_path):
    pytest.importorskip("sortedcontainers", reason="a package beside those of profiles")
    data = contest_files.write_rows(tmp_path / "rows.jsonl", [contest_files.row("a")])
    (tmp_path / "answers.json").write_text(json.dumps([{"question_id": "a", "code_list": [SORTED]}]))
    run, profiles = tmp_path / "run", ("--as", "strict", "--as", "livecodebench")
    said = told("grade", tmp_path / "answers.json", "-b", "livecodebench", "--data", data, "--out", run, *profiles)
    assert "1 of 1 programs failed for a package that programs cannot import here" in " ".join(said.split())
    for name in profiles[1::2]:
        (verdict,) = truegrade.load(run).verdicts(name)
        assert not verdict.passed and "missing-package:sortedcontainers" in verdict.marks
    assert json.loads((run / "manifest.json").read_text())["packages"]["strict@6"].keys() == {"numpy"}
    said = told("grade", run, *profiles, "--packages", "sortedcontainers")
    assert "missing-package" not in said and "contradict" not in said
    summary = json.loads((run / "summary.json").read_text())
    assert [profile["estimates"][0]["value"] for profile in summary["profiles"]] == [1.0, 1.0]
    packages = json.loads((run / "manifest.json").read_text())["packages"]
    assert packages["livecodebench@28fef95"].keys() == {"numpy", "sortedcontainers"}
    assert "not installed" in told("grade", run, "--packages", "no-such-package", code=2)


@pytest.mark.parametrize(
    ("detail", "mark"),
    [
        ("ModuleNotFoundError: No module named 'scipy.stats'", "missing-package:scipy"),
        ("test 1: Error during testing: No module named 'sympy'", "missing-package:sympy"),
        ("test 1: Runtime Error: ModuleNotFoundError(\"No module named 'sortedcontainers'\")",
         "missing-package:sortedcontainers"),
        ("ModuleNotFoundError: No module named 'tkinter'", None),
        ("ValueError: No module named scipy", None),
    ],
)  # fmt: skip
def test_which_last_words_name_a_missing_package(detail, mark):
    assert missing_package(detail) == mark


def test_doctor_names_the_packages_of_programs_with_versions():
    found = [item.detail for item in examine() if item.name == "packages of programs"]
    assert any(detail.startswith("numpy 2") for detail in found)
    assert any("pandas" in detail and "pytest" in detail and "rllm-kodcode" in detail for detail in found)
