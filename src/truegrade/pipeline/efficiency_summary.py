"""eff@k of problems whose answers are scored by their cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from truegrade.pipeline.verdict_table import VerdictTable, counted
from truegrade.records import EfficiencyTask, Estimate, Problem
from truegrade.statistics.efficiency import TaskScores, mean_eff_at_k


def efficiency_rates(problems: Mapping[str, Problem], outcomes: VerdictTable, ks: Sequence[int]) -> list[Estimate]:
    """eff@k for every k that the samples allow; empty where no problem is of that kind.

    Args:
        problems: those that count, by id.
        outcomes: their verdicts.
        ks: as for pass@k.
    """
    tasks = [
        TaskScores(
            cluster=problem.cluster,
            scores=tuple(outcome.efficiency for outcome in counted(outcomes.get(name, ()))),
        )
        for name, problem in problems.items()
        if isinstance(problem.task, EfficiencyTask)
    ]
    most = max((len(task.scores) for task in tasks), default=0)
    return [mean_eff_at_k(tasks, k) for k in ks if k <= most]
