"""A report as files: every format can be read back, holds the summary's numbers, and is reached by the command."""

from __future__ import annotations

import csv
import io
import json
import re
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec.structs import replace
from reasoning_runs import build_reasoning_run
from report_runs import House, Lenient, build_run
from rich.console import Console

from truegrade.analysis.standings import read_matrix
from truegrade.cli import main
from truegrade.errors import UserError
from truegrade.pipeline.summary import read_summary
from truegrade.report import format as fmt
from truegrade.report.document import Table
from truegrade.report.export import COLUMNS, FORMATS, export_report
from truegrade.report.methods import sentences
from truegrade.report.run_document import print_matrix, print_summary
from truegrade.report.text_files import as_csv, as_latex, as_markdown, latex
from truegrade.store import Run


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return build_run(tmp_path_factory.mktemp("runs") / "run", profiles=(House(), Lenient()), model="toy/a_b&c")


def test_csv_holds_the_estimates_as_numbers(two: Run) -> None:
    paths = {path.name: path for path in export_report(two, "csv")}
    assert {"estimates.csv", "profiles.csv", "reasons.csv", "tasks.csv", "usage.csv", "disagreements.csv"} <= set(
        paths
    )
    assert all(path.parent == two.path / "report" for path in paths.values())
    with paths["estimates.csv"].open(newline="") as file:
        rows = list(csv.DictReader(file))
    for profile in read_summary(two).profiles:
        for estimate, row in zip(profile.estimates, rows, strict=True):
            assert row["metric"] == estimate.metric
            assert float(row[profile.profile]) == estimate.value
            assert float(row[f"{profile.profile} low"]) == estimate.low
            assert int(row[f"{profile.profile} problems"]) == int(row["problems"]) == estimate.tasks


def test_markdown_and_latex_say_what_the_page_says(two: Run) -> None:
    first = read_summary(two).profiles[0].estimates[0]
    markdown = {path.name: path.read_text() for path in export_report(two, "markdown")}
    assert fmt.estimate(first) in markdown["estimates.md"]
    assert "12 of 15 problems" in markdown["methods.md"]
    tex = {path.name: path.read_text() for path in export_report(two, "latex")}
    assert latex(fmt.estimate(first)) in tex["estimates.tex"]
    assert r"toy/a\_b\&c" in tex["estimates.tex"]
    for text in tex.values():
        assert not re.search(r"(?<!\\)[_%#]", text)
        assert text.count("{") == text.count("}")


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("http://localhost:8000/v1", "on a server of our own"),
        ("http://10.1.2.3/v1", "on a server of our own"),
        ("http://gpu7:8000/v1", "on a server of our own"),
        ("https://api.openai.com/v1", "at https://api.openai.com/v1"),
    ],
)
def test_the_methods_name_an_address_that_others_can_reach(two: Run, address: str, said: str) -> None:
    manifest = two.manifest
    config = replace(manifest.generation, base_url=address)
    words = " ".join(sentences(replace(manifest, generation=config), read_summary(two)))
    assert f"{config.model} {said} on" in words


def test_json_is_one_file(two: Run) -> None:
    (path,) = export_report(two, "json")
    content = json.loads(path.read_text())
    estimates = content["tables"]["estimates"]
    assert estimates["columns"] == ["metric", "house@1", "lenient@1", "problems"]
    assert estimates["rows"][0][1]["value"] == read_summary(two).profiles[0].estimates[0].value


def test_bibtex_names_run_and_program(two: Run) -> None:
    (path,) = export_report(two, "bibtex")
    text = path.read_text()
    assert re.findall(r"^@(\w+)\{([\w-]+),$", text, re.MULTILINE) == [
        ("misc", "toy-toy-a-b-c"),
        ("software", "truegrade"),
    ]
    assert "year = {2026}" in text
    assert text.count("{") == text.count("}")


def test_bibtex_cites_a_known_benchmark(two: Run) -> None:
    from truegrade.report.methods import bibtex

    manifest = two.manifest
    known = replace(manifest, benchmark=replace(manifest.benchmark, name="humaneval"))
    text = bibtex(known, read_summary(two))
    assert "eprint = {2107.03374}" in text and "author = {Chen and others}" in text and "year = {2021}" in text
    assert "author = {{The Truegrade authors}}" in text


