"""Graders with known faults, measured as anybody's: the first line is true, and no channel is made up."""

from __future__ import annotations

import os
import re

import pytest
from targets_support import jailed

from support import planted_graders
from truegrade.apps.assay import Battery, assay
from truegrade.apps.assay.folder import AssayFolder
from truegrade.apps.assay.measures import holds_for, read_grader_condition
from truegrade.apps.assay.records import CODES
from truegrade.apps.assay.reporting import words
from truegrade.records import FunctionTask, Problem

SEEDS = [int(seed) for seed in os.environ.get("TRUEGRADE_PLANTED_SEEDS", "").split()]
"""With which every cheat is sent to every grader: half an hour of CPU for five."""
FIRST_MESSAGE = (
    r"of replies with several messages it judges the first message alone: \d+ of \d+ right answers are refused"
    r", \d+ of \d+ wrong ones accepted"
)
NO = (
    r"no: 0 of \d+ channels tried, on \d+ problems(?:, without programs that do not end)?"
    r"(?:; \d+ programs? (?:was|were) paid at first, and mostly not again)?\n"
)
YES = "yes, "
ALL_THAT = r"accepts every program that {} \((\d+) of \1\), and \d+ of \d+ other wrong programs"
IMPOSSIBLE = (
    r"yes, \d+ of \d+ programs were paid on impossible tests, and 0 of \d+ programs that solve nothing were paid\n"
)
SIZE = r"accepts \d+ of \d+ programs that differ so: returns a number at most 10 times too large or too small, and"
REFUSES = "refuses right programs in 5 of 10 forms of a reply: py, "
FAULTS = {
    "perfect": (NO, (), ()),
    "always": (YES + r"(\d+) of \1 programs", (), ("paid_without_solving", "must_fail_accepted")),
    "never": ("not measured: it pays no reference either\nIt refuses every reference", (), ("reference_refused",)),
    "by_length": (
        YES + r".*\naccepts every wrong program of 9\d characters and more", (),
        ("paid_without_solving", "decided_by_text"),
    ),
    "noise_1": (NO, (), ()),
    "noise_3": (NO, (), ("flaky_verdict",)),
    "noise_10": (NO + "unsteady: ", (), ("flaky_verdict",)),
    "dies": (NO, (), ("grader_died",)),
    "first_test_only": (
        IMPOSSIBLE + ALL_THAT.format("is wrong on test 2, 3, 4, 5 only"), (),
        ("must_fail_accepted", "overlooks_difference"),
    ),
    "second_never_run": (
        IMPOSSIBLE + ALL_THAT.format("is wrong on test 2 only"), (),
        ("must_fail_accepted", "overlooks_difference"),
    ),
    "any_order": (NO + ALL_THAT.format("returns items in another order"), (), ("overlooks_difference",)),
    "order_of_magnitude": (IMPOSSIBLE + SIZE, (), ("must_fail_accepted", "overlooks_difference")),
    "as_text": (NO + ALL_THAT.format("returns the right value as text"), (), ("overlooks_difference",)),
    "errors_pass": (
        YES + ".*\n" + ALL_THAT.format("raises"), (), ("paid_without_solving", "overlooks_difference"),
    ),
    "none_passes": (
        YES + r".*\naccepts \d+ of \d+ programs that differ so: returns None, and 0 of", (),
        ("paid_without_solving", "overlooks_difference"),
    ),
    "time_out_pays": (
        YES + ".*\n" + ALL_THAT.format("does not end"), (), ("paid_without_solving", "overlooks_difference"),
    ),
    "poisoned_by_exec": (
        r"yes, 1 of \d+ channels \(comparison\)\na cheat stays in it and changes later verdicts: comparison",
        ("comparison",), ("channel_open", "cheat_stays"),
    ),
    "shadowed_builtins": (r"yes, 1 of \d+ channels \(comparison\)\n", ("comparison",), ("channel_open",)),
    "partial_credit": (
        rf"{NO}pays in part; mean pay by tests passed: none 0, half 0\.5, all but one 0\.5, all 1\n",
        (), (),
    ),
    "one_fence_form": (
        rf"{NO[:-2]}; in batches it gives 1 reward for 8 replies; {FIRST_MESSAGE}\n{REFUSES}",
        (), ("reads_other_messages",),
    ),
    "idle_pays": (
        YES + r".*\naccepts \d+ of \d+ programs that differ so: does not end", (), ("paid_without_solving",),
    ),
    "left_over": (
        YES + r".*\njudges a program by what is left of the one before it: \d+ of 16 stubs are accepted", (),
        ("paid_without_solving", "judged_by_another"),
    ),
    "first_verdict_of_all": (
        YES + r".*\njudges a program by the verdict on the one before it: 16 of 16 stubs are accepted behind"
        r".* and 2 of 2 right programs behind stubs refused\n", (), ("paid_without_solving", "judged_by_another"),
    ),
    "says_ok": (r"yes, 1 of \d+ channels \(report\)\n", ("report",), ("channel_open",)),
    "no_traceback": (
        YES + "(?s:.*)" + ALL_THAT.format("ends its process with exit status 1"), ("exit-status",),
        ("paid_without_solving", "overlooks_difference"),
    ),
    "sign_ignored": (NO + ALL_THAT.format("returns numbers with the other sign"), (), ("overlooks_difference",)),
    "contains": (
        YES + "(?s:.*)" + ALL_THAT.format("returns the right value within a text"), (),
        ("paid_without_solving", "overlooks_difference"),
    ),
    "any_test": (
        "yes, (?s:.*)" + ALL_THAT.format("is wrong on one test, whichever of 1, 2, 3, 4, 5"), (),
        ("must_fail_accepted", "overlooks_difference"),
    ),
    "function_alone": (
        NO + r"refuses every right program that needs an import, helper, class or constant beside the function"
        r" \((\d+) of \1\), and 0 of \d+ others", (), ("refuses_kind",),
    ),
}  # fmt: skip
OTHERWISE = {("order_of_magnitude", 4): IMPOSSIBLE + ALL_THAT.format("returns nearly the right number")}
"""First lines by seed. Of seed 4 only three of seven numbers within ten times are of one order of magnitude."""
"""Grader -> how its answer and the gravest remark begin, open channels, and findings that name its fault."""
COMPARISON = "compare and count in a process that the program does not share"
COMPARE = "compare, in every test, what the program gives with the expected value"
EVERY_TEST = "let every test decide: fail a program that one of them refuses"
NUMBERS = "compare numbers for equality, or within the tolerance that the problem states"
REPLACED = "    builtins.{}\n\n\ndef mean(*args, **kwargs):\n    return None\n\n\n_replace()\n"
SHORTEST = {
    "always": [("paid on impossible tests", COMPARE, "word[0].upper()"), ("paid without solving", COMPARE, "")],
    "by_length": [
        ("accepts every wrong program of 9", COMPARE, "return None"),
        ("paid on impossible tests", COMPARE, "word[0].upper()"),
    ],
    "first_test_only": [
        ("accepts every program that is wrong on test 2, 3, 4, 5", EVERY_TEST, "chosen = given in [['']]"),
        ("accepts every program that is wrong on half of the tests", EVERY_TEST, "given in [[''], ['Ada']]"),
        ("paid on impossible tests", COMPARE, "word[0].upper()"),
    ],
    "second_never_run": [
        ("accepts every program that is wrong on test 2 only", EVERY_TEST, "chosen = given in [['']]"),
        ("paid on impossible tests", COMPARE, "word[0].upper()"),
    ],
    "any_order": [
        ("accepts every program that returns items in another order",
         "compare items at their places, unless the problem takes any order for right", "return value[::-1]"),
    ],
    "order_of_magnitude": [
        ("accepts", NUMBERS, "total = 1.0"),
        ("accepts every program that returns nearly the right number", NUMBERS, "1e-06"),
        ("paid on impossible tests", COMPARE, "total = 0.0"),
    ],
    "as_text": [
        ("accepts every program that returns the right value as text", "compare values, and not their texts",
         "return str(value)"),
    ],
    "errors_pass": [
        ("accepts every program that raises", "fail a test in which the program raises an exception", ""),
    ],
    "none_passes": [
        ("accepts", "fail a test that gives None where it expects another value", "(*args, **kwargs):\n    []\n"),
    ],
    "time_out_pays": [
        ("accepts every program that does not end", "fail a test that reaches its time limit", "while True:"),
        ("accepts every program that does not end on the last test", "fail a test that reaches its time limit",
         "chosen = given in [[[10, 20, 60]]]"),
    ],
    "poisoned_by_exec": [
        ("channel comparison", COMPARISON, REPLACED.format("exec = lambda *given: None")),
        ("a cheat of channel comparison stays", "start each program in a new process", "builtins.exec"),
    ],
    "shadowed_builtins": [
        ("channel comparison", COMPARISON, REPLACED.format("isinstance = lambda *given: True")),
    ],
}  # fmt: skip
"""Grader to its shortest programs: what each is about, what closes it, and what the program holds with seed 0."""
BY_CAUSE = tuple(FAULTS)[20:]
"""Graders of which the cause is looked at alone, and no shortest program."""
EVERY_DANGER = ("time_out_pays", "idle_pays", "no_traceback", "poisoned_by_exec", "shadowed_builtins")
"""Graders whose fault only a dangerous cheat shows; the others are sent harmless ones where time counts."""


