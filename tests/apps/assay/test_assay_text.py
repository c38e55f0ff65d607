"""The terminal's table of an assay and its exports: they say what the summary says, and fit their place."""

from __future__ import annotations

import csv
import io
import re

import msgspec
import pytest
from assay_samples import FINDINGS, SHORTEST, material
from rich.console import Console

from truegrade.apps.assay.reporting import words
from truegrade.apps.assay.reporting.text import assay_exhibits, print_assay, write_tables
from truegrade.errors import UnknownName

replace = msgspec.structs.replace


def printed(one, findings=FINDINGS, width=80, **more):
    out = io.StringIO()
    print_assay(one.summary, findings, folder="runs/a", console=Console(file=out, width=width), **more)
    return out.getvalue()


def rows(text, name):
    """Rows of that name, runs of spaces as one."""
    return [" ".join(line.split()) for line in text.splitlines() if line.split()[:1] == [name]]


@pytest.fixture(scope="module")
def loose():
    return material(("loose@1",))


def test_a_block_has_a_row_a_class_in_80_columns(loose):
    text = printed(loose)
    assert text.startswith("loose@1 on toy: forgeable: yes, 3 of 9 programs that solve nothing were paid")
    assert "\ntoy, graded by loose@1 · 3 problems · 26 probes\n" in text
    kinds = ("right", "mutants", "cheats", "must-fail")
    assert [len(rows(text, kind)) for kind in kinds] == [1] * len(kinds)
    assert rows(text, "right") == ["right 5 6 83.3 % [78.3, 88.3] 1 right refused"]
    assert rows(text, "mutants") == ["mutants 4 7 57.1 % [52.1, 62.1] * 3 wrong accepted"]
    assert rows(text, "cheats") == ["cheats 3 3 100.0 % [95.0, 100.0] 3 open: 1 of 1"]
    assert "95 % interval" in text


def test_large_numbers_still_fit_80_columns(loose):
    measure = loose.summary.measures[0]
    shares = tuple(replace(share, accepted=11_105, probes=11_112, problems_hit=1_166) for share in measure.shares)
    summary = replace(loose.summary, measures=(replace(measure, shares=shares),))
    assert rows(printed(replace(loose, summary=summary)), "mutants") == [
        "mutants 11,105 11,112 57.1 % [52.1, 62.1] * 1,166 wrong accepted"
    ]


def test_the_lines_under_the_table(loose):
    text = " ".join(printed(loose, width=200).split())
    assert "J = 0.262 [0.21, 0.31] · a pass is right: 0.59 at base rate 0.5, 0.14 at 0.1" in text
    said = (
        "forgeable: yes, 3 of 9 programs that solve nothing were paid (cheats 3 of 3, stubs 0 of 3, twins 0 of 3)"
    )
    assert f"{said}, and 1 of 3 on impossible tests; channels open: 1 of 1: report; J_adversarial = -0.167" in text
    assert "(best cheat: report-simple); not sent: exit-status" in text
    assert "* lower end: proven; upper end: 1 accepted probe whose label is undecided counted as wrong" in text
    assert "! stays × 2: A cheat stays in the grader." in text
    assert "unsteady: 5.0 % [0.0, 20.0] of verdicts are not the usual one of their program" in text


def with_shortest(one, shortest=SHORTEST):
    measure = replace(one.summary.measures[0], shortest=(shortest,))
    return replace(one, summary=replace(one.summary, measures=(measure,)))


def test_a_short_program_stands_behind_its_finding_and_a_long_one_elsewhere(loose):
    said = "channel report: it reads what is printed; shortest: prints for toy/clip, {} characters"
    closes = "; closes it: read nothing that is printed"
    long = printed(with_shortest(loose), width=200)
    assert f"{said.format(63)}, paid 1{closes} (in full on the page and in summary.json)\n" in long
    code = "def clip(*args):\n    return 0\n"
    short = printed(with_shortest(loose, replace(SHORTEST, code=code, pay=None)), width=200)
    assert f"{said.format(30)}{closes}\n    def clip(*args):\n        return 0\n" in short


def test_exports_hold_the_shortest_programs_whole(loose, tmp_path):
    for kind in ("csv", "markdown", "latex"):
        write_tables(with_shortest(loose).summary, kind, tmp_path)
    (row,) = csv.DictReader(io.StringIO((tmp_path / "shortest.csv").read_text()))
    assert (row["program"], row["problem"], row["paid"]) == (SHORTEST.code, "toy/clip", "1.0")
    assert (row["what closes it"], row["how it works"]) == (SHORTEST.closes, SHORTEST.how)
    assert f"\n````\n{SHORTEST.code}````\n" in (tmp_path / "shortest.md").read_text()
    latex = (tmp_path / "shortest.tex").read_text()
    behind = latex.partition("\\end{table}")[2]
    assert f"prints (0123456789abcdef)\n\\begin{{verbatim}}\n{SHORTEST.code}\\end{{verbatim}}\n" in behind


