from __future__ import annotations

import pytest

from truegrade.datasets.identity import Familiar, shape

ORIGINALS = [f"def f(a):\n    return a[1:] + [{n}]" for n in range(60)] + [
    f"def g(a):\n    return list(range(a[0])) if a[0] == {n} else [x for x in range(2, max(a))]" for n in range(60)
]
FAMILIAR = Familiar(ORIGINALS)


def lacks(code: str) -> tuple[str, ...]:
    found = shape(code)
    assert found is not None
    return FAMILIAR.lacks(found)


@pytest.mark.parametrize(("code", "unfamiliar"), [
    ("def f(b):\n    return b[1:] + [7]", ()),
    ("def f(b):\n    return b[:] + [7]", ("Slice ::",)),
    ("def f(b):\n    return b[0:] + [7]", ("Slice 0::",)),
    ("def f(b):\n    return b[1:] + [7 // 2]", ("BinOp FloorDiv",)),
    ("def f(b):\n    return b[1:] + [-7]", ("UnaryOp USub",)),
    ("def f(b):\n    return b if b[0] != 2 else list(range(max(b)))", ("Compare NotEq",)),
    ("def f(b):\n    return list(range(1, 2))", ("Call range(1, 2)",)),
    ("def f(b):\n    return list(range(2, b[0]))", ()),
    ("def f(b):\n    return b[1:] + ([1] + [7])", ()),
])  # fmt: skip
def test_syntax_that_the_originals_lack_is_named(code: str, unfamiliar: tuple[str, ...]) -> None:
    found = lacks(code)
    assert set(unfamiliar) <= set(found)
    assert bool(found) == bool(unfamiliar)


def test_what_is_nested_deeper_than_among_the_originals_is_unfamiliar() -> None:
    assert lacks("def f(b):\n    return b[1:] + [1 + 2]") == ("List",)
    assert lacks("def f(b):\n    return b[1:] + [1]") == ()


def test_rare_is_less_than_one_in_a_hundred_originals_and_never_less_than_one() -> None:
    rare = "def f(a):\n    return a // 2"
    known = shape(rare)
    assert known is not None
    assert Familiar([*ORIGINALS, rare]).lacks(known) != ()
    assert Familiar([*ORIGINALS, rare, rare.replace("2", "3")]).lacks(known) == ()
    assert Familiar([rare]).lacks(known) == ()


def test_a_function_s_own_names_are_not_calls_of_built_ins() -> None:
    found = shape("def f(max):\n    return max(1, 2)")
    assert found is not None
    assert "Call" in found.elements and "Call max/2" not in found.elements


@pytest.mark.parametrize("code", ["def f(:", "1" + "+1" * 100_000, "(" * 500])
def test_what_is_no_program_has_no_shape(code: str) -> None:
    assert shape(code) is None
    assert Familiar([code]).lacks(shape("x = 1") or pytest.fail("a program")) != ()


def test_length_and_depth_are_of_the_tree() -> None:
    found = shape("x = 1")
    assert found is not None
    assert (found.length, found.depth) == (3, 2)  # Assign(Name, Constant)
