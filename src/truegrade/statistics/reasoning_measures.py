"""From counts to estimates and paired differences: the two steps that all metrics of execution reasoning share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from truegrade.records import Estimate
from truegrade.statistics.paired import PairedComparison, compare_paired
from truegrade.statistics.reasoning_records import ShareDifference
from truegrade.statistics.tally import TaskTally, all_solutions, mean_pass_at_k

Weighting = Literal["mean", "micro"]


def measure(metric: str, tallies: Sequence[TaskTally], weighting: Weighting = "mean") -> Estimate | None:
    """The share of counted samples, named ``metric``; None where nothing was counted."""
    if not any(tally.n for tally in tallies):
        return None
    found = mean_pass_at_k(tallies, 1) if weighting == "mean" else all_solutions(tallies)
    return msgspec.structs.replace(found, metric=metric)


def present(estimates: Sequence[Estimate | None]) -> list[Estimate]:
    """Those that are defined."""
    return [estimate for estimate in estimates if estimate is not None]


def difference(metric: str, first: Sequence[TaskTally], second: Sequence[TaskTally]) -> ShareDifference | None:
    """``second - first``, paired by problem id; None where no problem has samples on both sides.

    Raises:
        NotComparable: a problem is in different clusters on the two sides.
    """
    if not {t.task_id for t in first if t.n} & {t.task_id for t in second if t.n}:
        return None
    return _shortened(metric, compare_paired(first, second))


def _shortened(metric: str, c: PairedComparison) -> ShareDifference:
    return ShareDifference(
        metric=metric,
        first=c.rate_a,
        second=c.rate_b,
        difference=c.difference,
        low=c.low,
        high=c.high,
        confidence=c.confidence,
        method=c.method,
        p_value=c.permutation_p,
        pairs=c.tasks,
        clusters=c.clusters,
    )
