"""`truegrade compare` as a user meets them; those of docs/results.md for real."""

from __future__ import annotations

import csv
import io
import json
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner
from comparison_runs import build, single, task

from truegrade.cli import main

DOCUMENT = Path(__file__).parents[2] / "docs" / "results.md"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("compared")
    before, after = single("00001111" * 5), single("11001110" * 5)
    build(made / "runs/before", before)
    build(made / "runs/after", after, model="toy/better")
    build(made / "runs/third", single("00001110" * 5), model="toy/third")
    build(made / "runs/other-data", after, dataset="e" * 64)
    build(made / "runs/two-profiles", before, lenient=after)
    return made


@pytest.fixture(autouse=True)
def in_that_folder(folder, monkeypatch):
    monkeypatch.chdir(folder)


def said(*arguments, code=0):
    result = CliRunner().invoke(main, list(map(str, arguments)))
    assert result.exit_code == code, result.output
    return " ".join((result.stdout if code == 0 else result.stderr).split())


def test_two_runs_in_words():
    words = said("compare", "runs/before", "runs/after", "--power", "--points", 2)
    assert "toy/better − toy/parrot under house@1: +12.5 points, 95 % CI [" in words
    assert "better 10 worse 5 same 25" in words
    assert f"toy/better higher 10: {task(0)}, {task(1)}, {task(8)}" in words
    assert f"toy/parrot higher 5: {task(7)}" in words
    assert re.search(r"toy/better 62.5 % \[[^]]+\] \+12.5 \[[^]]+\] 0.302", words)  # of McNemar's test
    assert "needed to detect 2 points" in words and re.search(r"problems needed [\d,]+", words)


def test_more_runs_in_a_table_with_corrected_values():
    words = said("compare", "runs/before", "runs/after", "runs/third", "--baseline", "third")
    rows = [re.escape(f"{name} {rate} %") for name, rate in (("toy/third", 37.5), ("toy/parrot", "50.0"))]
    assert re.search(rows[0] + r" \[[^]]+\] – – " + rows[1] + r" \[[^]]+\] \+12.5", words)
    assert "corrected for 2 comparisons (Holm 1979)" in words
    assert "toy/better − toy/parrot" in said("compare", "runs/before", "runs/after", "runs/third", "--all-pairs")


def test_the_interval_widens_with_confidence():
    pairs = [
        json.loads(
            CliRunner()
            .invoke(main, ["compare", "runs/before", "runs/after", "--confidence", confidence, "--json"])
            .stdout
        )["pairs"][0]
        for confidence in ("0.8", "0.99")
    ]
    for kind in ("paired", "bootstrap"):
        assert pairs[0][kind]["high"] < pairs[1][kind]["high"]


def test_what_is_not_comparable_is_one_line_and_exit_code_2():
    words = said("compare", "runs/before", "runs/other-data", code=2)
    assert "data set" in words
    assert "--force" in words
    assert said("compare", "runs/before", "runs/other-data", "--force").startswith(
        "! not comparable (--force given): data"
    )


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("runs/before",), "two runs at least"),
        (("runs/before", "runs/after", "--all-pairs", "--baseline", "after"), "--all-pairs"),
        (("runs/before", "runs/after", "--out", "x"), "--format html"),
        (("runs/before", "runs/after", "--format", "csv", "--open"), "--open"),
        (("runs/before", "runs/after", "--format", "htm"), "did you mean html"),
        (("runs/before", "runs/after", "--baseline", "nobody"), "nobody"),
        (("runs/before", "runs/after", "--confidence", "95"), "--confidence"),
        (("runs/before", "runs/after", "--format", "csv", "--out", "runs/after/manifest.json"), "--out"),
        (("runs/before", "--table"), "--table"),
        (("runs/before", "runs/after", "--table", "--out", "t"), "--out needs a file: add --format csv"),
        (("runs/before", "runs/nowhere"), "runs/nowhere"),
    ],
)
def test_mistakes_are_one_sentence(arguments, named):
    assert named in said("compare", *arguments, code=2)


