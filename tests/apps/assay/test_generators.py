"""Generated inputs: of the inferred domain, bounded, and decided by the seed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from truegrade.apps.assay.answers import is_plain, written_call
from truegrade.apps.assay.input_domain import infer_domain
from truegrade.apps.assay.input_edges import constants_of, generated_calls
from truegrade.builders.shapes import shape_of

_SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-(10**6), 10**6), st.floats(allow_nan=False), st.text(max_size=5)
)
_HASHABLE = st.one_of(st.integers(-50, 50), st.text("abc", max_size=3), st.tuples(st.integers(0, 3)))
_VALUES = st.recursive(
    _SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.tuples(inner, inner),
        st.dictionaries(_HASHABLE, inner, max_size=3),
        st.sets(_HASHABLE, max_size=3),
    ),
    max_leaves=6,
)
_CALLS = st.integers(1, 3).flatmap(lambda size: st.lists(st.tuples(*[_VALUES] * size), min_size=1, max_size=10))
PROGRAM = "def f(n):\n    '''Not 99.'''\n    return n > 7 or n == 'seven'\n"


@given(_CALLS)
def test_known_calls_belong_to_their_domain(calls):
    assert all(infer_domain(calls).fits(arguments) for arguments in calls)


@given(_CALLS, st.integers(0, 5))
def test_generated_calls_belong_to_it_and_are_new_and_the_same_by_seed(calls, seed):
    domain = infer_domain(calls)
    made = generated_calls(calls, [PROGRAM], seed=seed, limit=30)
    assert all(domain.fits(arguments) and is_plain(arguments) for arguments in made)
    texts = [written_call("f", arguments) for arguments in made]
    assert len(set(texts)) == len(texts) <= 30
    assert not {written_call("f", arguments) for arguments in calls} & set(texts)
    again = generated_calls(calls, [PROGRAM], seed=seed, limit=30)
    assert [written_call("f", arguments) for arguments in again] == texts


@given(st.lists(st.tuples(st.lists(st.integers(-9, 9), max_size=5), st.integers(1, 20)), min_size=1, max_size=12))
def test_sizes_are_bounded(calls):
    longest = max(len(values) for values, _ in calls)
    for values, number in generated_calls(calls, [PROGRAM], seed=0, limit=40):
        assert len(values) <= max(3 * longest, 4)
        assert 0 <= number <= max(10 * max(top for _, top in calls), 10)


def test_constants_come_with_their_neighbours_and_docstrings_do_not():
    found = constants_of([PROGRAM, "not python ("])
    assert {6, 7, 8, "seven"} <= set(found)
    assert not any("99" in str(one) for one in found)


@pytest.mark.parametrize(
    ("calls", "kept"),
    [
        ([([1, 2, 3], [4, 5, 6]), ([1], [2]), ([], [])], lambda a, b: len(a) == len(b)),
        ([([4, 5], 2), ([1], 1), ([7, 8, 9], 3)], lambda a, n: n == len(a)),
        ([("abcd", 3), ("ab", 0), ("xyz", 1)], lambda text, place: 0 <= place <= len(text)),
        ([([1, 2, 5], 0), ([3, 4, 9], 7), ([0, 1, 1], 2)], lambda a, n: a == sorted(a)),
        ([([[1, 2], [3, 4]], 1), ([[5]], 9), ([[1, 2, 3]] * 3, 0)], lambda rows, n: len(set(map(len, rows))) <= 1),
        ([(low, low + 2) for low in range(-4, 5)], lambda low, high: low <= high),
    ],
)
def test_what_holds_in_every_known_call_holds_in_generated_ones(calls, kept):
    made = generated_calls(calls, [], seed=1, limit=60)
    assert len(made) >= 10
    assert all(kept(*arguments) for arguments in made)


def test_edges_are_among_the_generated():
    made = generated_calls([([3, 1, 2],), ([5, 5, 9, 1],)], ["x = 40"], seed=0, limit=200)
    assert {"f([])", "f([3])", "f([1, 2, 3])", "f([3, 3, 3])", "f([3, 1, 2, 3, 1, 2])", "f([39, 1, 2])"} <= {
        written_call("f", arguments) for arguments in made
    }


def test_negative_zero_and_empty_values_need_a_reason():
    """No known number is negative; with many known calls, none zero and none empty, neither is a generated one."""
    calls = [(number, [number]) for number in range(1, 20)]
    made = generated_calls(calls, [PROGRAM], seed=0, limit=100)
    assert made
    assert all(number >= 1 and values for number, values in made)
    few = generated_calls(calls[:3], [PROGRAM], seed=0, limit=100)
    assert any(number == 0 for number, _ in few)
    assert all(number >= 0 for number, _ in few)


def test_texts_keep_their_letters():
    shape = shape_of(["0110", "10", ""])
    assert shape.fits("1" * 5)
    assert not shape.fits("2")
    assert shape_of(["hello", "worlds"]).fits("zebra")
    assert not shape_of(["3f2a", "beef", "0"]).fits("zebra")


def test_nothing_is_generated_from_nothing():
    assert generated_calls([], [PROGRAM], seed=0, limit=10) == []
    assert generated_calls([()], [PROGRAM], seed=0, limit=10) == []
