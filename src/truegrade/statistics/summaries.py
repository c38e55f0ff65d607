"""Plain summaries of tokens, seconds and dollars, which some samples may lack."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from math import floor, fsum

import msgspec

from truegrade.errors import UserError


class NumberSummary(msgspec.Struct, frozen=True, kw_only=True):
    """Of the known values; all in the unit of the input."""

    count: int
    """Known values."""
    missing: int
    """Values nobody reported; ``total`` lacks them."""
    total: float
    mean: float
    median: float
    p90: float
    p99: float
    low: float
    high: float


def summarise(values: Iterable[float | None]) -> NumberSummary | None:
    """Summarise what is known; None where nothing is."""
    given = list(values)
    known = sorted(value for value in given if value is not None)
    if not known:
        return None
    # Rounded once: the order in which samples arrived does not show.
    total = fsum(known)
    return NumberSummary(
        count=len(known),
        missing=len(given) - len(known),
        total=total,
        mean=total / len(known),
        median=percentile(known, 50),
        p90=percentile(known, 90),
        p99=percentile(known, 99),
        low=known[0],
        high=known[-1],
    )


def percentile(ordered: Sequence[float], percent: float) -> float:
    """Percentile of ascending values, interpolated linearly (definition 7 of Hyndman & Fan 1996).

    Raises:
        UserError: no values, or ``percent`` outside [0, 100].
    """
    if not ordered or not 0 <= percent <= 100:
        raise UserError(f"percentile {percent} of {len(ordered)} values is not defined; give values and 0 to 100")
    place = (len(ordered) - 1) * percent / 100
    below = floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


def totals_by_task(values: Iterable[tuple[str, float | None]]) -> dict[str, float | None]:
    """Sum (problem id, value) pairs per problem; None where a sample lacks its value, for a part is no total."""
    parts: dict[str, list[float | None]] = defaultdict(list)
    for task_id, value in values:
        parts[task_id].append(value)
    return {
        task_id: fsum(known) if len(known := [v for v in given if v is not None]) == len(given) else None
        for task_id, given in parts.items()
    }
