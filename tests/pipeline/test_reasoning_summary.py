"""From stored verdicts to the metrics of execution reasoning, against a second computation that is as naive as
can be: loops over the values themselves, no shared code."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from truegrade.benchmarks import load_benchmark
from truegrade.grading.marks import CHOSE_A, CHOSE_B, CHOSE_MUTANT, CHOSE_ORIGINAL, REVERTED, TYPES_DIFFER
from truegrade.pipeline.reasoning_summary import questions, reasoning
from truegrade.pipeline.verdicts import verdict_table
from truegrade.records import ChoiceTask, OutputTask, Pairing, Problem, Reason, Verdict

VALUES = [0, 1, 2, 2.0, True, False]
SILENT = None
"""A reply without an answer."""


def problem(name: str, item: int, task: OutputTask | ChoiceTask) -> Problem:
    return Problem(id=name, benchmark="b", dataset_sha256="d" * 64, cluster=f"q{item % 2}", task=task)


def verdict(name: str, sample: int, passed: bool, answered: bool, marks: tuple[str, ...]) -> Verdict:
    wrong = Reason.WRONG_ANSWER if answered else Reason.NO_ANSWER
    return Verdict(
        benchmark="b",
        dataset_sha256="d" * 64,
        problem_id=name,
        sample=sample,
        config_sha256="",
        completion_sha256="",
        profile="strict@6",
        passed=passed,
        reason=Reason.PASSED if passed else wrong,
        marks=marks,
    )


def summary(problems: list[Problem], verdicts: list[Verdict]):
    outcomes = verdict_table(verdicts, {p.id for p in problems}, 99)
    return reasoning(questions(problems), outcomes)


def mean(values: list[float]) -> float | None:
    return sum(values) / len(values) if values else None


# ------------------------------------------------------------------------------------------------ prediction

case_st = st.fixed_dictionaries({"original": st.sampled_from(VALUES), "mutant": st.sampled_from(VALUES)})
items_st = st.lists(st.lists(case_st, min_size=1, max_size=3), min_size=1, max_size=4)
SHOWN = (("original", "mutant"), ("mutant", "original"))


def said_strategy(items: list[list[dict[str, Any]]], n: int) -> st.SearchStrategy[dict[Any, list[Any]]]:
    """A prediction for every (item, case, program, sample); None is a reply without an answer."""
    places = [(i, c, s) for i, cases in enumerate(items) for c in range(len(cases)) for s, _ in SHOWN]
    samples = st.lists(st.sampled_from([*VALUES, SILENT]), min_size=n, max_size=n)
    return st.tuples(*[samples] * len(places)).map(lambda rows: dict(zip(places, rows, strict=True)))


worlds = st.tuples(items_st, st.integers(1, 3)).flatmap(
    lambda drawn: st.tuples(st.just(drawn[0]), said_strategy(drawn[0], drawn[1]))
)


def prediction_run(items: list[Any], said: dict[Any, list[Any]]) -> tuple[list[Problem], list[Verdict]]:
    problems, verdicts = [], []
    for i, cases in enumerate(items):
        for c, case in enumerate(cases):
            for shown, other in SHOWN:
                name = f"{i}/case{c}/{shown}"
                pairing = Pairing(item=str(i), case=c, shown=shown, other=repr(case[other]), mutation="number")
                task = OutputTask(
                    program="", function="f", arguments="", expected=repr(case[shown]), pairing=pairing
                )
                problems.append(problem(name, i, task))
                for sample, value in enumerate(said[i, c, shown]):
                    answered = value is not SILENT
                    right = answered and value == case[shown]
                    marks = (REVERTED,) if answered and value == case[other] else ()
                    if right and type(value) is not type(case[shown]):
                        marks += (TYPES_DIFFER,)
                    verdicts.append(verdict(name, sample, right, answered, marks))
    return problems, verdicts


def naive_prediction(items: list[Any], said: dict[Any, list[Any]]) -> dict[tuple[str, str, str], float | None]:
    """Every metric by (aggregation, weighting, name), from the values themselves."""
    found: dict[tuple[str, str, str], float | None] = {}
    for shown, other in SHOWN:
        o = "O" if shown == "original" else "M"
        right = {
            (i, c): [v is not None and v == items[i][c][shown] for v in values]
            for (i, c, s), values in said.items()
            if s == shown
        }
        back = {
            (i, c): [v is not None and v == items[i][c][other] for v in values]
            for (i, c, s), values in said.items()
            if s == shown
        }

        def differs(i: int, c: int) -> bool:
            return items[i][c]["original"] != items[i][c]["mutant"]

        def boolean(i: int, c: int) -> bool:
            return any(value is True or value is False for value in items[i][c].values())

        kept = {key: row for key, row in back.items() if differs(*key) and not boolean(*key)}
        joined, joined_back = {}, {}
        for i, cases in enumerate(items):
            joined[i] = [all(row) for row in zip(*[right[i, c] for c in range(len(cases))], strict=True)]
            if any(differs(i, c) for c in range(len(cases))) and not any(boolean(i, c) for c in range(len(cases))):
                joined_back[i] = [all(row) for row in zip(*[back[i, c] for c in range(len(cases))], strict=True)]
        for name, unit, rows in (
            (f"{o}C", "per_case", right),
            (f"{o}R", "per_case", kept),
            (f"{o}C", "all_cases", joined),
            (f"{o}R", "all_cases", joined_back),
        ):
            found[unit, "mean", name] = mean([sum(row) / len(row) for row in rows.values()])
            found[unit, "micro", name] = mean([float(value) for row in rows.values() for value in row])
    return found


@settings(derandomize=True, deadline=None, max_examples=120)
@given(worlds)
def test_prediction_equals_brute_force(world) -> None:
    items, said = world
    result = summary(*prediction_run(items, said)).prediction
    expected = naive_prediction(items, said)
    if all(len(cases) == 1 for cases in items):
        assert {table.cases for table in result.tables} == {"per_case"}
    for table in result.tables:
        got = {e.metric: e.value for e in table.estimates}
        for name in ("OC", "MC", "OR", "MR"):
            wanted = expected[table.cases, table.weighting, name]
            assert got.get(name) == (None if wanted is None else pytest.approx(wanted)), (table.cases, name)
    answered = [
        v == items[i][c]["mutant"]
        for (i, c, s), row in said.items()
        if s == "mutant"
        for v in row
        if v is not None
    ]
    assert any(e.metric == "MC" for e in result.given_answer) == bool(answered)
    gap = next(d for d in result.differences if d.metric == "MC - OC")
    assert gap.difference == pytest.approx(
        expected["per_case", "mean", "MC"] - expected["per_case", "mean", "OC"], abs=1e-12
    )
    typed = {e.metric: e.value for e in result.modes["strict_typed"]}
    of_type = [
        mean([type(v) is type(items[i][c][s]) and v == items[i][c][s] for v in row])
        for (i, c, s), row in said.items()
        if s == "original"
    ]
    assert typed["OC"] == pytest.approx(mean(of_type))


# ---------------------------------------------------------------------------------------------------- choice

pick_st = st.tuples(st.sampled_from(["A", "B", None]), st.sampled_from([*VALUES, SILENT]))
choice_st = st.lists(
    st.fixed_dictionaries(
        {
            "original": st.sampled_from(VALUES),
            "mutant": st.sampled_from(VALUES),
            "AB": st.lists(pick_st, max_size=3),
            "BA": st.lists(pick_st, max_size=3),
        }
    ),
    min_size=1,
    max_size=6,
)
LETTERS = {"AB": {"A": "original", "B": "mutant"}, "BA": {"A": "mutant", "B": "original"}}


def choice_run(pairs: list[dict[str, Any]]) -> tuple[list[Problem], list[Verdict]]:
    problems, verdicts = [], []
    for (i, pair), order in product(enumerate(pairs), LETTERS):
        of = LETTERS[order]
        name = f"{i}~{order}"
        task = ChoiceTask(
            programs=("", ""),
            function="f",
            arguments="",
            expected=(repr(pair[of["A"]]), repr(pair[of["B"]])),
            original="A" if order == "AB" else "B",
            item=str(i),
            case=0,
        )
        problems.append(problem(name, i, task))
        for sample, (letter, value) in enumerate(pair[order]):
            marks: tuple[str, ...] = ()
            passed = False
            if letter is not None:
                chosen = of[letter]
                other = "mutant" if chosen == "original" else "original"
                marks = (
                    CHOSE_ORIGINAL if chosen == "original" else CHOSE_MUTANT,
                    CHOSE_A if letter == "A" else CHOSE_B,
                )
                passed = value is not None and value == pair[chosen]
                if value is not None and value == pair[other]:
                    marks += (REVERTED,)
            verdicts.append(verdict(name, sample, passed, letter is not None and value is not None, marks))
    return problems, verdicts


def valid_picks(pairs: list[dict[str, Any]]) -> Iterator[tuple[dict[str, Any], str, str, Any]]:
    for pair in pairs:
        for order in ("AB", "BA"):
            for letter, value in pair[order]:
                if letter is not None:
                    yield pair, LETTERS[order][letter], letter, value


@settings(derandomize=True, deadline=None, max_examples=120)
@given(choice_st)
def test_choice_equals_brute_force(pairs) -> None:
    result = summary(*choice_run(pairs))
    picks = [*valid_picks(pairs)]
    if not any(pair["AB"] or pair["BA"] for pair in pairs):
        assert result is None
        return
    assert result.choice.valid == len(picks)
    micro = {e.metric: e.value for e in result.choice.tables[1].estimates}
    wanted = {"preference": mean([chosen == "original" for _, chosen, _, _ in picks])}
    for kind, other, o in (("original", "mutant", "O"), ("mutant", "original", "M")):
        of = [(pair, value) for pair, chosen, _, value in picks if chosen == kind]
        wanted[f"{o}C"] = mean([value is not None and value == pair[kind] for pair, value in of])
        wanted[f"{o}R"] = mean(
            [
                value is not None and value == pair[other]
                for pair, value in of
                if pair["original"] != pair["mutant"]
                and not isinstance(pair["original"], bool)
                and not isinstance(pair["mutant"], bool)
            ]
        )
    for name, value in wanted.items():
        assert micro.get(name) == (None if value is None else pytest.approx(value)), name
    rows = [
        [(one[0], two[0]) for one, two in zip(pair["AB"], pair["BA"], strict=False) if one[0] and two[0]]
        for pair in pairs
    ]
    order = {e.metric: e.value for e in result.choice.order}
    for name, letters in (
        ("same_program", [("A", "B"), ("B", "A")]),
        ("always_A", [("A", "A")]),
        ("always_B", [("B", "B")]),
    ):
        value = mean([mean([pair in letters for pair in row]) for row in rows if row])
        assert order.get(name) == (None if value is None else pytest.approx(value)), name


# ------------------------------------------------------------------------------------------------- the rest


def test_programs_outside_a_pairing_are_originals() -> None:
    task = OutputTask(program="", function="f", arguments="", expected="1.0")
    result = summary(
        [problem("x", 0, task)],
        [verdict("x", 0, True, True, (TYPES_DIFFER,)), verdict("x", 1, False, False, ())],
    ).prediction
    assert {name: found[0].value for name, found in result.modes.items()} == {
        "python_eq": 0.5,
        "strict_typed": 0.0,
        "repr_exact": 0.0,
    }
    assert result.given_answer[0].value == 1.0
    assert [e.metric for e in result.tables[0].estimates] == ["OC"]


def test_the_cases_of_a_program_without_a_mutant_are_one_item(tmp_path: Path) -> None:
    """Two programs, one right on both calls, one on one of them and without a mutant: 66.7 % before, not 50."""
    rows = [
        {"mutated_code": "def f(x):\n    return x - 1", "mutated_output": ["0", "1"]},
        {},
    ]
    shared = {
        "function_name": "f",
        "code": "def f(x):\n    return x + 1",
        "input": ["f(1)", "f(2)"],
        "output": ["2", "3"],
    }
    path = tmp_path / "two.jsonl"
    path.write_text("\n".join(json.dumps({"id": i, **shared, **row}) for i, row in enumerate(rows)))
    problems = list(load_benchmark("execution-prediction", path, {"programs": "original"}).problems)
    verdicts = [verdict(p.id, 0, p.id != "1/case1", True, ()) for p in problems]
    together = [t for t in summary(problems, verdicts).prediction.tables if t.cases == "all_cases"]
    assert [(t.estimates[0].value, t.estimates[0].tasks) for t in together] == [(0.5, 2), (0.5, 2)]


@pytest.mark.parametrize(("values", "per_case", "all_cases"), [
    (("[True, False]", "[1]"), 10, None),
    (("[0]", "[True]"), 10, None),
    (("[]", "[True, 1]"), 10, 5),
    (("True", "[1]"), 5, None),
])  # fmt: skip
def test_a_list_of_booleans_is_boolean_where_cases_are_taken_together(
    values: tuple[str, str], per_case: int, all_cases: int | None
) -> None:
    """The two rules of akshsgaur/code-reasoning-repro@6c43fa8: its Bedrock runs leave them out, its notebooks
    do not."""
    problems = []
    for case, (value, other) in enumerate((values, ("1", "2"))):
        pairing = Pairing(item="a", case=case, shown="mutant", other=other)
        task = OutputTask(program="", function="f", arguments="", expected=value, pairing=pairing)
        problems.append(problem(f"a/{case}", 0, task))
    found = summary(problems, [verdict(p.id, s, False, True, (REVERTED,)) for p in problems for s in range(5)])
    samples = {
        table.cases: next((e.samples for e in table.estimates if e.metric == "MR"), None)
        for table in found.prediction.tables
    }
    assert samples == {"per_case": per_case, "all_cases": all_cases}


def test_equality_of_the_two_values_is_pythons_and_nan_equals_nan() -> None:
    def differs(expected: str, other: str) -> bool:
        pairing = Pairing(item="a", case=0, shown="mutant", other=other)
        task = OutputTask(program="", function="f", arguments="", expected=expected, pairing=pairing)
        return questions([problem("a", 0, task)]).programs[0].differs

    assert not differs("1", "1.0")
    assert not differs("{1, 2}", "{2, 1}")
    assert not differs("nan", "nan")
    assert differs("[1]", "(1,)")
    assert differs("<A object>", "<B object>")


@pytest.mark.slow
def test_many_verdicts_stay_small() -> None:
    problems = []
    for i in range(400):
        for shown, value, other in (("original", "1", "2"), ("mutant", "2", "1")):
            pairing = Pairing(item=str(i), case=0, shown=shown, other=other)
            task = OutputTask(program="", function="f", arguments="", expected=value, pairing=pairing)
            problems.append(problem(f"{i}/{shown}", i, task))
    ids = {p.id for p in problems}
    stored = (verdict(p.id, s, s % 3 == 0, True, (REVERTED,) * (s % 3 == 1)) for p in problems for s in range(20))
    tracemalloc.start()
    outcomes = verdict_table(stored, ids, 20)
    result = reasoning(questions(problems), outcomes, ks=(1, 5, 10))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert result.prediction.tables[0].estimates[0].samples == 8_000
    assert peak < 7.2 * 2**20, "400 bytes a verdict"
