"""Charts put numbers where they belong."""

from __future__ import annotations

import re

from report_parsing import StrictPage

from truegrade.records import Estimate
from truegrade.report.svg import curve, interval_plot


def an_estimate(metric: str, value: float, low: float | None, high: float | None) -> Estimate:
    return Estimate(metric=metric, value=value, low=low, high=high, method="m", samples=1, tasks=1, clusters=1)


def test_interval_lies_at_its_percentages() -> None:
    drawn = interval_plot(an_estimate("pass@1", 0.42, 0.348, 0.497), "strict@1")
    assert 'x="34.80%" width="14.90%"' in drawn
    assert 'cx="42.00%"' in drawn
    assert 'aria-label="strict@1: 42.0 % [34.8, 49.7]"' in drawn
    StrictPage(drawn)


def test_no_interval_draws_no_band() -> None:
    drawn = interval_plot(an_estimate("pass@1", 1.0, None, None), "p")
    assert "band" not in drawn
    assert "[no interval]" in drawn


def test_curve_is_logarithmic_in_k() -> None:
    points = [(k, an_estimate(f"pass@{k}", 0.5, 0.4, 0.6)) for k in (1, 10, 100)]
    drawn = curve([("a@1", points), ("b@1", points[:2])])
    StrictPage(drawn)
    assert [float(x) for x in re.findall(r'cx="([\d.]+)%"', drawn)] == [0, 50, 100, 0, 50]
    assert 'points="0.00,50.00 50.00,50.00 100.00,50.00"' in drawn
    assert 'points="0.00,40.00 50.00,40.00 100.00,40.00 100.00,60.00 50.00,60.00 0.00,60.00"' in drawn


def test_curve_without_intervals_keeps_its_line() -> None:
    points = [(k, an_estimate(f"pass@{k}", 0.5, None, None)) for k in (1, 2)]
    drawn = curve([("a@1", points)])
    assert 'class="line s0" points="0.00,50.00 100.00,50.00"' in drawn
