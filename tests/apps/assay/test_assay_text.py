"""The terminal's table of an assay and its exports: they say what the summary says, and fit their place."""

from __future__ import annotations

import csv
import io

import msgspec
import pytest
from assay_samples import FINDINGS, SHORTEST, material
from rich.console import Console

from truegrade.apps.assay.reporting import words
from truegrade.apps.assay.reporting.assay_document import assay_document, print_assay, write_tables
from truegrade.apps.assay.reporting.assay_tables import AssayMaterial
from truegrade.errors import UnknownName
from truegrade.report.document import tables

replace = msgspec.structs.replace


def printed(one, findings=FINDINGS, width=80):
    out = io.StringIO()
    print_assay(one.summary, findings, folder="runs/a", console=Console(file=out, width=width))
    return out.getvalue()


def rows(text, name):
    """Rows of that name, runs of spaces as one."""
    return [" ".join(line.split()) for line in text.splitlines() if line.split()[:1] == [name]]


@pytest.fixture(scope="module")
def loose():
    return material(("loose@1",))


def changed(one, **fields):
    """The same with another measure."""
    measure = replace(one.summary.measures[0], **fields)
    return replace(one, summary=replace(one.summary, measures=(measure,)))


def test_a_block_has_a_row_a_class_in_80_columns(loose):
    text = printed(loose)
    assert text.startswith("CAN BE PAID WITHOUT SOLVING: yes, 1 of 1 channel (report)\n")
    assert "\ntoy, graded by loose@1 · 3 problems · 26 probes\n" in text
    kinds = ("right", "mutants", "cheats", "must-fail")
    assert [len(rows(text, kind)) for kind in kinds] == [1] * len(kinds)
    assert rows(text, "right") == ["right 5 6 83.3 % [78.3, 88.3] 1"]
    assert rows(text, "mutants") == ["mutants 4 7 57.1 % [52.1, 62.1] * 3"]
    assert rows(text, "cheats") == ["cheats 3 3 100.0 % [95.0, 100.0] 3"]


def test_large_numbers_still_fit_80_columns(loose):
    measure = loose.summary.measures[0]
    shares = tuple(replace(share, accepted=11_105, probes=11_112, problems_hit=1_166) for share in measure.shares)
    assert rows(printed(changed(loose, shares=shares)), "mutants") == [
        "mutants 11,105 11,112 57.1 % [52.1, 62.1] * 1,166"
    ]


def test_the_lines_behind_the_answer(loose):
    lines = printed(loose, width=200).splitlines()
    assert lines[1] == (
        "3 of 9 programs that solve nothing were paid (cheats 3 of 3, stubs 0 of 3, twins 0 of 3), and 1 of 3 on"
        " impossible tests (3 kinds tried); not sent: exit-status"
    )
    assert lines[2] == (
        "apart from the programs that solve nothing: refuses 16.7 % of right programs [11.7, 21.7], pays 57.1 % of"
        " wrong ones that try [52.1, 62.1] *"
    )
    assert lines[3] == (
        "J_adversarial = -0.167 (best cheat: report-simple) · without the programs that solve nothing, J = 0.262"
        " [0.21, 0.31] · a pass is right: 0.59 at base rate 0.5, 0.14 at 0.1"
    )
    text = "\n".join(lines)
    assert "· * lower end: proven; upper end: 1 accepted probe whose label is undecided counted as wrong\n" in text
    assert "! stays × 2: A cheat stays in the grader." in text
    assert "· unsteady: 5.0 % [0.0, 20.0] of verdicts are not the usual one of their program" in text


def with_shortest(one, shortest=SHORTEST):
    unearned = replace(one.summary.measures[0].unearned, shortest=shortest.probe)
    return changed(one, shortest=(shortest,), unearned=unearned)


def test_the_shortest_program_stands_behind_the_answer_and_then_what_to_change(loose):
    long = printed(with_shortest(loose, replace(SHORTEST, code="pass\n" * 14)), width=200).splitlines()
    assert long[2] == "the shortest: prints for toy/clip, 70 characters, paid 1"
    assert long[3:16] == [*["    pass"] * 12, "    … 2 more lines: report.html"]
    closes = "· read nothing that is printed (channel report: prints for toy/clip, 70 characters, paid 1)"
    assert long[16:18] == ["what to change:", closes]
    code = "def clip(*args):\n    return 0\n"
    short = printed(with_shortest(loose, replace(SHORTEST, code=code, pay=None)), width=200)
    assert "the shortest: prints for toy/clip, 30 characters\n    def clip(*args):\n        return 0\n" in short


