"""Problems made impossible: their reference is refused, and accepted by the tests as they were."""

from __future__ import annotations

import base64
import json
import pickle
import zlib

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from probe_grading import judged, problems_of

from support.thorough import one_in
from truegrade.apps.assay.probes.must_fail import (
    WAYS,
    change_tests,
    changeable,
    make_impossible,
    must_fail_probes,
    other_value,
)
from truegrade.records import Case, CasesTask, ContestTask, FunctionTask, OracleTask, Problem, Reason


def problem(task):
    return Problem(id="p/1", benchmark="b", dataset_sha256="", cluster="p/1", task=task)


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary(),
    lambda inner: st.lists(inner) | st.tuples(inner, inner) | st.dictionaries(st.text(), inner),
    max_leaves=3,
)


@given(PLAIN | st.sets(st.integers()) | st.frozensets(st.text()))
def test_another_value_differs_and_is_of_the_same_type(value):
    other = other_value(value)
    assert other != value
    assert type(other) is type(value) or value is None


CHANGES = [
    ("assert f(1) == 2", "assert f(1) == 3", "2", "3"),
    ("assert f(1) == True, 'why'", "assert f(1) == False", "True", "False"),
    ("assert [1, 2] == f(1)", "assert [1, 2, 3] == f(1)", "[1, 2]", "[1, 2, 3]"),
    ("assert set(f(1)) == set((1, 2))", "assert set(f(1)) == set((1, 2, 3))", "set((1, 2))", "set((1, 2, 3))"),
    ("assert abs(f(1) - 0.5) < 1e-6", "assert abs(f(1) - 2.0) < 1e-06", "0.5", "2.0"),
    ("assert abs(f(1) - 2 / 3) < 9", "assert abs(f(1) - (2 / 3 + 1)) < 9", "2 / 3", "2 / 3 + 1"),
    ("assert math.isclose(f(1), 7, rel_tol=1)", "assert math.isclose(f(1), 15.0, rel_tol=1)", "7", "15.0"),
    ("assert f(1)", "assert not f(1)", "f(1)", "not (f(1))"),
    ("assert not f(1)", "assert f(1)", "not f(1)", "not (not f(1))"),
    ("assert f(1) == g(1)", "assert f(1) != g(1)", "f(1) == g(1)", "not (f(1) == g(1))"),
    ("a = f(1)\nassert a == 2", "a = f(1)\nassert a != 2", "a == 2", "not (a == 2)"),
    ("assert f(1) == 2\nassert f(2) == 3", "assert f(1) == 2\nassert f(2) == 4", "3", "4"),
    ("assert f(2) == 3\nassert f(1) == g(1)", "assert f(2) == 4\nassert f(1) == g(1)", "3", "4"),
    ("if a:\n    assert f(1) == 2\n    assert True", "if a:\n    assert f(1) == 3\n    assert True", "2", "3"),
]  # fmt: skip


@pytest.mark.parametrize(("tests", "changed", "expected", "now"), CHANGES)
def test_what_becomes_of_an_assertion(tests, changed, expected, now):
    change = change_tests(tests, frozenset({"f"}), "one-off")
    assert (change.tests, change.expected, change.now) == (changed, expected, now)
    doubled = change_tests(tests, frozenset({"f"}), "conflicting")
    assert f"{doubled.assertion}; {doubled.instead}" in doubled.tests
    assert doubled.tests.count("assert") == tests.count("assert") + 1


@pytest.mark.parametrize("tests", ["", "f(1)", "assert True", "assert ("])
def test_tests_without_an_assertion_cannot_be_changed(tests):
    assert change_tests(tests, frozenset({"f"}), "one-off") is None


def test_tests_that_a_prompt_shows_are_changed_alike():
    task = FunctionTask(prompt="", entry_point="f", tests="assert f(1)==2\nassert f(2)==3", reference="",
                        shown_tests=("assert f(1)==2", "assert f(2)==3"))  # fmt: skip
    assert make_impossible(problem(task), "one-off").problem.task.shown_tests == (
        "assert f(1)==2",
        "assert f(2) == 4",
    )
    assert make_impossible(problem(task), "conflicting").problem.task.shown_tests == (
        *task.shown_tests,
        "assert f(2) == 4",
    )


def test_each_assertion_has_its_turn():
    tests = "assert f(1) == 2\nassert f(2) == 3\nassert f(3) == 4\nassert f(4)"
    changed = [change_tests(tests, frozenset({"f"}), "one-off", at).assertion for at in range(3)]
    assert changed == ["assert f(1) == 2", "assert f(2) == 3", "assert f(3) == 4"]
    task = FunctionTask(prompt="", entry_point="f", tests=tests, reference="def f(n): return n + 1")
    sent = [(probe.tests, probe.at) for probe, _ in must_fail_probes(problem(task), 4)]
    assert sent == [("one-off", 0), ("one-off", 1), ("one-off", 2), ("conflicting", 1)]


