"""Whose completions a file holds, by the option, the rows or its name; the same in all that is shown."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

import truegrade
from truegrade.cli import main
from truegrade.errors import UserError
from truegrade.pipeline.importing import name_from
from truegrade.pipeline.summary import read_summary

PROBLEM = {
    "id": "one",
    "prompt": "Return 1.",
    "entry_point": "f",
    "tests": ["assert f() == 1"],
    "reference": "def f(): return 1",
}
RIGHT = {"task_id": "one", "solution": "def f():\n    return 1\n"}


@pytest.mark.parametrize(
    ("path", "due"),
    [
        ("x/gpt-4.1_temp_0.jsonl", "gpt-4.1_temp_0"),
        ("x/gpt-4.raw.jsonl.gz", "gpt-4"),
        ("x/gpt-4-sanitized.jsonl", "gpt-4"),
        ("x/gpt-4_eval_results.json", "gpt-4"),
        ("x/Sampler-7B.jsonl", "Sampler-7B"),
        ("/x/gpt-4/samples.jsonl", "gpt-4/samples"),
        ("/x/gpt-4/samples_humaneval_2026-01-01.jsonl", "gpt-4/samples_humaneval_2026-01-01"),
        ("/samples.jsonl", "samples"),
        ("x/.jsonl", ".jsonl"),
    ],
)
def test_a_file_is_called_by_its_name_or_its_folders(path, due):
    assert name_from(Path(path)) == due


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.jsonl").write_text(json.dumps(PROBLEM))
    return tmp_path


def graded(name, rows, **given):
    Path(name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    return truegrade.grade(name, benchmark="own.jsonl", **given)


def test_rows_the_option_and_the_file_name_a_model(place):
    by_file = graded("m-1.jsonl", [RIGHT])
    by_rows = graded("rows.jsonl", [{**RIGHT, "model": "m-2"}])
    by_option = graded("rows.jsonl", [{**RIGHT, "model": "m-2"}], model_name="m 3")
    odd = graded("odd.jsonl", [{**RIGHT, "model": ["m"]}, {**RIGHT, "model": " "}])
    several = graded("more.jsonl", [{**RIGHT, "model": name} for name in ("a", "b", "c", "a")])
    names = [read_summary(run).model for run in (by_file, by_rows, by_option, odd, several)]
    assert names == ["m-1", "m-2", "m 3", "odd", "a and 2 more"]
    assert len({run.path for run in (by_file, by_rows, by_option)}) == 3  # another name is another run
    with pytest.raises(UserError, match="knows its own"):
        truegrade.grade(by_file.path, model_name="other")


def test_what_is_shown_has_the_name(place):
    runs = [str(graded(f"{name}.jsonl", [{**RIGHT, "model": name}]).path) for name in ("left", "right")]
    said = CliRunner().invoke(main, ["grade", "left.jsonl", "-b", "own.jsonl"]).output
    assert "own: the answers of left solve 100.0 %" in said
    assert "left" in Path(runs[0], "report.html").read_text().partition("</title>")[0]
    table = CliRunner().invoke(main, ["compare", *runs, "--table"]).output
    assert table.split()[:2] == ["left", "right"] and "imported" not in table
