"""One document for terminal, page and files: the same columns everywhere; what a narrow terminal leaves out."""

from __future__ import annotations

import csv
import io
import sys
from pathlib import Path

import pytest
from reasoning_runs import build_reasoning_run
from report_runs import House, Lenient, build_run
from rich.console import Console

sys.path.append(str(Path(__file__).parents[1] / "comparison"))
from comparison_runs import build, single

from truegrade.analysis.comparison import compare_runs
from truegrade.analysis.standings import read_matrix
from truegrade.errors import UnknownName
from truegrade.pipeline.summary import read_summary
from truegrade.report import document as doc
from truegrade.report.chosen_samples import gather
from truegrade.report.comparison_document import comparison_document
from truegrade.report.document import On, Table, tables
from truegrade.report.html import report_document
from truegrade.report.page_parts import show
from truegrade.report.run_document import estimates, metrics_section, profiles, reasons_section, usage_section
from truegrade.report.terminal import print_parts
from truegrade.report.text_files import as_csv


def columns(parts, medium):
    """Titles of each table that a medium shows, by its name."""
    found: dict[str, list[list[str]]] = {}
    for table in tables(parts, medium):
        found.setdefault(table.slug, []).append(table.titles)
    return found


def printed(*parts, width=80):
    out = io.StringIO()
    print_parts(*parts, console=Console(file=out, width=width))
    return out.getvalue()


def test_the_tables_of_a_run_have_the_same_columns_everywhere(tmp_path):
    run = build_reasoning_run(tmp_path / "run")
    sections = report_document(gather(run)).sections
    page, terminal, files = (columns(sections, medium) for medium in (On.PAGE, On.TERMINAL, On.FILES))
    shared = {"estimates", "conditions", "reasons", "prediction-metrics", "choice-order"}
    assert shared <= page.keys() & terminal.keys() & files.keys()
    for slug in page.keys() & files.keys():
        assert page[slug] == files[slug]
    for slug in terminal.keys() & files.keys():
        assert terminal[slug] == files[slug]


def test_several_profiles_stand_in_every_table(tmp_path):
    run = build_run(tmp_path / "run", profiles=(House(), Lenient()))
    summary = gather(run).summary
    for section in (metrics_section(summary), reasons_section(summary), usage_section(summary)):
        for table in tables([section]):
            page = show(doc.Document(kind="report", about=("x",), sections=[section]), "html")["report.html"]
            assert all(title in page for title in table.titles)
            assert all(len(row) == len(table.head) for row in table.rows)


def test_the_tables_of_a_comparison_have_the_same_columns_everywhere(tmp_path):
    marks = {"before": "00001111", "after": "11001110", "third": "01001110"}
    runs = [build(tmp_path / name, single(mark), model=f"toy/{name}") for name, mark in marks.items()]
    for several in (runs[:2], runs):
        sections = comparison_document(compare_runs(several)).sections
        page, terminal, files = (columns(sections, medium) for medium in (On.PAGE, On.TERMINAL, On.FILES))
        for slug in ("models", "problems"):
            assert page[slug] == terminal[slug] == files[slug]
        for slug in ("differences", "tests", "runs"):
            assert page[slug] == files[slug]
        written = show(comparison_document(compare_runs(several)), "csv")
        assert {
            "models.csv",
            "differences.csv",
            "problems.csv",
            "tests.csv",
            "runs.csv",
            "tasks.csv",
        } <= written.keys()


def test_a_narrow_terminal_leaves_out_spare_columns_and_names_them():
    rows = [["one", "a" * 30, "b" * 30], ["two", "c", "d"]]
    table = Table(slug="t", caption="c", head=("name", "first", "second"), rows=rows, spare=("first", "second"))
    assert "not shown" not in printed(table, width=100)
    some = printed(table, width=50)
    assert "a" * 30 in some and "b" not in some and "not shown for want of width: second\n" in some
    none = printed(table, width=20)
    assert "not shown for want of width: first, second" in " ".join(none.split())


def test_further_lines_begin_below_the_first_ones_words_and_end_without_a_blank():
    long = "word " * 9 + "end"
    shown = printed(doc.Prose(text=f"  {long}"), doc.Bullets([long]), doc.Cautions([long]), width=30).splitlines()
    assert shown == [
        "  word word word word word", "  word word word word end",
        "· word word word word word", "  word word word word end",
        "! word word word word word", "  word word word word end",
    ]  # fmt: skip


def test_what_only_one_medium_shows_is_not_made_for_the_others():
    def made():
        raise AssertionError("made for a page")

    section = doc.Section("s", "S", [doc.only(On.PAGE, made), doc.only(On.FILES, doc.Prose(text="x"))])
    assert list(tables([section])) == []
    assert printed(section) == ""
    with pytest.raises(AssertionError, match="for a page"):
        list(doc.shown_on([section], On.PAGE))


def test_programs_read_numbers_where_people_read_words():
    row = [
        doc.GroupName("kind", "stdin"),
        doc.Passes(3, 5, ("passed",)),
        doc.PartOf(7, 9, "passed"),
        doc.percent(0.25),
        doc.dollars(None),
        doc.Noted(doc.Linked("Toy/1", "#samples"), ("why",)),
        doc.SampleName("Toy/1", 2),
        doc.Badge("time_limit"),
    ]
    head = ("group", "run", "reason", "share", "cost", "problem", "sample", "verdict")
    (read,) = csv.DictReader(io.StringIO(as_csv(Table(slug="t", caption="c", head=head, rows=[row]))))
    assert read == {
        "by": "kind",
        "group": "stdin",
        "run passes": "3",
        "run samples": "5",
        "reason": "7",
        "share": "0.25",
        "cost": "",
        "problem": "Toy/1",
        "sample": "2",
        "verdict": "time_limit",
    }
    assert [doc.read(cell) for cell in row] == [
        "kind stdin",
        "3 / 5",
        "7 · 77.8 %",
        "25.0 %",
        "unknown",
        "Toy/1",
        "Toy/1#2",
        "time_limit",
    ]


def test_an_unknown_form_is_refused():
    with pytest.raises(UnknownName, match="markdown"):
        show(doc.Document(kind="report", about=("x",), sections=[]), "word")


def test_columns_that_are_equal_by_construction_are_shown_once(tmp_path: Path) -> None:
    one = read_matrix(build_run(tmp_path / "one", samples=1, profiles=(House(), Lenient())))
    shown = profiles(one)
    assert shown.titles == ["profile", "pass@1"]
    assert "with one sample per problem any of N, all solutions, first sample equal pass@1" in shown.caption
    assert profiles(one, whole=True).titles == ["profile", "pass@1", "any of N", "all solutions", "first sample"]
    several = read_matrix(build_run(tmp_path / "several", samples=5, profiles=(House(), Lenient())))
    assert profiles(several).titles == ["profile", "pass@1", "pass@5", "first sample"]
    assert profiles(several).caption.endswith("; any of N equals pass@5; all solutions equals pass@1")
    missing = build_run(tmp_path / "missing", samples=5, unanswered=2, profiles=(House(), Lenient()))
    kept = [row[0].cell for row in estimates(read_summary(missing)).rows]
    assert kept == ["pass@1", "pass@5", "any_correct", "all_correct", "all_solutions"], "two lack a sample"
