"""Mutants as probes: drawn by operator and site, each another program, and only of what a solver writes."""

from __future__ import annotations

import ast
from collections import Counter

import pytest
from probe_grading import judged, problems_of

from truegrade.apps.assay.probes.mutants import SECOND_ORDER, fingerprint, mutants
from truegrade.builders.mutation.operators import OPERATORS, WIDER_OPERATORS

PROGRAM = '''
import math
LIMIT = 3

def unused(a):
    return a - 1

def helper(a):
    """Adds the limit."""
    return a + LIMIT

def f(values, bound: int = 2):
    """Sums up 5 things."""
    total = 0
    for value in values:
        if value > bound and value % 2 == 0:
            total += helper(value)
    return math.floor(total * 1.5)
'''


def made(code=PROGRAM, **more):
    return mutants("p/1", code, "f", **{"seed": 0, **more})[0]


def test_equal_programs_have_one_fingerprint():
    assert fingerprint("def f(a):\n    'x'\n    pass\n    return 2 * 3") == fingerprint("def f(a):\n    return 6")
    assert fingerprint("x = 1") == fingerprint("\n\n\nx = 1")
    different = ["x = 1", "x = True", "x = 1.0", "x = 0.0", "x = -0.0", "x = (1, 2)", "x = (1, 2.0)", "y = 1"]
    different += [
        "def f(a): return a",
        "def f(b): return b",
        "def f(*, a): return a",
        "x = lambda: 1",
        "x = lambda: 2",
    ]
    different += ["if 1 in {1, 2}: x = 1", "if 1 in {1, 3}: x = 1"]
    assert len({fingerprint(code) for code in different}) == len(different)
    assert fingerprint("for a in b: pass\nbreak") is None and fingerprint("x = ") is None


def test_mutants_are_other_programs_and_the_same_at_every_call():
    probes = made()
    assert probes == made()
    assert [probe.id for probe in probes] != [probe.id for probe in made(seed=1)]
    shapes = {fingerprint(probe.code) for probe in probes}
    assert len(shapes) == len(probes) == len({probe.id for probe in probes}) == 30
    assert not {fingerprint(PROGRAM), None} & shapes
    assert {(probe.kind, probe.label, probe.witness, probe.form) for probe in probes} == {
        ("mutant", "undecided", None, "program")
    }


def test_operators_are_drawn_evenly():
    origins = Counter(probe.origin for probe in made())
    first = {name: count for name, count in origins.items() if name != SECOND_ORDER}
    assert set(first) <= {*OPERATORS, *WIDER_OPERATORS} and len(first) >= 10
    assert max(first.values()) <= 4
    few = Counter(probe.origin for probe in made(per_problem=8))
    assert len(few) == 8 and SECOND_ORDER not in few


def test_a_tenth_has_two_changes():
    probes = made()
    twice = [probe for probe in probes if probe.origin == SECOND_ORDER]
    assert len(twice) == 3
    for probe in twice:
        one, other = probe.change.split("; line ")
        before = {each.change for each in probes}
        assert {one, f"line {other}"} <= before


def test_only_what_the_entry_point_needs_is_changed():
    lines = {int(probe.change.split(":")[0].removeprefix("line ")) for probe in made(per_problem=500)}
    normal = ast.unparse(ast.parse(PROGRAM)).splitlines()
    texts = {normal[line - 1].strip() for line in lines}
    assert texts == {
        "LIMIT = 3",
        "return a + LIMIT",
        "def f(values, bound: int=2):",
        "total = 0",
        "for value in values:",
        "if value > bound and value % 2 == 0:",
        "total += helper(value)",
        "return math.floor(total * 1.5)",
    }


def test_of_a_method_its_class_is_changed_and_no_helper_that_it_leaves_alone():
    code = "def node(value):\n    return value + 1\n\nclass Solution:\n    def f(self, a):\n        return a * 2\n"
    probes, _ = mutants("p", code, "f", seed=0)
    assert any("a + 2" in probe.code for probe in probes)
    assert all("return value + 1" in probe.code for probe in probes)


def test_what_is_changed_is_told():
    changes = {
        probe.origin: probe.change for probe in made("def f(a):\n    while a > 3:\n        a -= 2\n    return a")
    }
    assert changes["one-iteration"] == "line 4: nothing -> break"
    assert changes["zero-iterations"] == "line 2: a > 3 -> False"
    assert changes["augmented"] == "line 3: a -= 2 -> a += 2"


def test_a_program_on_stdin_is_changed_everywhere():
    probes, _ = mutants("p", "import sys\nn = int(input())\nprint(n * 2)", "", seed=0)
    assert any("print(n + 2)" in probe.code for probe in probes)
    assert all("import sys" in probe.code for probe in probes)


def test_proven_equivalents_are_counted_and_left_out():
    code = "def f(a):\n    for b in a:\n        b()\n        continue\n    return None"
    probes, equivalent = mutants("p", code, "f", seed=0)
    changes = {probe.change for probe in probes}
    assert "line 3: b() -> pass" in changes
    assert not {"line 4: continue -> pass", "line 5: return None -> pass"} & changes
    assert equivalent >= 2


@pytest.mark.parametrize("code", ["def f(:", "def f():\n    return 1\n\0"])
def test_a_reference_that_is_no_program_has_none(code):
    assert mutants("p", code, "f", seed=0) == ([], 0)


def test_most_mutants_of_humaneval_are_refused_by_its_tests(data_dir):
    problems = problems_of("humaneval", data_dir, every=40)
    sent = [
        (probe.code, problem)
        for problem in problems
        for probe in mutants(problem.id, problem.task.reference, problem.task.entry_point, per_problem=6, seed=0)[
            0
        ]
    ]
    passed = [judgement.passed for judgement in judged(sent)]
    assert len(passed) >= 24 and sum(passed) < len(passed) / 2