def test_exports_hold_the_shortest_programs_whole(loose, tmp_path):
    for kind in ("csv", "markdown", "latex"):
        write_tables(with_shortest(loose), kind, tmp_path)
    (row,) = csv.DictReader(io.StringIO((tmp_path / "shortest.csv").read_text()))
    assert (row["program"], row["problem"], row["paid"]) == (SHORTEST.code, "toy/clip", "1.0")
    assert (row["what closes it"], row["how it works"]) == (SHORTEST.closes, SHORTEST.how)
    assert f"\n````\n{SHORTEST.code}````\n" in (tmp_path / "shortest.md").read_text()
    latex = (tmp_path / "shortest.tex").read_text()
    behind = latex.partition("\\end{table}")[2]
    assert f"prints (0123456789abcdef)\n\\begin{{verbatim}}\n{SHORTEST.code}\\end{{verbatim}}\n" in behind


def test_without_undecided_probes_there_is_no_star(loose):
    shares = tuple(replace(share, undecided_accepted=0) for share in loose.summary.measures[0].shares)
    assert "*" not in printed(changed(loose, shares=shares), ())


def test_silent_probes_and_scores_are_said_once_by_class(loose):
    first, second, *rest = loose.summary.measures[0].shares
    shares = (replace(first, no_verdict=3, mean_score=0.875), replace(second, mean_score=0.5), *rest)
    text = printed(changed(loose, shares=shares, unanswered={"grader_died": 1, "grader_hung": 4, "tests_form": 7},
                           left_out=2), width=200)  # fmt: skip
    assert (
        "no verdict, counted in no rate: right 3, controls, forms and twins 2 (grader_died 1, grader_hung 4)\n"
        in text
    )
    assert "left out, and in no number: 2 problems (7 programs), for its tests' form\n" in text
    assert "reference refused" not in text
    assert "mean score: right 0.875, mutants 0.5\n" in text


def test_problems_whose_reference_is_refused_are_said(loose):
    text = printed(changed(loose, references_refused=2))
    assert "reference refused: 2 problems, whose wrong programs are in no rate\n" in text


def test_several_graders_have_a_first_line_each_and_one_table_of_80_columns():
    lines = printed(material(), width=80).splitlines()
    assert lines[:2] == [
        "loose@1: CAN BE PAID WITHOUT SOLVING: yes, 1 of 1 channel (report)",
        "tight@2: CAN BE PAID WITHOUT SOLVING: no: 0 of 1 channel tried, on 3 problems",
    ]
    assert max(map(len, lines)) <= 80
    wide = printed(material(), width=200)
    named = "loose@1 yes, 4 of 12 83.3 % [78.3, 88.3] 57.1 % [52.1, 62.1] * 0.262 [0.21, 0.31] toy report 3"
    assert rows(wide, "loose@1")[0].startswith(named)
    assert len(rows(wide, "tight@2")) == 1 and "graded by" not in wide
    assert "· loose@1: unsteady: " in wide


def test_the_folder_and_the_page_come_last(loose):
    assert printed(loose).splitlines()[-2:] == [
        "worst problems, witnesses, channels: runs/a/report.html",
        "everything: runs/a",
    ]


# ---------------------------------------------------------------------------------------- the first line


def answer(one, **fields):
    return words.answer(replace(one.summary.measures[0], **fields))


def unpaid(one, **fields):
    """Nothing was paid without solving."""
    pay = replace(one.summary.measures[0].unearned, paid=0, impossible_paid=0, by_kind={})
    return {"forgeable": False, "open_channels": (), "unearned": pay, **fields}


def test_no_is_said_with_what_was_tried(loose):
    said = "no: 0 of 1 channel tried, on 3 problems"
    assert answer(loose, **unpaid(loose)) == said
    assert answer(loose, **unpaid(loose, one_at_a_time=True)) == f"{said}; replies were sent one at a time"
    assert answer(loose, **unpaid(loose, differences={})) == f"{said}, without programs that do not end"


def test_under_a_yes_no_sentence_reads_as_if_the_grader_did_not_err(loose):
    measure = replace(loose.summary.measures[0], fpr=words.MeasuredValue(value=0.0, low=0.0, high=0.1))
    assert "pays 0.0 % of wrong ones that try" in words.errors(measure)
    assert " · without the programs that solve nothing, J = " in words.figures(measure)
    assert words.stands_for(measure, 0.6).startswith(
        "It pays programs that solve nothing, so a pass rate measured"
    )
    assert "of wrong ones [" in words.errors(replace(measure, forgeable=False))