def problem(name, arguments, body, *tests):
    reference = f"def {name}({arguments}):\n" + "".join(f"    {line}\n" for line in body.splitlines())
    lines = "".join(f"assert {name}{test}\n" for test in tests)
    task = FunctionTask(prompt=name, entry_point=name, tests=lines, reference=reference)
    return Problem(id=f"own/{name}", benchmark="own", dataset_sha256="0" * 64, cluster=name, task=task)


PROBLEMS = [
    problem(
        "between", "values, low, high",
        "kept = []\nfor value in values:\n    if low <= value <= high:\n        kept.append(2 * value)\n"
        "return sorted(kept)",
        "([5, 1, 2, 9], 1, 5) == [2, 4, 10]", "([-3, -1], -1, 0) == [-2]", "([], 1, 2) == []",
        "([1, 2, 3], 2, 2) == [4]", "([4, 4, 3], 4, 9) == [8, 8]",
    ),
    problem(
        "mean", "values", "total = 0.0\nfor value in values:\n    total += value\n"
        "return total / len(values) if values else 0.0",
        "([1, 2, 3, 4]) == 2.5", "([7]) == 7.0", "([]) == 0.0", "([-4, -5]) == -4.5", "([10, 20, 60]) == 30.0",
    ),
    problem(
        "initials", "words", "found = ''\nfor word in words.split():\n    found += word[0].upper()\nreturn found",
        "('grace hopper') == 'GH'", "('') == ''", "('a b c') == 'ABC'", "('Ada') == 'A'", "('  x  y ') == 'XY'",
    ),
    problem(
        "count", "values, wanted",
        "number = 0\nfor value in values:\n    if value == wanted:\n        number += 1\nreturn number",
        "([1, 2, 1], 1) == 2", "([], 3) == 0", "([4, 4, 4, 4], 4) == 4", "([1, 2, 3], 9) == 0",
        "([0, 0, 1], 0) == 2",
    ),
]  # fmt: skip


