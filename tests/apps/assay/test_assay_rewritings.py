"""Right programs made by rule: each rewriting on its own, on inputs, and on the references of the benchmarks."""

from __future__ import annotations

import ast
from collections import Counter
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st
from probe_grading import judged, problems_of

from support.thorough import one_in
from truegrade.apps.assay.probes.right import GRADER_REWRITINGS, rewrites
from truegrade.builders.mutation.preserving import REWRITINGS

PROGRAM = '''
"""A module."""
from __future__ import annotations

def f(values, bound=2, *rest, scale=1, **more):
    """Sums."""
    total, seen = 0, []
    if bound >= 0:
        for place in range(0, len(values), 2):
            total += values[place] * scale
            last = values[place]
            seen.append(place)
    for value in values:
        if not (value > bound and value < 5):
            continue
        total += 1
    total += 10
    return total, seen, rest, sorted(more), place if seen else "none"
'''


@cache
def function_of(code):
    scope = {}
    exec(compile(code, "<rewritten>", "exec", dont_inherit=True), scope)
    return scope["f"]


def value_of(code, *arguments, **named):
    return function_of(code)(*arguments, **named)


@cache
def by_name(code=PROGRAM, entry_point="f"):
    return {probe.origin: probe.code for probe in rewrites("p", code, entry_point)}


def test_every_rewriting_applies_to_some_program():
    assert set(by_name()) == {*REWRITINGS, *GRADER_REWRITINGS}
    probes = rewrites("p", PROGRAM, "f")
    assert {(probe.kind, probe.label, probe.witness) for probe in probes} == {("right", "right", None)}
    assert len({probe.id for probe in probes}) == len(probes)


@pytest.mark.parametrize("name", one_in(3, [*REWRITINGS, *GRADER_REWRITINGS]))
@given(values=st.lists(st.integers(-9, 9), max_size=9), bound=st.integers(-2, 4))
def test_the_value_stays(name, values, bound):
    code = by_name()[name]
    assert value_of(code, values, bound, 7, scale=3, b=1) == value_of(PROGRAM, values, bound, 7, scale=3, b=1)
    assert value_of(code, values, bound=bound) == value_of(PROGRAM, values, bound=bound)


def test_what_graders_trip_over_is_there():
    made = by_name()
    assert "import os\nimport sys\nimport threading\n" in made["imports"]
    assert "pytest" in made["words"] and "exit(0)" in made["words"]
    assert made["main-guard"].endswith('if __name__ == "__main__":\n    print("f is defined")\n')
    assert "def f_helper(" in made["helper"] and "return f_helper(values, bound, *rest" in made["helper"]
    assert "class Solver:" in made["static-method"] and "@staticmethod" in made["static-method"]
    assert "LIMIT = 0\n" in made["global-constant"]
    assert "def inner(" in made["nested"] and made["nested"].count("def ") == 2
    assert "-> object" in made["type-hints"] and "typing" not in made["type-hints"]
    assert "nonlocal last, place, total" in made["recursion"]


def test_a_recursion_is_no_deeper_than_a_logarithm():
    code = "def f(n):\n    total = 0\n    for i in range(n):\n        total += i\n    return total"
    assert value_of(by_name(code)["recursion"], 50_000) == sum(range(50_000))


def test_names_by_which_a_caller_passes_arguments_stay():
    assert "def f(values, bound=2, *v" in by_name()["rename"]


@pytest.mark.parametrize(
    ("code", "absent"),
    [
        ("def f(n):\n    return 1 if n < 2 else n * f(n - 1)", {"helper", "nested", "static-method", "recursion"}),
        ("def f(n):\n    yield n", {"helper", "nested", "static-method"}),
        ("def f(n, m=[]):\n    return n", {"helper", "nested", "static-method"}),
        ("def f(n):\n    return sorted(locals())", {"helper", "nested", "static-method", "global-constant"}),
        ("def f(n):\n    return __g(n)\ndef __g(n):\n    return n", {"static-method"}),
        ("def f(n):\n    for i in range(n):\n        if i > 2:\n            return i", {"recursion"}),
        ("def f(n):\n    for i in range(n):\n        break", {"recursion"}),
        ("def f(n):\n    global m\n    for i in range(n):\n        m = i", {"recursion"}),
        ("f = lambda n: n + 1", {"helper", "nested", "static-method", "type-hints", "global-constant"}),
        ("def f(n) -> int:\n    return n", {"type-hints"}),
        ("import os, sys, threading\ndef f(n):\n    return n", {"imports"}),
        ("def f(n):\n    return f'{n}' if n else b'x'", {"global-constant"}),
    ],
)
def test_what_is_not_safe_is_left_alone(code, absent):
    assert not absent & set(by_name(code))


def test_a_program_on_stdin_prints_nothing_more():
    made = by_name("n = int(input())\nprint(n + 1)", "")
    assert set(made) == {"imports", "long", "non-ascii", "words"}
    assert all(ast.parse(code) for code in made.values())


def test_a_reference_that_is_no_program_has_none():
    assert rewrites("p", "def f(:", "f") == []


def refused(problems):
    sent = [
        (probe, problem)
        for problem in problems
        for probe in rewrites(problem.id, problem.task.reference, problem.task.entry_point)
    ]
    judgements = judged([(probe.code, problem) for probe, problem in sent])
    found = [
        (probe.problem_id, probe.origin, judgement.detail)
        for (probe, _), judgement in zip(sent, judgements, strict=True)
        if not judgement.passed
    ]
    return found, Counter(probe.origin for probe, _ in sent)


@pytest.mark.parametrize(("name", "every"), [("humaneval", 40), ("mbpp-sanitized", 100), ("quixbugs", 13)])
def test_strict_accepts_rewritten_references(name, every, data_dir):
    found, made = refused(problems_of(name, data_dir, every))
    assert found == [] and made.total() > 25


@pytest.mark.slow
@pytest.mark.thorough
@pytest.mark.parametrize(("name", "every", "least"), [("humaneval", 3, 500), ("mbpp-sanitized", 8, 500),
                                                      ("quixbugs", 10, 30)])  # fmt: skip
def test_strict_accepts_many_rewritten_references(name, every, least, data_dir):
    """All of them were accepted once, 1,766, 4,310 and 410; here a part."""
    found, made = refused(problems_of(name, data_dir)[::every])
    assert found == [] and made.total() > least
    assert name == "quixbugs" or set(made) >= {*GRADER_REWRITINGS}