def test_files_of_every_format():
    for file_format, name in (
        ("latex", "differences.tex"),
        ("markdown", "differences.md"),
        ("csv", "differences.csv"),
    ):
        words = said("compare", "runs/before", "runs/after", "--format", file_format, "--out", file_format)
        assert f"{file_format}/{name}" in words
        assert "<svg" in Path(file_format, "differences.svg").read_text()
    (row,) = csv.DictReader(io.StringIO(Path("csv/differences.csv").read_text()))
    assert float(row["points"]) == pytest.approx(12.5)
    assert float(row["points low"]) < 12.5 < float(row["points high"])
    (row,) = csv.DictReader(io.StringIO(Path("csv/problems.csv").read_text()))
    assert (row["better"], row["worse"], row["same"]) == ("10", "5", "25")
    baseline, after = csv.DictReader(io.StringIO(Path("csv/models.csv").read_text()))
    assert (baseline["model"], baseline["difference"], after["model"]) == ("toy/parrot", "", "toy/better")
    assert float(after["difference"]) == pytest.approx(12.5) and float(after["p"]) == pytest.approx(
        0.302, abs=1e-3
    )
    rows = list(csv.DictReader(io.StringIO(Path("csv/discordant.csv").read_text())))
    assert len(rows) == 15 and all(len({*list(row.values())[1::2]}) == 2 for row in rows)
    assert len(Path("csv/tasks.csv").read_text().splitlines()) == 41
    tex = Path("latex/models.tex").read_text()
    assert r"\toprule" in tex and r"\begin{tabular}{lrrr}" in tex and "McNemar's exact test" in tex
    assert r"\begin{longtable}" in Path("latex/tasks.tex").read_text()
    assert "Holm" not in Path("markdown/methods.md").read_text()
    forced = ("compare", "runs/before", "runs/other-data", "--force", "--format", "markdown", "--out", "forced")
    assert "not-comparable.md" in said(*forced)
    assert "not comparable, forced" in Path("forced/differences.md").read_text()
    assert json.loads(Path(said("compare", "runs/before", "runs/after", "--format", "json")).read_text())["pairs"]


def test_the_table_of_models_and_benchmarks_is_a_file():
    runs = ("runs/before", "runs/after", "runs/other-data")
    assert "models.csv" in said("compare", *runs, "--table", "--format", "csv", "--out", "table")
    rows = list(csv.reader(io.StringIO(Path("table/models.csv").read_text())))
    assert [row[0] for row in rows] == ["model", "toy/parrot", "toy/better"]
    assert [
        name for name in rows[0] if name.startswith("toy") and not name.endswith(("low", "high", "problems"))
    ] == [
        "toy dddddddd",
        "toy eeeeeeee",
    ]
    written = said("compare", *runs, "--table", "--format", "latex", "--out", "table")
    assert r"\begin{tabular}" in Path(written).read_text()
    assert said("compare", *runs, "--table", "--format", "latex", "--out", "one.tex") == "one.tex"
    printed = said("compare", *runs, "--table", "--format", "latex", "--out", "-")
    assert printed == " ".join(Path("one.tex").read_text().split())
    Path("several").mkdir()
    for run in runs:
        Path("several", Path(run).name).symlink_to(Path(run).resolve())
    of_folder = said("compare", "several", "--table", "--format", "latex", "--out", "-")
    assert sorted(of_folder.split()) == sorted(printed.split())
    assert "format of a table" in said("compare", *runs, "--table", "--format", "html", code=2)


def test_power_prints_what_was_not_given():
    planned = ("compare", "--power", "--discordant")
    assert "10 % of problems 5 points 351 80.0 %" in said(*planned, 10, "--points", 5)
    assert "10 % of problems 7.47 points 164 80.0 %" in said(*planned, 10, "--tasks", 164)
    assert "10 % of problems 5 points 164 42.7 %" in said(*planned, 10, "--points", 5, "--tasks", 164)
    assert "5 % of problems none 20" in said(*planned, 5, "--tasks", 20)
    assert "--points" in said("compare", "--power", code=2)


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ((), "without runs: truegrade compare --power --points 2"),
        (("--power", "--points", 2, "--all-pairs"), "--all-pairs is about runs, and --power is given none"),
        (("runs/before", "runs/after", "--power"), "add --points"),
        (("runs/before", "runs/after", "--points", 2), "add --power"),
        (("runs/before", "runs/after", "--tasks", 164), "--tasks is about a comparison that is planned"),
    ],
)
def test_what_a_comparison_without_or_with_runs_cannot_be_asked_is_refused(words, why):
    assert why in said("compare", *words, code=2)


def documented():
    blocks = re.findall(r"^```console\n(.*?)^```$", DOCUMENT.read_text(), re.DOTALL | re.MULTILINE)
    lines = [
        line.removeprefix("$ truegrade ") for block in blocks for line in block.splitlines() if line[:2] == "$ "
    ]
    return [line for line in lines if line.startswith("compare ")]


@pytest.mark.parametrize("line", documented())
def test_the_commands_of_the_document_do_what_they_say(line):
    arguments = shlex.split(line)
    assert said(*(argument for argument in arguments if argument != "--open"))


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="needs pdflatex")
def test_the_files_for_a_paper_fit_between_the_margins():
    said("compare", "runs/before", "runs/after", "runs/third", "--format", "latex", "--out", "paper")
    said("compare", "runs/before", "runs/after", "--table", "--format", "latex", "--out", "paper/one.tex")
    inputs = [rf"\input{{{path}}}" for path in sorted(Path("paper").glob("*.tex"))]
    head = [r"\documentclass{article}", r"\usepackage{booktabs,longtable,graphicx}", r"\begin{document}"]
    Path("all.tex").write_text("\n".join([*head, *inputs, r"\end{document}", ""]))
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "all.tex"]
    made = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    assert made.returncode == 0 and "Overfull" not in made.stdout, made.stdout
