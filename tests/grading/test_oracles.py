from __future__ import annotations

import copy
import math
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from truegrade.errors import UnknownName
from truegrade.grading.functions import COMPARATORS, adapter, compare

NAN = float("nan")
EXACT = 1333335333334000000
ROUNDED = float(EXACT)
LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary() | st.complex_numbers()
PLAIN = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner) | st.lists(inner).map(tuple) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


def deep(depth: int, leaf: Any) -> Any:
    value = leaf
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("expected", "got", "atol"),
    [
        (3, 3, 0),
        (1, True, 0),
        (2.0, 2, 0),
        ([1, 2], [1, 2], 0),
        ({1, 2}, {2, 1}, 0),
        (0.3, 0.1 + 0.2, 0),
        (0.0, 9e-7, 0),
        (1e9, 1e9 + 99, 0),
        ([0.3, 1.0], [0.1 + 0.2, 1.0], 0),
        ((0.3, "a", 2), (0.1 + 0.2, "a", 2), 0),
        ([[0.3]], [[0.1 + 0.2]], 0),
        ({"x": [0.3]}, {"x": [0.1 + 0.2]}, 0),
        ([0.3, 4], [0.1 + 0.2, 4.0000001], 0),
        ((1.0, 1j), (1.0, 1e-9 + 1j), 0),
        (math.inf, math.inf, 0),
        ([math.inf, 0.3], [math.inf, 0.1 + 0.2], 0),
        (NAN, float("nan"), 0),
        ([NAN, 0.3], [float("nan"), 0.1 + 0.2], 0),
        (25.13274, 25.13266, 1e-4),
        (deep(150, 0.3), deep(150, 0.1 + 0.2), 0),
        (ROUNDED, EXACT, 0),
        (-ROUNDED, -EXACT, 0),
        (ROUNDED, EXACT, 1e-4),
        (complex(ROUNDED), EXACT, 0),
        ([ROUNDED, "a"], [EXACT, "a"], 0),
        ({"a": (ROUNDED, None)}, {"a": (EXACT, None)}, 0),
        ({ROUNDED, 0.5}, {EXACT, 0.5}, 0),
        ({ROUNDED: [1]}, {EXACT: [1]}, 0),
        ({ROUNDED: ROUNDED}, {EXACT: EXACT}, 0),
        ([{ROUNDED}], [{EXACT}], 0),
    ],
)
def test_equal_accepts(expected: Any, got: Any, atol: float) -> None:
    assert compare("equal", (), expected, got, atol)


@pytest.mark.parametrize(
    ("expected", "got", "atol"),
    [
        (3, 4, 0),
        (3, None, 0),
        (None, 0, 0),
        ([1, 2], (1, 2), 0),
        ([1, 2], [2, 1], 0),
        ("1", 1, 0),
        (0.0, 3e-6, 0),
        (10**9, 10**9 + 1, 0),
        (10**9, 10**9 + 1, 1e-4),
        ([10**9, 0.5], [10**9 + 1, 0.5], 0),
        (0.3, "0.3", 0),
        (0.30000001, [0.30000001], 0),
        (1e17, 10**17 + 1000, 0),
        (2.0**60, 2**60 - 1000, 0),
        ([0.3], (0.1 + 0.2,), 0),
        ([0.3], [0.1 + 0.2, 0.0], 0),
        ([0.3, 1.0], [0.1 + 0.2], 0),
        ([0.3, "a"], [0.1 + 0.2, "b"], 0),
        ([0.3, True], [0.1 + 0.2, False], 0),
        ({"x": 0.3}, {"y": 0.1 + 0.2}, 0),
        ({"x": 0.3, "y": 1}, {"x": 0.1 + 0.2}, 0),
        (math.inf, 1e308, 0),
        (1.0, math.inf, 0),
        (1.0, NAN, 0),
        (NAN, 1.0, 0),
        (1e300, 10**400, 0),
        (0.5, 10**400, 0),
        (25.13274, 25.2, 1e-4),
        (deep(250, 0.3), deep(250, 0.1 + 0.2), 0),
        (ROUNDED, EXACT + 10**6, 0),
        (ROUNDED, str(EXACT), 0),
        (ROUNDED, [EXACT], 0),
        (EXACT, ROUNDED, 0),
        ([EXACT], [ROUNDED], 0),
        ({EXACT}, {ROUNDED}, 0),
        ({int(ROUNDED)}, {EXACT}, 0),
        ({int(ROUNDED): 1}, {EXACT: 1}, 0),
        ({ROUNDED}, {EXACT, EXACT + 1}, 0),
        ({ROUNDED: 1}, {EXACT: 2}, 0),
        ({ROUNDED: 1, 2.0: 1}, {EXACT: 1}, 0),
        (complex(ROUNDED, 1), EXACT, 0),
        (math.inf, 10**400, 0),
        (math.inf, 10**300, 0),
        (NAN, EXACT, 0),
        (7.5, 7, 0),
        (2.0**50 + 0.5, 2**50, 0),
    ],
)
def test_equal_refuses(expected: Any, got: Any, atol: float) -> None:
    assert not compare("equal", (), expected, got, atol)


def test_a_tolerance_does_not_stick() -> None:
    assert compare("equal", (), 0.3, 0.1 + 0.2)
    assert not compare("equal", (), 10**8, 10**8 + 1)