def test_no_is_not_said_where_no_cheat_was_sent_or_answered(loose):
    measure = loose.summary.measures[0]
    channels = tuple(replace(one, open=False, accepted=0, probes=0, not_sent=3) for one in measure.channels)
    assert answer(loose, **unpaid(loose, channels=channels)) == "not measured: no cheat was sent"
    assert answer(loose, **unpaid(loose, channels=(), forgeable=None)) == "not measured: no cheat was sent"
    shares = tuple(replace(one, no_verdict=4 * (one.kind == "cheat")) for one in measure.shares)
    said = answer(loose, **unpaid(loose, channels=channels, shares=shares))
    assert said == "not measured: no cheat got a verdict"


def test_no_is_not_said_of_a_grader_that_pays_no_reference(loose):
    """One that is called wrongly refuses every cheat as well."""
    problems = loose.summary.measures[0].problems
    refusing = unpaid(loose, references_refused=problems)
    assert answer(loose, **refusing) == "not measured: it pays no reference either"
    text = printed(changed(loose, **refusing))
    assert "It refuses every reference, so nothing is measured of wrong programs" in text


def test_a_grader_without_any_verdict_is_said_to_be_unmeasured(loose):
    empty = words.MeasuredValue(value=None, low=None, high=None)
    shares = tuple(
        replace(one, accepted=0, probes=0, value=None, undecided=0, undecided_accepted=0, no_verdict=4)
        for one in loose.summary.measures[0].shares
    )
    text = printed(changed(loose, **unpaid(loose, shares=shares, forgeable=None, fpr=empty, j=empty)), width=200)
    assert text.startswith("CAN BE PAID WITHOUT SOLVING: not measured: it gave no verdict\n")
    assert f"It gave no verdict on any of {4 * len(shares)} programs sent to it: nothing is measured." in text
    assert "of right programs" not in text


def test_pay_without_a_channel_is_said_in_programs(loose):
    measure = loose.summary.measures[0]
    stubs = replace(measure.unearned, by_kind={"stub": (3, 3), "cheat": (0, 3)})
    assert answer(loose, open_channels=()).startswith("yes, 3 of 9 programs that solve nothing were paid")
    assert answer(loose, unearned=stubs).startswith("yes, 3 of 9 programs that solve nothing were paid")
    only_impossible = replace(measure.unearned, paid=0, by_kind={})
    said = answer(loose, open_channels=(), unearned=only_impossible)
    assert said.startswith("yes, 1 of 3 programs were paid on impossible tests, and 0 of 9")


def test_where_a_constant_is_paid_programs_are_named_before_channels(loose):
    """It takes no channel to be paid by a grader that looks for a word."""
    measure = loose.summary.measures[0]
    both = replace(measure.unearned, paid=6, tried=6, by_kind={"stub": (3, 3), "cheat": (3, 3)})
    said = answer(loose, open_channels=("report",), unearned=both)
    assert said.startswith("yes, 6 of 6 programs that solve nothing were paid (stubs 3 of 3, cheats 3 of 3)")
    assert said.endswith("; 1 of 1 channel (report)")
    everything = replace(both, impossible_tried=2, impossible_paid=2)
    text = " ".join(printed(changed(loose, unearned=everything)).split())
    assert "It pays every stub, and everything on impossible tests: does it run the tests at all" in text


def test_a_channel_whose_cheats_the_tests_accept_as_well_is_named_beside_no(loose):
    """Weak tests are told apart from a grader that can be cheated."""
    said = answer(loose, **unpaid(loose, open_channels=("report",)))
    assert said == "no: what 1 of 1 channel tried pays for (report), the problems' own tests do not refuse either"


def test_nothing_sent_is_nothing_measured(loose):
    empty = words.MeasuredValue(value=None, low=None, high=None)
    pay = replace(unpaid(loose)["unearned"], tried=0, impossible_tried=0, by_kind={})
    nothing = {
        "shares": (),
        "fpr": empty,
        "j": empty,
        "ppv": {},
        "channels": (),
        "open_channels": (),
        "unearned": pay,
    }
    text = printed(changed(loose, **nothing, j_adversarial=None, forgeable=None, best_cheat=""))
    assert "J = not measured" in text
    assert "no program that solves nothing was sent" in text


def test_without_an_interval_of_j_nothing_is_said_of_where_it_lies(loose):
    measure = loose.summary.measures[0]
    alone = replace(measure, forgeable=False, j=replace(measure.j, low=None, high=None))
    assert words.stands_for(alone, 0.6).startswith("J has no interval here")


