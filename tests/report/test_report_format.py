"""Numbers as people read them."""

from __future__ import annotations

import pytest

from truegrade.report import format as fmt


def test_estimate_reads_as_papers_print_it() -> None:
    assert fmt.percent(0.4213) == "42.1 %"
    assert fmt.bounds(0.348, 0.4969) == "[34.8, 49.7]"
    assert fmt.bounds(None, None) == "[no interval]"
    assert fmt.points(-0.031) == "-3.1"
    assert fmt.points(0.031) == "+3.1"


@pytest.mark.parametrize(
    ("amount", "text"),
    [
        (None, "unknown"),
        (0.0, "$0.00"),
        (1234.5, "$1,234.50"),
        (0.2, "$0.20"),
        (0.0823, "$0.082"),
        (0.000012, "$1.2e-05"),
    ],
)
def test_usd(amount: float | None, text: str) -> None:
    assert fmt.usd(amount) == text


@pytest.mark.parametrize(
    ("duration_s", "text"),
    [
        (None, "–"),
        (0.012, "12 ms"),
        (0.9996, "1.0 s"),
        (3.44, "3.4 s"),
        (59.97, "1 min 0 s"),
        (125, "2 min 5 s"),
        (3719.9, "1 h 2 min"),
    ],
)
def test_seconds(duration_s: float | None, text: str) -> None:
    assert fmt.seconds(duration_s) == text


def test_quantity_and_plural() -> None:
    assert [fmt.quantity(n) for n in (0.01234, 1.5, 99.96, 152.4, 15234)] == [
        "0.0123",
        "1.5",
        "100",
        "152",
        "15,234",
    ]
    assert [fmt.plural(n, "task") for n in (0, 1, 2000)] == ["0 tasks", "1 task", "2,000 tasks"]