@pytest.mark.parametrize(
    ("comparator", "args", "expected", "got", "atol", "right"),
    [
        ("set_equal", (), (4, 5), [5, 4, 4], 0, True),
        ("set_equal", (), (4, 5), {5, 4}, 0, True),
        ("set_equal", (), (4, 5), (4,), 0, False),
        ("set_equal", (), [ROUNDED, 2], [2, EXACT, EXACT], 0, True),
        ("set_equal", (), [EXACT], [ROUNDED], 0, False),
        ("set_equal", (), (4, 5), None, 0, False),
        ("set_equal", (), (4, 5), [[4], 5], 0, False),
        ("not_none", (), True, [0], 0, True),
        ("not_none", (), None, None, 0, True),
        ("not_none", (), False, None, 0, True),
        ("not_none", (), None, False, 0, True),
        ("not_none", (), "match", True, 0, True),
        ("not_none", (), True, False, 0, False),
        ("not_none", (), True, None, 0, False),
        ("not_none", (), None, 0, 0, False),
        ("always", ([1], [2]), True, "anything", 0, True),
        ("equal_or_zero", (8,), 7, 7, 0, True),
        ("equal_or_zero", (8,), 7, 0, 0, True),
        ("equal_or_zero", (8,), 7, 8, 0, False),
        ("equal_or_zero", (8,), 7, None, 0, False),
        ("digit_distance", (1, 256), 6, 6, 0, True),
        ("digit_distance", (23, 156), 7, 7, 0, True),
        ("digit_distance", (23, 156), 99, 1 + 3 + 3, 0, True),
        ("digit_distance", (23, 156), 99, 8, 0, False),
        ("digit_distance", (-1, 5), 4, 5, 0, False),
        ("surface_area", (3, 4), 33, 33, 0, True),
        ("surface_area", (3, 4), 33, 35, 0, True),
        ("surface_area", (3, 4), 33, 34, 0, False),
        ("surface_area", (3, 4), 33, "35", 0, False),
        ("surface_area", (3, 4), 33, None, 0, False),
        ("root", ([1, 2],), 7.0, 7.0, 1e-4, True),
        ("root", ([-6, 11, -6, 1],), 1.0, 3.0, 1e-4, True),
        ("root", ([1, 2],), -0.5, -0.500001, 1e-4, True),
        ("root", ([1, 2],), -0.5, 0.5, 1e-4, False),
        ("root", ([1, 2],), -0.5, None, 1e-4, False),
        ("root", ([1, 2],), -0.5, "x", 1e-4, False),
        ("root", ([1, 2],), -0.5, NAN, 1e-4, False),
        ("root", ([1, 2],), -0.5, 10**400, 1e-4, False),
        ("root", ([1, 2, 3, 4],), -0.5, 1e300, 1e-4, False),
    ],
)
def test_rules_of_single_tasks(
    comparator: str, args: tuple[Any, ...], expected: Any, got: Any, atol: float, right: bool
) -> None:
    assert compare(comparator, args, expected, got, atol) is right


@given(value=PLAIN, atol=st.sampled_from([0.0, 1e-6, 1e-4]))
def test_a_copy_is_always_right(value: Any, atol: float) -> None:
    assert compare("equal", (), value, copy.deepcopy(value), atol)


@given(
    comparator=st.sampled_from(sorted(COMPARATORS)), expected=PLAIN, got=PLAIN, args=st.lists(PLAIN, max_size=3)
)
def test_no_plain_value_makes_a_rule_raise(comparator: str, expected: Any, got: Any, args: list[Any]) -> None:
    assert compare(comparator, tuple(args), expected, got, 1e-4) in {True, False}


@pytest.mark.parametrize("comparator", sorted(set(COMPARATORS) - {"always", "not_none"}))
def test_a_value_nested_without_end_is_wrong(comparator: str) -> None:
    assert not compare(comparator, (3, 4), [1.0], deep(100_000, 1.0), 1e-4)


def test_two_values_nested_without_end_do_not_overflow() -> None:
    """CPython compares them where its stack is long enough, from 3.14 on; elsewhere they are wrong."""
    assert compare("equal", (), deep(100_000, 1.0), deep(100_000, 1.0)) in (False, True)
    assert not compare("equal", (), deep(100_000, 1.0), deep(100_000, 2.0))


def test_unknown_rule() -> None:
    with pytest.raises(UnknownName, match="did you mean set_equal"):
        compare("set_equals", (), 1, 1)


def test_the_adapter_makes_match_objects_plain() -> None:
    program = (
        "import re\ndef check(text):\n    return re.match('a+', text)\ndef given(text):\n    return text == 'a'"
    )
    namespace: dict[str, Any] = {}
    exec(program + adapter("not_none", "check"), namespace)
    assert namespace["check"]("aab") is True
    assert namespace["check"]("b") is False
    assert not isinstance(namespace["check"]("aab"), re.Match)
    exec(program + adapter("not_none", "given"), namespace)
    assert (namespace["given"]("a"), namespace["given"]("b")) == (True, False)


def test_other_rules_need_no_adapter() -> None:
    assert {adapter(name, "f") for name in COMPARATORS if name != "not_none"} == {""}
