from statistics import NormalDist

import numpy as np
import pytest

from truegrade.statistics.ratios import imbens_manski_critical


def test_the_critical_value_lies_between_the_two_sided_and_the_one_sided_one():
    assert imbens_manski_critical(0.0, 0.01) == pytest.approx(1.959964, abs=1e-6)
    assert imbens_manski_critical(1.0, 0.01) == pytest.approx(1.644854, abs=1e-6)
    middle = imbens_manski_critical(0.01, 0.02)
    normal = NormalDist()
    assert normal.cdf(middle + 0.5) - normal.cdf(-middle) == pytest.approx(0.95, abs=1e-12)
    assert 1.644854 < middle < 1.959964


@pytest.mark.parametrize("gap", [0.0, 0.5, 1.0, 3.0])
def test_it_covers_both_ends_of_the_identified_set(gap):
    """The worst place for the truth is an end; there the interval covers 95 %, and no more than it must."""
    noise = np.random.default_rng(3).normal(size=4000)
    critical = imbens_manski_critical(gap, 1.0)
    low, high = -critical, gap + critical
    for truth in (0.0, gap):
        held = np.mean((low + noise <= truth) & (truth <= high + noise))
        assert held == pytest.approx(0.95, abs=0.011)