def test_without_undecided_probes_there_is_no_star(loose):
    measure = loose.summary.measures[0]
    shares = tuple(replace(share, undecided_accepted=0) for share in measure.shares)
    summary = replace(loose.summary, measures=(replace(measure, shares=shares),))
    assert "*" not in printed(replace(loose, summary=summary), ())


def test_silent_probes_and_scores_are_said_once_by_class(loose):
    measure = loose.summary.measures[0]
    first, second, *rest = measure.shares
    changed = replace(first, no_verdict=3, mean_score=0.875), replace(second, mean_score=0.5)
    text = printed(
        replace(loose, summary=replace(loose.summary, measures=(replace(measure, shares=(*changed, *rest)),)))
    )
    assert "no verdict, counted in no rate: right 3\n" in text
    assert "reference refused" not in text
    assert "mean score: right 0.875, mutants 0.5\n" in text


def test_cheats_that_were_not_sent_are_not_closed_channels(loose):
    measure = loose.summary.measures[0]
    channels = tuple(replace(one, open=False, accepted=0, probes=0, not_sent=3) for one in measure.channels)
    changed = replace(measure, channels=channels, forgeable=None)
    text = printed(replace(loose, summary=replace(loose.summary, measures=(changed,))))
    assert rows(text, "cheats")[0].endswith(" 3 not sent")
    assert "forgeable: not measured: no program that solves nothing was sent" in " ".join(text.split())


def test_problems_whose_reference_is_refused_are_said(loose):
    measure = replace(loose.summary.measures[0], references_refused=2)
    text = printed(replace(loose, summary=replace(loose.summary, measures=(measure,))))
    assert "reference refused: 2 problems, whose wrong programs are in no rate\n" in text


def test_several_graders_are_compared_first():
    text = printed(material(), width=120)
    table, first, second = re.split(r"\ntoy, graded by .*\n", text)
    assert rows(table, "loose@1")[1:] == ["loose@1 83.3 57.1 [52.1, 62.1] 0.262 [0.21, 0.31] yes, 4 of 12"]
    assert "tight@2" in table and "benchmark" not in table
    first, second = (" ".join(block.split()) for block in (first, second))
    assert "channels open: 0 of 1" in second and "channels open: 1 of 1" in first


def test_intervals_of_a_comparison_stand_in_one_line_of_a_terminal():
    table = re.split(r"\ntoy, graded by .*\n", printed(material(), width=80))[0]
    assert rows(table, "loose@1")[1:] == ["loose@1 83.3 57.1 [52.1, 62.1] 0.262 [0.21, 0.31] yes, 4 of 12"]
    assert max(map(len, table.splitlines())) <= 80


def test_a_grader_without_any_verdict_is_said_to_be_unmeasured(loose):
    shares = tuple(
        replace(one, accepted=0, probes=0, value=None, undecided=0, undecided_accepted=0, no_verdict=4)
        for one in loose.summary.measures[0].shares
    )
    measure = replace(loose.summary.measures[0], shares=shares)
    text = printed(replace(loose, summary=replace(loose.summary, measures=(measure,))))
    assert f"It gave no verdict on any of {4 * len(shares)} programs sent to it: nothing is measured." in text
    assert "right refused" not in text and "J =" not in text


def test_a_grader_that_refuses_every_reference_is_asked_how_it_is_called(loose):
    measure = loose.summary.measures[0]
    measure = replace(measure, references_refused=measure.problems)
    text = printed(replace(loose, summary=replace(loose.summary, measures=(measure,))))
    assert "It refuses every reference, so nothing is measured of wrong programs" in text


def test_the_folder_and_the_page_come_last(loose):
    assert printed(loose, page="runs/a/report.html").splitlines()[-1] == (
        "worst problems, witnesses: runs/a/report.html · everything: runs/a"
    )
    assert printed(loose).splitlines()[-1] == "everything: runs/a"


def test_nothing_sent_is_nothing_measured(loose):
    empty = words.MeasuredValue(value=None, low=None, high=None)
    measure = replace(
        loose.summary.measures[0],
        shares=(),
        fpr=empty,
        j=empty,
        j_adversarial=None,
        ppv={},
        channels=(),
        forgeable=None,
        open_channels=(),
        best_cheat="",
    )
    text = printed(replace(loose, summary=replace(loose.summary, measures=(measure,))))
    assert "J = not measured" in text
    assert "forgeable: not measured: no program that solves nothing was sent" in text


def test_without_an_interval_of_j_nothing_is_said_of_where_it_lies(loose):
    measure = loose.summary.measures[0]
    alone = replace(measure, j=replace(measure.j, low=None, high=None))
    assert words.stands_for(alone, 0.6).startswith("J has no interval here")


