"""Stubs: constants of the right type, echoes, tables, and no program; each defines what it is asked for."""

from __future__ import annotations

import subprocess
import sys

import pytest
from probe_grading import judged, problems_of

from truegrade.apps.assay.probes.stubs import as_method, is_plain, stubs

EXAMPLES = [(([1, 2], 3), [3]), (([], 0), []), (([4], 1), [])]


def codes(*arguments):
    return {(probe.origin, probe.code): probe for probe in stubs("p/1", *arguments)}


def returned(origin, arguments, examples=EXAMPLES):
    """What each stub of an origin returns."""
    found = []
    for name, code in codes("f", "", examples):
        if name == origin:
            scope = {}
            exec(code, scope)
            found.append(scope["f"](*arguments))
    return found


def test_what_stubs_return():
    assert returned("constant", ([9], 9)) == [[]]
    assert returned("none", ([9], 9)) == [None]
    assert returned("echo", ([9], 8)) == [[9]] and returned("echo-2", ([9], 8)) == [8]
    assert returned("table", ([1, 2], 3)) == [[3]]
    assert returned("table", ([9], 9)) == [[]]  # the fallback


@pytest.mark.parametrize(
    ("outputs", "constants"),
    [
        ([True, False], [True, False]),
        ([5, 5, 7], [5, 0, 1]),
        ([2.5], [2.5, 0.0, 1.0]),
        (["a"], ["a", ""]),
        ([None, 3], [0, 1]),
        ([(1, 2)], [(1, 2), ()]),
        ([{1}], [{1}, set()]),
        ([{"a": 1}], [{"a": 1}, {}]),
    ],
)
def test_constants_have_the_type_of_the_outputs(outputs, constants):
    examples = [((number,), output) for number, output in enumerate(outputs)]
    assert repr(returned("constant", (9,), examples)) == repr(constants)


def test_a_value_that_is_no_literal_is_left_out():
    assert not is_plain(object()) and not is_plain(float("nan")) and not is_plain(float("inf"))
    assert not is_plain("x" * 20_000) and is_plain({"a": {1, 2}, "b": (1.5, None)})
    assert {origin for origin, _ in codes("f", "", [((1,), float("nan"))])} == {
        *("none", "documented", "echo", "everything", "empty", "not-implemented")
    }


def test_without_examples_the_signature_tells_type_and_number():
    made = codes("f", "from typing import List\ndef f(a, b, c=1) -> List[int]:\n    return []")
    assert {origin for origin, _ in made} == {
        "constant",
        "none",
        "documented",
        "echo",
        "echo-2",
        "everything",
        "empty",
        "not-implemented",
    }
    assert ("constant", "def f(*arguments, **named):\n    return []\n") in made
    assert {origin for origin, _ in codes("f", "def f(:")} == {
        *("none", "documented", "everything", "empty", "not-implemented")
    }


def test_a_method_is_looked_at_without_self():
    made = codes("f", "class Solution:\n    def f(self, a, b) -> bool:\n        return a == b")
    assert {origin for origin, _ in made} == {
        "constant",
        "none",
        "documented",
        "echo",
        "echo-2",
        "everything",
        "empty",
        "not-implemented",
    }


def test_a_function_becomes_a_method():
    scope = {}
    exec(as_method("def f(*arguments, **named):\n    return arguments[0]\n", "Solution", "f"), scope)
    assert scope["Solution"]().f(3, 4) == 3
    assert as_method("", "Solution", "f") == ""


def test_stubs_are_undecided_and_the_same_at_every_call():
    made = codes("f", "", EXAMPLES)
    assert list(made.values()) == stubs("p/1", "f", "", EXAMPLES)
    assert {(probe.kind, probe.label, probe.witness) for probe in made.values()} == {("stub", "undecided", None)}
    assert len({probe.id for probe in made.values()}) == len(made) == len({code for _, code in made})


def test_stubs_of_a_program_on_stdin():
    made = codes("", "", [(("1 2\n",), "3\n"), (("4 5\n",), "9\n")])
    printed = {
        (
            origin,
            subprocess.run([sys.executable, "-c", code], input="4 5\n", capture_output=True, text=True).stdout,
        )
        for origin, code in made
    }
    assert printed >= {("empty", ""), ("silent", ""), ("echo", "4 5\n"), ("table", "9\n"), ("constant", "3\n")}
    assert ("not-implemented", "") in printed


def test_strict_refuses_the_stubs_of_humaneval(data_dir):
    """All but one that writes out the constant that a problem asks for would be refused by any benchmark."""
    sent = [
        (probe.code, problem)
        for problem in problems_of("humaneval", data_dir, every=60)
        for probe in stubs(problem.id, problem.task.entry_point, problem.task.reference, [(([1],), 1)])
    ]
    assert not any(judgement.passed for judgement in judged(sent)) and len(sent) > 15
