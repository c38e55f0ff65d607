"""Numbers with their uncertainty: pure functions from counts to estimates, intervals and tests."""

from __future__ import annotations

from truegrade.statistics.claims import holm
from truegrade.statistics.intervals import Interval, cluster_interval, wilson
from truegrade.statistics.paired import PairedComparison, compare_paired, mcnemar_p, sign_flip_p
from truegrade.statistics.summaries import (
    Exchangeability,
    NumberSummary,
    exchangeability,
    percentile,
    summarise,
    totals_by_task,
)
from truegrade.statistics.tally import (
    METRICS,
    TaskTally,
    all_correct,
    all_solutions,
    any_correct,
    estimate,
    mean_pass_at_k,
    pass_at_k,
)

__all__ = [
    "METRICS",
    "Exchangeability",
    "Interval",
    "NumberSummary",
    "PairedComparison",
    "TaskTally",
    "all_correct",
    "all_solutions",
    "any_correct",
    "cluster_interval",
    "compare_paired",
    "estimate",
    "exchangeability",
    "holm",
    "mcnemar_p",
    "mean_pass_at_k",
    "pass_at_k",
    "percentile",
    "sign_flip_p",
    "summarise",
    "totals_by_task",
    "wilson",
]