def test_figures_are_files(two: Run, tmp_path: Path) -> None:
    paths = export_report(two, "svg", tmp_path / "new" / "folder")
    assert paths[0].name == "score.svg"
    assert fmt.estimate(read_summary(two).profiles[0].estimates[0]) in paths[0].read_text()
    assert {"profiles.svg", "pass-at-k.svg", "reasons.svg", "latency.svg"} <= {path.name for path in paths}
    for path in paths:
        assert ET.parse(path).getroot().tag.endswith("svg")


def test_reasoning_has_its_own_tables_and_figures(tmp_path: Path) -> None:
    run = build_reasoning_run(tmp_path / "run")
    names = {path.stem for path in export_report(run, "svg")}
    assert {"prediction", "differences", "choice", "choice-order"} <= names
    tables = {path.stem for path in export_report(run, "markdown")}
    assert {"prediction", "operators", "choice", "choice-order"} <= tables


def test_the_command_writes_every_format(two: Run, tmp_path: Path) -> None:
    for file_format in set(FORMATS) - {"png", "eval-results"}:
        out = tmp_path / ("page.html" if file_format == "html" else file_format)
        result = CliRunner().invoke(
            main, ["report", str(two.path), "--format", file_format, "--out", str(out), "--json"]
        )
        assert result.exit_code == 0, result.output
        assert all(Path(name).is_file() for name in json.loads(result.stdout))
    assert (tmp_path / "page.html").read_text().startswith("<!doctype html>")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--format", "pgn"], "did you mean png?"),
        (["--format", "csv", "--open"], "--open shows a page"),
        (["--out", "x", "ANOTHER"], "--out names one place"),
        (["--format", "csv", "--out", "FILE/below"], "give another --out"),
    ],
)
def test_mistakes_are_one_line(two: Run, tmp_path: Path, arguments: list[str], sentence: str) -> None:
    (tmp_path / "file").write_text("")
    given = [argument.replace("FILE", str(tmp_path / "file")) for argument in arguments]
    result = CliRunner().invoke(main, ["report", str(two.path), *given])
    assert result.exit_code == 2
    assert sentence in result.stderr
    assert result.stderr.count("\n") == 1


def test_an_ungraded_run_has_no_files(tmp_path: Path) -> None:
    run = build_run(tmp_path / "run", tasks=2)
    (run.path / "summary.json").unlink()
    with pytest.raises(UserError, match="grade it first"):
        export_report(run, "csv")
    assert not (run.path / "report").exists()


CELLS = st.one_of(st.none(), st.integers(0, 10**6), st.floats(0, 1e6), st.text(max_size=12))


@example([(None, "\r0")])
@given(st.lists(st.tuples(CELLS, CELLS), min_size=1))
def test_any_cell_can_be_written(cells: list[tuple]) -> None:
    table = Table(slug="t", caption="c | d", head=("a", "b"), rows=[list(row) for row in cells])
    assert len(list(csv.reader(io.StringIO(as_csv(table), newline="")))) == len(cells) + 1
    lines = as_markdown(table).splitlines()
    assert len(lines) == len(cells) + 4
    assert all(len(re.findall(r"(?<!\\)\|", line)) == 3 for line in lines[2:])
    assert as_latex(table).count(r" \\" + "\n") == len(cells) + 1


def test_latex_of_sentences_and_of_many_columns_fits_the_page() -> None:
    sentence = "`truegrade grade RUN --timeout SECONDS` settles them – " * 3
    said = as_latex(Table(slug="w", caption="c", head=("code", "warning", "of"), rows=[["a", sentence, 3]]))
    assert r"\begin{tabular}{lp{0.6\linewidth}r}" in said and r"\resizebox" not in said
    assert r"\textasciigrave{}truegrade grade RUN -{}-timeout SECONDS\textasciigrave{}" in said
    assert r"them \textendash{} " in said
    heads = ("task", *(f"profile-{place}@1234567 passes" for place in range(11)))
    rows = [[f"T/{row}", *range(11)] for row in range(41)]
    scaled = as_latex(Table(slug="t", caption="c", head=heads, rows=rows[:3]))
    assert r"\resizebox{\linewidth}{!}{\begin{tabular}{lrrrrrrrrrrr}" in scaled and r"\end{tabular}}" in scaled
    parts = as_latex(Table(slug="t", caption="c", head=heads, rows=rows))
    assert re.findall(r"\\begin{longtable}{(l+r+)}", parts) == [*["lrr"] * 5, "lr"]
    assert parts.count(r"\label{tab:t}") == 1 and parts.count(r"\caption[]{c (continued)}") == 5
    assert parts.count("T/40 & ") == 6 and parts.count(r"\addtocounter{table}{-1}") == 5
    assert all(text.count("{") == text.count("}") for text in (said, scaled, parts))
    signs = as_latex(Table(slug="t", caption="c", head=("m", "d"), rows=[["gpt-4 -x", "-2.0 [-3.5, (-1)"]]))
    assert "gpt-4 -x & $-$2.0 [$-$3.5, ($-$1)" in signs