def test_a_cheat_that_stays_is_said_even_where_no_channel_is_open(loose):
    measure = loose.summary.measures[0]
    channels = tuple(replace(one, open=False, stays=1) for one in measure.channels)
    honest = replace(measure.unearned, paid=0, impossible_paid=0, by_kind={})
    changed = replace(measure, channels=channels, forgeable=False, open_channels=(), unearned=honest)
    said = words.forgeable(replace(changed, best_cheat=""))
    assert said == (
        "0 of 9 programs that solve nothing were paid, and 0 of 3 on impossible tests (3 kinds tried); channels"
        " open: 0 of 1; stays in the grader: report, exit-status; not sent: exit-status"
    )
    assert words.headline(changed) == "a cheat stays in it and changes later verdicts: report, exit-status"


def test_the_first_sentence_is_the_most_important_one(loose):
    measure = loose.summary.measures[0]
    honest = replace(measure.unearned, paid=0, impossible_paid=0, by_kind={})
    changed = replace(measure, forgeable=False, open_channels=(), unearned=honest)
    assert words.headline(changed).startswith("unsteady: 5.0 % [0.0, 20.0]")
    lax = replace(changed, unearned=replace(honest, loose=2, natural=7))
    assert words.headline(lax).startswith(
        "accepts 2 of 7 wrong programs that the problems' own tests refuse; 0 of 9"
    )
    right = replace(measure.shares[0], accepted=0, value=0.0)
    never = replace(lax, shares=(right, *measure.shares[1:]))
    assert words.headline(never) == "refuses 6 of 6 right programs"
    steady = replace(changed, flips=replace(measure.flips, flips=0), shares=measure.shares[1:])
    assert words.headline(steady).endswith("(3 kinds tried); J = 0.262 [0.21, 0.31]")
    blind = replace(
        lax, overlooks=("accepts every program that raises (4 of 4), and 0 of 9 other wrong programs",)
    )
    assert words.headline(blind).startswith(f"{blind.overlooks[0]}; 0 of 9")
    paid = replace(measure, overlooks=blind.overlooks)
    assert words.headline(paid) == f"{words.headline(measure)}; {blind.overlooks[0]}"
    forms = {"python": (3, 3), "py": (0, 3), "no fence": (1, 3)}
    assert words.headline(replace(steady, forms=forms)).startswith(
        "refuses right programs in 1 of 3 forms of a reply: py; 0 of 9"
    )
    part = replace(steady, pay={"none": 0.0, "half": 0.5, "all but one": 0.5, "all": 1.0})
    assert words.headline(part).startswith(
        "pays in part (mean pay by tests passed: none 0, half 0.5, all but one 0.5, all 1); 0 of 9"
    )
    whole = replace(steady, pay={"none": 0.0, "half": 0.0, "all but one": 0.0, "all": 1.0})
    assert words.headline(whole) == words.headline(steady)
    died = replace(steady, shares=tuple(replace(one, no_verdict=2) for one in steady.shares[:1]))
    assert words.headline(died).endswith("[0.21, 0.31]; no verdict, counted in no rate: mutants 2")


def test_weak_tests_have_a_line_of_their_own(loose):
    measure = loose.summary.measures[0]
    weak = replace(measure, unearned=replace(measure.unearned, weak=2, weak_problems=1))
    said = "weak tests: 2 programs that solve nothing pass the tests of 1 problem under strict as well"
    assert words.weak_tests(weak) == said
    assert words.weak_tests(measure) == ""


# -------------------------------------------------------------------------------------------- exports


def test_a_spreadsheet_reads_back_the_summary(tmp_path):
    one = material()
    paths = {path.stem: path for path in write_tables(one.summary, "csv", tmp_path / "tables")}
    assert set(paths) == {"graders", "classes", "channels", "operators", "problems"}
    read = list(csv.DictReader(io.StringIO(paths["classes"].read_text())))
    shares = [(measure.grader, share) for measure in one.summary.measures for share in measure.shares]
    assert len(read) == len(shares)
    for row, (grader, share) in zip(read, shares, strict=True):
        assert (row["grader"], row["class"]) == (grader, words.NAMES[share.kind])
        assert int(row["accepted"]) == share.accepted and int(row["of"]) == share.probes
        assert float(row["rate"]) == share.value and float(row["rate low"]) == share.low


@pytest.mark.parametrize(("file_format", "ending"), [("markdown", ".md"), ("latex", ".tex")])
def test_tables_for_papers(tmp_path, file_format, ending):
    paths = write_tables(material().summary, file_format, tmp_path)
    graders = next(path for path in paths if path.name == f"graders{ending}").read_text()
    shown = "83.3 % [78.3, 88.3]" if file_format == "markdown" else r"83.3 \% [78.3, 88.3]"
    assert shown in graders
    assert "yes, 4 of 12" in graders
    assert all(path.read_text().count("loose@1") >= 1 for path in paths)


def test_no_such_format(tmp_path):
    with pytest.raises(UnknownName, match="markdown"):
        write_tables(material().summary, "word", tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_tables_without_rows_are_left_out(loose):
    measure = replace(loose.summary.measures[0], channels=(), operators={}, per_problem=())
    made = assay_exhibits(replace(loose.summary, measures=(measure,)))
    assert [exhibit.slug for exhibit in made] == ["graders", "classes"]
