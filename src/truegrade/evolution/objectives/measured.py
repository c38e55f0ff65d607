"""Measured objectives, which conflict with each other.

| objective | is | worst |
| --- | --- | --- |
| ``pass_rate`` | share of the tests passed | 0 |
| ``patch`` | minus the token edit distance to the buggy program, per token (`patch`) | -1 |
| ``cost`` | minus the executed lines per line of the reference (`cost`) | -`COST_CAP` |
| ``findings`` | minus the findings (`lint`) that the buggy program does not have | -`MOST_FINDINGS` |
| ``tokens`` | minus the tokens generated | |

All are to be maximised. A reply without valid code has the worst of the first four. What the adapter itself costs
(its parameters, seconds of training) is known to the loop, which adds it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from truegrade.evolution.genomes import Scores
from truegrade.evolution.objectives.cost import COST_CAP, CostMeter
from truegrade.evolution.objectives.patch import code_tokens, patch_size
from truegrade.evolution.objectives.scorers import GradedReply, by_problem, mean_scores, repair_task
from truegrade.extraction.parsing import Fault, parse_module
from truegrade.grading.executor import Executor
from truegrade.grading.lint import Linter
from truegrade.records import Problem, Reason

MOST_FINDINGS = 20
"""New findings beyond which a program is as bad as any."""

_WORST = {"pass_rate": 0.0, "patch": -1.0, "cost": -COST_CAP, "findings": -float(MOST_FINDINGS)}


class MeasuredObjectives:
    """Pass rate, patch size, deterministic cost, new findings, tokens.

    Raises:
        UserError: flake8 or bandit is not installed.
    """

    name = "measured"
    names = (*_WORST, "tokens")

    def __init__(self) -> None:
        self._linter = Linter()
        self._meter = CostMeter()

    def score(self, problems: Sequence[Problem], samples: Sequence[GradedReply], executor: Executor) -> Scores:
        """Score every sample; what passes a test is run once more, with its lines counted.

        ``facts``: problems without a sample (``unanswered``), and samples whose tokens were counted here because
        the model's service did not (``tokens_counted_here``).
        """
        grouped = by_problem(problems, samples)
        scored = {
            problem.id: [self.of(problem, sample, executor) for sample in grouped[problem.id]]
            or [{**_WORST, "tokens": 0.0}]
            for problem in problems
        }
        facts = {
            "unanswered": float(sum(not found for found in grouped.values())),
            "tokens_counted_here": float(sum(sample.tokens is None for sample in samples)),
        }
        return mean_scores(self.names, scored, facts)

    def of(self, problem: Problem, sample: GradedReply, executor: Executor) -> dict[str, float]:
        """The objectives of one sample."""
        tokens = -float(len(code_tokens(sample.text)) if sample.tokens is None else sample.tokens)
        tree = None if sample.code is None else parse_module(sample.code)
        if sample.code is None or tree is None or isinstance(tree, Fault):
            return {**_WORST, "tokens": tokens}
        buggy = repair_task(problem).buggy
        passed = [result == Reason.PASSED for result in sample.results]
        return {
            "pass_rate": sample.passed / max(1, sample.tests),
            "patch": -patch_size(buggy, sample.code),
            "cost": -self._meter.cost(problem, sample.code, passed, executor),
            "findings": -float(min(MOST_FINDINGS, self.new_findings(buggy, sample.code))),
            "tokens": tokens,
        }

    def new_findings(self, before: str, after: str) -> int:
        """Findings of each kind that a program has more of than another; both as files that end properly.

        `MOST_FINDINGS` where a linter cannot read all of ``after``.
        """
        found = self._findings(after)
        if found is None:
            return MOST_FINDINGS
        return (found - (self._findings(before) or Counter())).total()

    def _findings(self, code: str) -> Counter[str] | None:
        """Findings by kind; None where a linter cannot read all of the program."""
        text = code.strip() + "\n"
        tree = parse_module(text)
        if isinstance(tree, Fault):
            return None
        found = self._linter.check(tree, text)
        return Counter((*found.style, *found.security)) if found.complete else None