def test_a_row_per_sample_and_profile_reads_back_alike_from_csv_and_parquet(two: Run) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    (path,) = export_report(two, "parquet")
    rows = parquet.read_table(path).to_pylist()
    assert path.name == "samples.parquet" and list(rows[0]) == list(COLUMNS)
    verdicts = {(v.profile, v.problem_id, v.sample): v for name in two.profiles for v in two.verdicts(name)}
    assert {(row["profile"], row["problem_id"], row["sample"]) for row in rows} == verdicts.keys()
    assert len(rows) == len(verdicts)
    for row in rows:
        verdict = verdicts[row["profile"], row["problem_id"], row["sample"]]
        assert (row["passed"], row["reason"]) == (verdict.passed, verdict.reason.value)
        assert row["detail"] == verdict.detail
    summary = read_summary(two)
    for profile in summary.profiles:
        passed = sum(row["passed"] for row in rows if row["profile"] == profile.profile)
        assert passed == sum(task.c for task in profile.tasks)
    paths = {made.name: made for made in export_report(two, "csv")}
    with paths["samples.csv"].open(newline="") as file:
        told = list(csv.DictReader(file))
    as_text = {True: "true", False: "false", None: ""}
    assert [list(row.values()) for row in told] == [
        [as_text[value] if isinstance(value, bool | None) else str(value) for value in row.values()]
        for row in rows
    ]


def test_parquet_without_its_extra_says_what_to_install(two: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(UserError, match=r"pip install 'truegrade\[parquet\]'"):
        export_report(two, "parquet")


def test_an_estimate_over_fewer_problems_says_so_wherever_it_stands(tmp_path: Path) -> None:
    """pass@5 of a run of which two problems have four samples each."""
    run = build_run(tmp_path / "run", unanswered=2, profiles=(House(), Lenient()))
    (found,) = [each for each in read_summary(run).profiles[0].estimates if each.metric == "pass@5"]
    assert (found.tasks, found.left_out) == (10, 2)
    said = "(10 of 12 problems)"
    terminal = io.StringIO()
    print_summary(read_summary(run), console=Console(file=terminal, width=200))
    print_matrix(read_matrix(run), console=Console(file=terminal, width=200))
    (paths,) = export_report(run, "html")
    files = {
        file_format: {path.stem: path.read_text() for path in export_report(run, file_format)}
        for file_format in ("csv", "latex", "markdown", "json")
    }
    summary, matrix = terminal.getvalue().split("spread")[0].rsplit("profile ", 1)
    assert re.search(r"pass@5 +\S+ % \S+ \S+ \(10 of 12 problems\) .* 10 +\n", summary)
    assert re.search(r"pass@1 +\S+ % .* 12 +\n", summary)
    assert matrix.count(said) == 4, "pass@5 and the first sample of either profile"
    assert paths.read_text().count(said) >= 2
    for file_format in ("latex", "markdown"):
        assert files[file_format]["estimates"].count(said) == 2
        assert files[file_format]["profiles"].count(said) == 4
    rows = {row["metric"]: row for row in csv.DictReader(io.StringIO(files["csv"]["estimates"]))}
    assert (rows["pass@5"]["problems"], rows["pass@1"]["problems"]) == ("10", "12")
    by_profile = list(csv.DictReader(io.StringIO(files["csv"]["profiles"])))
    assert {(row["pass@1 problems"], row["pass@5 problems"]) for row in by_profile} == {("12", "10")}
    tables = json.loads(files["json"]["report"])["tables"]["estimates"]["rows"]
    assert [row[1]["left_out"] for row in tables if row[0] == "pass@5"] == [2]
