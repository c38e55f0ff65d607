"""A run or a full answers file is graded, reported and compared on a window of contests, and split by groups."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

import truegrade
from support import contest_files
from truegrade.cli import main

RIGHT, WRONG = "print(sum(map(int, input().split())))", "print(-1)"
ROWS = [
    ("a", "2024-03-01T00:00:00", "easy", "atcoder", RIGHT),
    ("b", "2024-03-20T00:00:00", "hard", "atcoder", RIGHT),
    ("c", "2024-09-01T00:00:00", "easy", "codeforces", RIGHT),
    ("d", "2024-10-05T00:00:00", "hard", "codeforces", WRONG),
]


def told(*words, code=0):
    done = CliRunner().invoke(main, [*map(str, words)], catch_exceptions=False)
    assert done.exit_code == code, done.output
    return done.output


@pytest.fixture
def files(tmp_path):
    rows = [
        contest_files.row(name, contest_date=date, difficulty=difficulty, platform=platform)
        for name, date, difficulty, platform, _ in ROWS
    ]
    answers = [{"question_id": name, "code_list": [code]} for name, *_, code in ROWS]
    (tmp_path / "answers.json").write_text(json.dumps(answers))
    worse = [{**answer, "code_list": [WRONG]} if answer["question_id"] == "c" else answer for answer in answers]
    (tmp_path / "worse.json").write_text(json.dumps(worse))
    contest_files.write_rows(tmp_path / "rows.jsonl", rows)
    return tmp_path


def grade(files, source, *words):
    return told("grade", files / source, *words)


def grade_file(files, name, out, *words):
    named = ("--benchmark", "livecodebench", "--data", files / "rows.jsonl", "--out", files / out)
    return told("grade", files / name, *named, *words)


def summary(folder):
    return json.loads((folder / "summary.json").read_text())


def test_a_run_is_counted_on_a_window_and_split_by_groups_and_cutoff(files):
    said = grade_file(files, "answers.json", "run", "--cutoff", "2024-06-30")
    whole = summary(files / "run")
    (profile,) = whole["profiles"]
    splits = {(s["by"], s["value"]): (s["rate"]["value"], s["rate"]["tasks"]) for s in profile["splits"]}
    assert splits == {
        ("cut-off", "up to 2024-06-30"): (1.0, 2), ("cut-off", "after 2024-06-30"): (0.5, 2),
        ("difficulty", "easy"): (1.0, 2), ("difficulty", "hard"): (0.5, 2),
        ("platform", "atcoder"): (1.0, 2), ("platform", "codeforces"): (0.5, 2),
        ("month", "2024-03"): (1.0, 2), ("month", "2024-09"): (1.0, 1), ("month", "2024-10"): (0.0, 1),
    }  # fmt: skip
    assert profile["after_cutoff"]["difference"] == -0.5
    assert profile["after_cutoff"]["low"] < -0.5 < profile["after_cutoff"]["high"]
    assert "after 2024-06-30 minus pass@1 up to it: -50.0 points" in said
    assert "after 2024-06-30" in (files / "run" / "report.html").read_text()

    said = grade(files, "run", "-T", "start=2024-03-02", "-T", "difficulty=hard")
    assert "start=2024-03-02, difficulty=hard: 2 of 4 problems; 2 samples of the others are left out" in said
    part = summary(files / "run")
    assert part["window"] == {"start": "2024-03-02", "difficulty": "hard"}
    assert (part["tasks"], part["profiles"][0]["estimates"][0]["value"]) == (2, 0.5)
    assert any("difficulty=hard" in warning for warning in part["profiles"][0]["warnings"])
    grade(files, "run")
    assert summary(files / "run")["tasks"] == 4, "without a window everything counts again"


def test_a_full_answers_file_is_graded_on_a_window(files):
    said = grade_file(files, "answers.json", "run", "-T", "month=2024-09")
    assert "month=2024-09: 1 of 4 problems; 3 samples of the others are left out" in said
    verdicts = list(truegrade.load(files / "run").verdicts("strict"))
    assert [verdict.problem_id for verdict in verdicts] == ["c"], "the others are not run"
    assert summary(files / "run")["expected"] == 1


def test_what_cannot_be_applied_is_refused_in_one_line(files):
    grade_file(files, "answers.json", "run")
    for argument, why in (
        ("nonsense=1", "no livecodebench argument 'nonsense'"),
        ("start=1.3.2024", "must be a day written YYYY-MM-DD"),
        ("month=2024", "must be a month written YYYY-MM"),
        ("release=v5", "the run was made with no release"),
        ("difficulty=harder", "none of the 4 problems fits"),
    ):
        for command in ("grade", "report"):
            said = told(command, files / "run", "-T", argument, code=2)
            assert why in said and said.count("\n") == 1
    assert "no livecodebench argument" in told("compare", files / "run", files / "run", "-T", "nonsense=1", code=2)
    assert "--cutoff june: must be a day" in told("grade", files / "run", "--cutoff", "june", code=2)


def test_a_report_on_a_window_leaves_the_summary_alone(files):
    grade_file(files, "answers.json", "run")
    before = (files / "run" / "summary.json").read_bytes()
    page = told("report", files / "run", "-T", "difficulty=hard", "--cutoff", "2024-06-30").strip()
    assert page.endswith("report-difficulty-hard-cutoff-2024-06-30.html")
    text = (files / "run" / page).read_text()
    assert "50.0 %" in text and "difficulty = hard" in text and "-50.0" not in text
    told("report", files / "run", "--format", "csv", "--out", files / "tables")
    rows = (files / "tables" / "groups.csv").read_text().splitlines()
    assert next(row for row in rows if row.startswith("difficulty,hard,")).endswith(",2")
    assert (files / "run" / "summary.json").read_bytes() == before


def test_runs_are_compared_on_a_window_and_by_group(files):
    grade_file(files, "answers.json", "one")
    grade_file(files, "worse.json", "two")
    found = json.loads(told("compare", files / "one", files / "two", "--json"))
    (pair,) = found["pairs"]
    splits = {(s["by"], s["value"]): s["paired"]["difference"] for s in pair["splits"]}
    assert splits["difficulty", "easy"] == -0.5 and splits["difficulty", "hard"] == 0.0
    found = json.loads(told("compare", files / "one", files / "two", "-T", "difficulty=easy", "--json"))
    assert found["pairs"][0]["paired"]["difference"] == -0.5 and found["pairs"][0]["paired"]["tasks"] == 2
    said = told("compare", files / "one", files / "two", "--cutoff", "2024-06-30")
    assert "after 2024-06-30" in said
    grade(files, "two", "-T", "difficulty=easy")
    assert "window" in told("compare", files / "one", files / "two", code=2)
    told("compare", files / "one", files / "two", "-T", "difficulty=easy")
