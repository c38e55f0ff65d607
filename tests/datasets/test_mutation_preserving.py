"""Rewritings change the text and never the meaning: on random inputs, over functions written to break them."""

from __future__ import annotations

import ast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mutation_corpus import quixbugs

from truegrade.builders.mutation.mutants import normalised
from truegrade.builders.mutation.preserving import REWRITINGS

PROGRAMS = {
    "counting": """
        def f(xs, n):
            hits = 0
            for i in range(len(xs)):
                if xs[i] > n and (not (xs[i] == 3 or i < 1)):
                    hits += 1
                    continue
                if xs[i] < -5:
                    break
                i = 100
            else:
                hits += 1000
            return hits, i if xs else None
    """,
    "backwards": """
        def f(xs, n):
            seen = []
            for i in range(len(xs) - 1, -1, -2):
                seen.append((i, xs[i]))
            for i in range(n, 10, 3):
                for j in range(i):
                    if j >= 2:
                        break
                    seen.append(j)
            return seen
    """,
    "shared list": """
        def f(xs, n):
            alias = xs
            xs += [n]
            total = 0
            total += n
            total *= 2
            text = ''
            text += str(n)
            table = {}
            table['k'] = 1
            table['k'] += 2
            return alias, xs, total, text, table
    """,
    "closures": """
        limit = 2
        def f(xs, n):
            count = 0
            def step(value, *, by=1):
                nonlocal count
                count += by
                return value * limit + count
            steps = [step(x, by=n) for x in xs]
            return steps, (lambda value, n=3: value - n)(n), {x: n for x in xs}, sum(x for x in xs)
    """,
    "order of effects": """
        from collections import defaultdict
        def f(xs, n):
            seen = []
            def say(value):
                seen.append(value)
                return value
            table = defaultdict(int)
            same = table[n] == table[len(xs)]
            more = say(n) < say(len(xs))
            both = say(1) and say(0) or say(n)
            while not (say(n) > 3 and say(len(xs)) > 2):
                n = n + 1
                xs = xs + [n]
            return seen, same, more, both, dict(table)
    """,
    "own range": """
        def range(n):
            return [n, n]
        def f(xs, n):
            total = []
            for i in range(n):
                total.append(i)
            return total
    """,
    "exceptions and patterns": """
        def f(xs, n):
            try:
                value = xs[n]
            except IndexError as error:
                value = str(type(error).__name__)
            match [value, n]:
                case [int() as first, *rest] if first > 0:
                    return first, rest
                case other:
                    return other
    """,
    "classes": """
        class Box:
            size = 1
            def __init__(self, size):
                self.size = size
            def grow(self, by):
                self.size += 1
                return self.size + by
        def f(xs, n):
            box = Box(size=n)
            return [box.grow(by=x) for x in xs], Box.size
    """,
    "names as data": """
        def f(xs, n):
            total = 0
            for i in range(3):
                total += i
            return sorted(locals())
    """,
    "starred": """
        def g(a, b=0, **more):
            return a, b, more
        def f(xs, n):
            arguments = {'a': n, 'b': 2, 'c': 3}
            first, *others = [n, *xs]
            return g(**arguments), first, others
    """,
    "walrus and chain": """
        def f(xs, n):
            found = [y for x in xs if (y := x + n) > 0 and 0 < y < 9]
            while (n := n - 1) > 0 and len(found) < 8:
                found.append(n)
            else:
                found.append('end')
            return found
    """,
}


def source(name):
    lines = PROGRAMS[name].strip("\n").splitlines()
    return normalised("\n".join(line[8:] for line in lines))


def rewritten(rewriting, code):
    return ast.unparse(ast.fix_missing_locations(REWRITINGS[rewriting](ast.parse(code))))


def run(code, xs, n):
    scope = {}
    exec(compile(code, "<test>", "exec"), scope)
    return repr(scope["f"](list(xs), n))


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("rewriting", REWRITINGS)
def test_a_rewriting_keeps_the_meaning(program, rewriting):
    code = source(program)
    other = rewritten(rewriting, code)

    @settings(max_examples=12)
    @given(st.lists(st.integers(-8, 8), max_size=6), st.integers(-3, 12))
    def agree(xs, n):
        assert run(other, xs, n) == run(code, xs, n)

    if other != code:
        agree()


CHANGED = {
    "rename": {"counting", "backwards", "shared list", "closures", "classes", "walrus and chain"},
    "dead-code": {"counting", "own range", "classes"},
    "loops": {"counting", "backwards"},
    "de-morgan": {"counting", "order of effects"},
    "swap": {"counting", "walrus and chain"},
    "augmented": {"counting", "shared list", "classes"},
}


@pytest.mark.parametrize("rewriting", REWRITINGS)
def test_a_rewriting_changes_something(rewriting):
    changed = {name for name in PROGRAMS if rewritten(rewriting, source(name)) != source(name)}
    assert changed >= CHANGED[rewriting]
    assert "names as data" not in changed or rewriting in {"de-morgan", "swap", "augmented"}


def test_what_must_not_be_touched():
    assert rewritten("loops", source("own range")) == source("own range")
    shared = rewritten("augmented", source("shared list"))
    assert "xs += [n]" in shared and "total = total + n" in shared and "table['k'] = table['k'] + 2" in shared
    effects = rewritten("swap", source("order of effects"))
    assert "table[n] == table[len(xs)]" in effects and "say(n) < say(len(xs))" in effects
    closures = rewritten("rename", source("closures"))
    assert "by=" in closures and "limit" in closures and "def f(v0" in closures
    assert "def g(a, b=0, **more)" in rewritten("rename", source("starred"))
    assert "size=n" in source("classes") and "def __init__(v" in rewritten("rename", source("classes"))


def test_a_taken_name_is_not_given_twice():
    loop = "for i in range(2):\n        v0 += i"
    code = f"def f(v0, x):\n    spare = at = end = x\n    {loop}\n    return (v0, spare, at, end)"
    for rewriting in REWRITINGS:
        scope, other = {}, {}
        exec(code, scope)
        exec(rewritten(rewriting, code), other)
        assert other["f"](1, 2) == scope["f"](1, 2) == (2, 2, 2, 2)


@pytest.mark.parametrize("rewriting", REWRITINGS)
def test_rewritings_of_quixbugs_give_what_the_originals_give(data_dir, rewriting):
    compared = 0
    for name, item in quixbugs(data_dir).items():
        if item["test_kind"] != "json" or name in {"knapsack", "levenshtein"}:
            continue
        code = normalised(item["correct"])
        other = rewritten(rewriting, code)
        for inputs, _ in item["tests"][:3]:
            results = []
            for text in (code, other):
                scope = {}
                exec(text, scope)
                result = scope[name](*ast.literal_eval(repr(inputs)))
                results.append(repr(result if not hasattr(result, "__next__") else list(result)))
            assert results[0] == results[1], name
            compared += other != code
    assert compared > 10