def test_the_gravest_remark_comes_first(loose):
    measure = loose.summary.measures[0]
    quiet = replace(measure, flips=replace(measure.flips, flips=0))
    grave = {
        "channels": (
            tuple(replace(one, open=False, stays=1) for one in measure.channels),
            "a cheat stays in it and changes later verdicts: report, exit-status",
        ),
        "overlooks": (("accepts every program that raises",), "accepts every program that raises"),
        "unearned": (
            replace(measure.unearned, loose=2, natural=7),
            "accepts 2 of 7 wrong programs that the problems' own tests refuse",
        ),
        "flips": (measure.flips, "unsteady: 5.0 % [0.0, 20.0] of verdicts"),
        "forms": (
            {"python": (3, 3), "py": (0, 3), "no fence": (1, 3)},
            "refuses right programs in 1 of 3 forms of a reply: py",
        ),
        "pay": (
            {"none": 0.0, "half": 0.5, "all but one": 0.5, "all": 1.0},
            "pays in part; mean pay by tests passed: none 0, half 0.5, all but one 0.5, all 1",
        ),
    }
    quiet = replace(quiet, pays_in_part=True)
    fields = {name: value for name, (value, _) in grave.items()}
    for name, (_, said) in grave.items():
        assert words.remarks(replace(quiet, **fields))[0].startswith(said)
        del fields[name]
    whole = {"none": 0.0, "half": 0.0, "all but one": 0.0, "all": 1.0}
    assert words.remarks(replace(quiet, pay=whole, pays_in_part=False))[0].startswith("mean pay by tests passed")


def test_weak_tests_have_a_line_of_their_own(loose):
    measure = loose.summary.measures[0]
    weak = replace(measure, unearned=replace(measure.unearned, weak=2, weak_problems=1))
    said = "weak tests: 2 programs that solve nothing pass the tests of 1 problem under strict as well"
    assert said in words.remarks(weak)
    assert words.weak_tests(measure) == ""


# -------------------------------------------------------------------------------------------- exports


def test_a_spreadsheet_reads_back_the_summary(tmp_path):
    one = material()
    paths = {path.stem: path for path in write_tables(one, "csv", tmp_path / "tables")}
    assert set(paths) == {
        *("graders", "classes", "channels", "operators", "problems"),
        *("survivors", "refused", "impossible", "flaky", "findings"),
    }
    read = list(csv.DictReader(io.StringIO(paths["classes"].read_text())))
    shares = [(measure.grader, share) for measure in one.summary.measures for share in measure.shares]
    assert len(read) == len(shares)
    for row, (grader, share) in zip(read, shares, strict=True):
        assert (row["grader"], row["class"]) == (grader, words.NAMES[share.kind])
        assert int(row["accepted"]) == share.accepted and int(row["of"]) == share.probes
        assert float(row["rate"]) == share.value and float(row["rate low"]) == share.low


@pytest.mark.parametrize(("file_format", "ending"), [("markdown", ".md"), ("latex", ".tex")])
def test_tables_for_papers(tmp_path, file_format, ending):
    paths = write_tables(material(), file_format, tmp_path)
    graders = next(path for path in paths if path.name == f"graders{ending}").read_text()
    shown = "83.3 % [78.3, 88.3]" if file_format == "markdown" else r"83.3 \% [78.3, 88.3]"
    assert shown in graders
    assert "yes, 4 of 12" in graders
    assert all("loose@1" in path.read_text() for path in paths if path.stem != "methods")


def test_no_such_format(tmp_path):
    with pytest.raises(UnknownName, match="markdown"):
        write_tables(material(), "word", tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_tables_without_rows_are_left_out(loose):
    bare = AssayMaterial(summary=changed(loose, channels=(), operators={}, per_problem=()).summary, folder="x")
    assert [table.slug for table in tables(assay_document(bare).sections)] == ["graders", "classes"]


def test_files_hold_the_programs_that_the_page_shows_with_their_evidence(tmp_path):
    one = material()
    write_tables(one, "csv", tmp_path)

    def read(name):
        return list(csv.DictReader(io.StringIO((tmp_path / f"{name}.csv").read_text())))

    assert [row["probe"] for row in read("survivors")] == [erred.probe.id for erred in one.survivors]
    for row, erred in zip(read("survivors"), one.survivors, strict=True):
        witness = erred.probe.witness
        assert (row["shown by"], row["expected"], row["given"]) == (witness.call, witness.expected, witness.got)
    assert [row["what it said"] for row in read("refused")] == ["loose@1: os is not <b>allowed</b>"]
    assert [row["what was found"] for row in read("findings")] == [each.sentence for each in FINDINGS]