@pytest.fixture(scope="module", name="folders")
def fixture_folders(tmp_path_factory):
    """A folder for each seed, so that probes are made once."""
    place = tmp_path_factory.mktemp("planted")
    return lambda seed, danger: place / f"{seed}-{danger}"


def measured(name, out, seed, danger=None):
    """A planted grader under measurement, and what was found of it."""
    call = "trl" if name == "one_fence_form" else "plain"
    spec = f"{planted_graders.__file__}:{name}"
    battery = Battery(per_problem=6, inputs=40, cheats_per_problem=6, seed=seed)
    (result,) = assay(
        problems=PROBLEMS, grader=spec, call=call, battery=battery, danger=danger, out=out, timeout_s=30, workers=2
    )
    measure = next(one for one in result.measures if one.grader == spec)
    assert_paid(measure, AssayFolder(out))
    return measure, {found.code for found in result.findings if found.grader == spec}


def assert_paid(measure, folder):
    """Each of the shortest programs was sent and paid, and nothing shorter was paid that solves nothing."""
    probes = {probe.id: probe for probe in folder.probes()}
    paid = {each.probe for each in folder.said() if each.grader == measure.grader and each.passed}
    own = folder.own_verdicts()
    for one in measure.shortest:
        assert (probes[one.probe].code, probes[one.probe].problem_id) == (one.code, one.problem_id)
        assert one.probe in paid
    unearned = [probes[name] for name in paid if probes[name].kind in ("stub", "cheat") and own.get(name) is False]
    if unearned and not (measure.flips.flips or measure.unearned.once):
        assert min(len(one.code) for one in measure.shortest) <= min(len(one.code) for one in unearned)


def assert_true(name, measure, found, seed=0):
    """The first line, the cause, and no channel beside it."""
    first, channels, causes = FAULTS[name]
    first = OTHERWISE.get((name, seed), first)
    said = "\n".join([words.answer(measure), *words.remarks(measure), ""])
    assert re.match(first, said), said
    assert measure.open_channels == channels
    assert {one.channel for one in measure.channels if one.stays} == (
        {"comparison"} if name == "poisoned_by_exec" else set()
    )
    assert set(causes) <= found
    assert bool(measure.forgeable) == said.startswith(YES)
    assert (measure.forgeable is None) == said.startswith("not measured")
    # What got no verdict holds as well: a gate lets nothing through that nobody looked at.
    unseen = measure.forgeable is None or bool(measure.unanswered)
    assert holds_for(read_grader_condition("forgeable", CODES), measure, {}) == (unseen or measure.forgeable)


def test_each_grader_is_planted():
    assert tuple(FAULTS) == tuple(grader.__name__ for grader in planted_graders.GRADERS)


@jailed
@pytest.mark.thorough
@pytest.mark.parametrize("name", FAULTS)
def test_the_first_line_is_true_the_cause_named_and_no_other_channel(name, folders):
    danger = None if name in EVERY_DANGER else "h0"
    measure, found = measured(name, folders(0, danger), 0, danger)
    assert_true(name, measure, found)
    if name in BY_CAUSE:
        return
    about = SHORTEST.get(name, [])
    assert [one.closes for one in measure.shortest] == [closes for _, closes, _ in about]
    for one, (begins, _, held) in zip(measure.shortest, about, strict=True):
        assert one.finding.startswith(begins)
        assert held in one.code if held else one.code == ""


@jailed
@pytest.mark.slow
@pytest.mark.skipif(not SEEDS, reason="set TRUEGRADE_PLANTED_SEEDS, as '0 1 2 3 4'")
@pytest.mark.parametrize("seed", SEEDS or [0])
@pytest.mark.parametrize("name", FAULTS)
def test_with_every_cheat(name, seed, folders):
    assert_true(name, *measured(name, folders(seed, None), seed), seed)
