"""Pass rate against token budget of a graded run, from the facts of its replies."""

from __future__ import annotations

from collections.abc import Mapping

from truegrade.pipeline.totals import ReplyLength
from truegrade.pipeline.verdict_table import VerdictTable, counted
from truegrade.records import Problem, SampleKey
from truegrade.statistics.budgets import BudgetCurve, SizedReply, budget_curve

UNKNOWN = ReplyLength(None, False)


def pass_rate_by_budget(
    outcomes: VerdictTable, problems: Mapping[str, Problem], lengths: Mapping[SampleKey, ReplyLength]
) -> BudgetCurve:
    """The curve of one profile, over the verdicts that count.

    Args:
        outcomes: under the profile; one counts at least.
        problems: those that it scores, by id.
        lengths: of the replies.
    """
    found = (
        (problems[task], outcome, lengths.get(outcome.key, UNKNOWN))
        for task, samples in outcomes.items()
        for outcome in counted(samples)
    )
    return budget_curve(
        [
            SizedReply(problem.id, problem.cluster, outcome.passed, length.tokens, length.cut)
            for problem, outcome, length in found
        ]
    )
