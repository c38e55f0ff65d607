"""Genomes scored by CORAL-X's five objectives (`truegrade.profiles.coralx_objectives`)."""

from __future__ import annotations

from collections.abc import Sequence

from truegrade.evolution.genomes import Scores
from truegrade.evolution.objectives.scorers import GradedReply, by_problem, mean_scores
from truegrade.grading.executor import Executor
from truegrade.grading.lint import Linter
from truegrade.profiles.coralx import objective_scores
from truegrade.profiles.coralx_objectives import WEIGHTED_SUM, WEIGHTS, weighted_sum
from truegrade.records import Problem

_NOTHING = dict.fromkeys(WEIGHTS, 0.0)


class CoralxObjectives:
    """Bug fix, style, security, runtime and syntax.

    Raises:
        UserError: flake8 or bandit is not installed.
    """

    name = "coralx"
    names = tuple(WEIGHTS)

    def __init__(self) -> None:
        self._linter = Linter()

    def score(self, problems: Sequence[Problem], samples: Sequence[GradedReply], executor: Executor) -> Scores:
        """Score every sample from its code and its tests; nothing is run."""
        grouped = by_problem(problems, samples)
        scored = {
            problem: [self.of(sample) for sample in found] or [_NOTHING] for problem, found in grouped.items()
        }
        unanswered = sum(not found for found in grouped.values())
        scores = mean_scores(self.names, scored, {"unanswered": float(unanswered)})
        return Scores(
            objectives=scores.objectives,
            problems=scores.problems,
            facts={**scores.facts, WEIGHTED_SUM: weighted_sum(scores.objectives)},
        )

    def of(self, sample: GradedReply) -> dict[str, float]:
        """The five scores of one sample."""
        return objective_scores(sample.code, sample.passed, sample.tests, self._linter)