def test_of_cases_one_that_runs_is_changed():
    cases = tuple(Case(arguments=(number,), expected=number) for number in range(3))
    task = CasesTask(entry_point="f", buggy="", reference="", cases=cases, skipped=(2,))
    one_off, conflicting = (make_impossible(problem(task), how).problem for how in WAYS)
    assert (one_off.id, conflicting.id) == ("p/1#one-off", "p/1#conflicting")
    assert [case.expected for case in one_off.task.cases] == [0, 2, 2]
    assert conflicting.task.cases == (*cases, Case(arguments=(1,), expected=2))
    assert make_impossible(problem(msgspec.structs.replace(task, skipped=(0, 1, 2))), "one-off") is None


def test_contest_tests_are_changed_however_they_are_stored():
    def contest(private, function=None):
        tests = json.dumps([{"input": "1\n", "output": "2\n", "testtype": "stdin"}])
        return problem(
            ContestTask(title="", question="", function=function, public_tests=tests, private_tests=private,
                        reference="print(2)"))  # fmt: skip

    def changed(private, how, function=None):
        task = make_impossible(contest(private, function), how).problem.task
        assert task.private_tests == "[]"
        return [(test["input"], test["output"]) for test in json.loads(task.public_tests)]

    private = json.dumps([{"input": "3", "output": "[4]", "testtype": "functional"}])
    packed = base64.b64encode(zlib.compress(pickle.dumps(private))).decode()
    for stored in (private, packed):
        assert changed(stored, "one-off", "f") == [("1\n", "2\n"), ("3", "[4, 5]")]
        assert changed(stored, "conflicting") == [("1\n", "2\n"), ("3", "[4]"), ("3", "[4]\nimpossible\n")]
    other = json.dumps([{"input": "3", "output": "[4]", "or_output": "[5]"}])
    task = make_impossible(contest(other, "f"), "one-off").problem.task
    assert [test.get("or_output") for test in json.loads(task.public_tests)] == [None, None]
    unreadable = contest("eJxLTEo=")
    assert make_impossible(unreadable, "one-off") is None and must_fail_probes(unreadable) == []
    unknown = msgspec.structs.replace(contest(private).task, reference=msgspec.UNSET)
    assert must_fail_probes(problem(unknown)) == []


def test_a_problem_graded_by_its_reference_cannot_be_made_impossible():
    task = OracleTask(prompt="", entry_point="f", reference="def f(a): return a", base_inputs=((1,),))
    assert must_fail_probes(problem(task)) == []


def problems_to_change(name, request, **asked):
    if name == "micro-repair":  # drawing all takes seconds
        return problems_of(name, size="5")
    return problems_of(name, request.getfixturevalue("data_dir"), **asked)


@pytest.mark.parametrize(
    ("name", "every"), one_in(2, [("micro-repair", 1), ("humaneval", 25), ("mbpp", 150), ("quixbugs", 7)])
)
def test_strict_refuses_a_reference_only_where_the_tests_are_impossible(name, every, request):
    sent = []
    for each in problems_to_change(name, request, every=every):
        probes = must_fail_probes(each)
        assert len(probes) == min(4, changeable(each)) + 1
        assert [probe.tests for probe, _ in probes[-2:]] == list(WAYS)
        assert len({changed.id for _, changed in probes}) == len(probes)
        for probe, changed in probes:
            assert (probe.kind, probe.label, probe.problem_id) == ("must-fail", "wrong", each.id)
            assert probe.witness.source == "by construction" and probe.witness.expected != probe.witness.got
            assert changed.id == f"{each.id}#{probe.tests}{probe.at + 1}"
            assert make_impossible(each, probe.tests, probe.at).problem == changed
            sent += [(probe.code, changed), (probe.code, each)]
    reasons = [judgement.reason for judgement in judged(sent)]
    assert set(reasons[::2]) == {Reason.WRONG_ANSWER} and set(reasons[1::2]) == {Reason.PASSED}


@pytest.mark.slow
@pytest.mark.thorough
@pytest.mark.parametrize("name", ["humaneval", "mbpp-sanitized", "quixbugs"])
def test_strict_refuses_every_reference_where_the_tests_are_impossible(name, request):
    problems = problems_to_change(name, request)[1::8]
    sent = [(probe.code, changed) for each in problems for probe, changed in must_fail_probes(each)]
    assert len(sent) > 3 * len(problems)
    assert {judgement.reason for judgement in judged(sent)} == {Reason.WRONG_ANSWER}
