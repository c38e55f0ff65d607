"""pass@1 by group: difficulty, platform, month, and before and after the end of a model's training data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import sqrt

import msgspec

from truegrade.records import Estimate
from truegrade.statistics.tally import TaskTally, estimate
from truegrade.statistics.windows import CUTOFF, Tags, split


class Split(msgspec.Struct, frozen=True, kw_only=True):
    """One group of problems."""

    by: str
    """``difficulty``, ``platform``, ``kind``, ``month`` or ``cut-off``."""
    value: str
    """Which group: ``hard``, ``2024-09``, ``after 2024-08-01``."""
    rate: Estimate
    """pass@1 over its problems."""


class Gap(msgspec.Struct, frozen=True, kw_only=True):
    """The rate of one group less that of another; other problems, so nothing is paired."""

    difference: float
    """A fraction; negative where the newer contests are solved less often."""
    low: float | None
    high: float | None
    """None where one group is a single cluster."""
    confidence: float
    method: str = "MOVER: square-and-add of the two groups' intervals"
    """Zou & Donner 2008, Statistics in Medicine 27:1693-1702; for Wilson intervals Newcombe 1998, 17:873-890."""


def split_rates(tallies: Sequence[TaskTally], tags: Mapping[str, Tags], cutoff: str | None) -> list[Split]:
    """pass@1 of every group that has a graded sample.

    Args:
        tallies: of all problems.
        tags: of each problem, by id.
        cutoff: last day of a model's training data, ``YYYY-MM-DD``.
    """
    known = {tally.task_id: tally for tally in tallies if tally.n}
    groups = split(((task, tags[task]) for task in known), cutoff)
    return [
        Split(by=kind, value=value, rate=estimate("pass@1", [known[task] for task in tasks]))
        for (kind, value), tasks in groups.items()
    ]


def cutoff_gap(splits: Sequence[Split]) -> Gap | None:
    """pass@1 of contests after the cut-off less that of those up to it; None without a group on each side."""
    rates = [found.rate for found in splits if found.by == CUTOFF]
    if len(rates) != 2:
        return None
    before, after = rates
    difference = after.value - before.value
    if before.low is None or before.high is None or after.low is None or after.high is None:
        return Gap(difference=difference, low=None, high=None, confidence=after.confidence)
    # Each end takes from either group the half-width that faces it.
    below = sqrt((after.value - after.low) ** 2 + (before.high - before.value) ** 2)
    above = sqrt((after.high - after.value) ** 2 + (before.value - before.low) ** 2)
    return Gap(difference=difference, low=difference - below, high=difference + above, confidence=after.confidence)
