import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from truegrade.errors import UserError
from truegrade.statistics import percentile, summarise, totals_by_task


def test_summary_counts_what_is_missing():
    summary = summarise([3, None, 1, 2, None])
    assert (summary.count, summary.missing, summary.total, summary.mean, summary.median) == (3, 2, 6, 2, 2)
    assert (summary.low, summary.high) == (1, 3)


def test_nothing_known_is_none():
    assert summarise([]) is None
    assert summarise([None, None]) is None


@settings(derandomize=True, deadline=None)
@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=50), st.floats(0, 100))
def test_percentile_is_numpys_default(values, percent):
    assert percentile(sorted(values), percent) == pytest.approx(np.percentile(values, percent), rel=1e-9, abs=1e-6)


def test_percentile_refuses_nonsense():
    with pytest.raises(UserError):
        percentile([], 50)
    with pytest.raises(UserError):
        percentile([1.0], 101)


def test_task_totals_never_pass_a_part_for_the_whole():
    pairs = [("a", 10), ("b", 1.5), ("a", 5), ("b", None)]
    assert totals_by_task(pairs) == {"a": 15, "b": None}
