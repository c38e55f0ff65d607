"""The input of objectives: a reply, the extracted code, and the result of each test."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import Protocol

import msgspec

from truegrade.errors import UserError
from truegrade.evolution.genomes import Scores
from truegrade.grading.executor import Executor
from truegrade.grading.lint import Linter
from truegrade.grading.repairs import SKIPPED
from truegrade.grading.suites import RepairTask
from truegrade.profiles.coralx import objective_scores
from truegrade.profiles.coralx_objectives import WEIGHTED_SUM, WEIGHTS, weighted_sum
from truegrade.records import CasesTask, Completion, FunctionTask, Problem, Reason, Verdict


class GradedReply(msgspec.Struct, frozen=True, kw_only=True):
    """One graded reply."""

    problem: str
    """Id."""
    text: str
    """The reply."""
    code: str | None
    """What was graded; None if nothing was found in the reply."""
    results: tuple[str, ...]
    """A word a test, in order: a `Reason`, ``skipped`` or ``not_run``."""
    tokens: int | None = None
    """Generated, as the model's service counted them."""

    @property
    def tests(self) -> int:
        """Tests that count."""
        return sum(result != SKIPPED for result in self.results)

    @property
    def passed(self) -> int:
        """Tests passed."""
        return sum(result == Reason.PASSED for result in self.results)

    @property
    def solved(self) -> bool:
        """Whether every test that counts is passed."""
        return 0 < self.tests == self.passed


class Scorer(Protocol):
    """A way to score. Scoring the same samples gives the same scores."""

    @property
    def name(self) -> str:
        """``coralx`` or ``measured``."""

    @property
    def names(self) -> tuple[str, ...]:
        """Of the objectives, in order."""

    def score(self, problems: Sequence[Problem], samples: Sequence[GradedReply], executor: Executor) -> Scores:
        """Mean over the samples of a problem, then over the problems; one without a sample has the worst."""


def samples_of(completions: Iterable[Completion], verdicts: Iterable[Verdict]) -> list[GradedReply]:
    """Replies with their verdicts, in the order of the verdicts.

    Raises:
        UserError: a verdict does not say what became of each test, or its reply is missing.
    """
    replies = {(reply.key, reply.sha256): reply for reply in completions}
    samples = []
    for verdict in verdicts:
        reply = replies.get((verdict.key, verdict.completion_sha256))
        if reply is None:
            raise UserError(f"{verdict.problem_id} sample {verdict.sample}: the verdict's reply is not there")
        samples.append(sample_of(reply, verdict))
    return samples


def sample_of(reply: Completion, verdict: Verdict) -> GradedReply:
    """A reply with its verdict.

    Raises:
        UserError: the verdict does not say what became of each test.
    """
    results = (verdict.harness or {}).get("results")
    if results is None and verdict.answer is not None:
        raise UserError(
            f"{verdict.problem_id} sample {verdict.sample}: the verdict of {verdict.profile} does not count tests;"
            " grade a repair benchmark as strict or as coralx"
        )
    return GradedReply(
        problem=verdict.problem_id,
        text=reply.text or "",
        code=verdict.answer,
        results=tuple(results or ()),
        tokens=None if reply.usage is None else reply.usage.output_tokens,
    )


def by_problem(problems: Sequence[Problem], samples: Iterable[GradedReply]) -> dict[str, list[GradedReply]]:
    """The samples of each problem, of which some may have none.

    Raises:
        UserError: a sample is of a problem that is not among them.
    """
    found: dict[str, list[GradedReply]] = {problem.id: [] for problem in problems}
    for sample in samples:
        if sample.problem not in found:
            raise UserError(f"{sample.problem} is not among the problems that are scored")
        found[sample.problem].append(sample)
    return found


def repair_task(problem: Problem) -> RepairTask:
    """The task of a problem that shows a program to repair.

    Raises:
        UserError: it shows none.
    """
    task = problem.task
    if not isinstance(task, CasesTask | FunctionTask) or not task.buggy:
        raise UserError(f"{problem.id} shows no program to repair; quixbugs and micro-repair do")
    return task


def mean_scores(
    names: Sequence[str], scored: Mapping[str, Sequence[Mapping[str, float]]], facts: Mapping[str, float]
) -> Scores:
    """Mean over samples, then over problems.

    Args:
        names: of the objectives.
        scored: by problem, the objectives of each of its samples; at least one.
        facts: to be kept beside them.
    """
    problems: dict[str, dict[str, float]] = defaultdict(dict)
    for problem, samples in scored.items():
        for name in names:
            problems[problem][name] = fmean(sample[name] for sample in samples)
    means = {name: fmean(scores[name] for scores in problems.values()) for name in names}
    return Scores(objectives=means, problems=dict(problems), facts=dict(facts))


# ----------------------- Genomes scored by CORAL-X's five objectives (`truegrade.profiles.coralx_objectives`).


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
