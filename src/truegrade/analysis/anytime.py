"""Two finished or unfinished runs compared as if their problems had come one by one in an order fixed before."""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import TypeVar

import msgspec

from truegrade.analysis.comparability import GradedRun
from truegrade.errors import UserError
from truegrade.pipeline.summary import TaskLine, read_summary
from truegrade.statistics.sequential import AnytimeTest, anytime_test, ordered_clusters
from truegrade.store import Run

N = TypeVar("N", int, float)


class Saving(msgspec.Struct, frozen=True, kw_only=True):
    """What the second run would not have had to ask after the decision."""

    problems: int
    tokens: int | None
    """Input and output; None where the service did not say for every reply."""
    cost_usd: float | None
    """None where it is not known for every reply."""


class SequentialPairing(msgspec.Struct, frozen=True, kw_only=True):
    """``second - first``, looked at after every problem."""

    order_seed: int
    test: AnytimeTest
    saved: Saving | None
    """None where nothing was decided."""
    unfinished: tuple[str, ...]
    """Labels of the sides that lack graded replies to some of their problems, and did not stop in this order."""


def compare_in_order(
    first: GradedRun, second: GradedRun, labels: tuple[str, str], *, order_seed: int, alpha: float
) -> SequentialPairing:
    """Compare two runs in the order of a seed, problem by problem.

    Args:
        first: the run compared with.
        second: the run in question.
        labels: of both.
        order_seed: fixes the order of the problems; to be chosen before anything is seen.
        alpha: level of the test.

    Raises:
        UserError: a run stopped early in the order of another seed, so that what it asked hangs on that one.
    """
    for side in (first, second):
        _refuse_other_order(side, order_seed)
    lines = [{task.id: task for task in side.summary.tasks} for side in (first, second)]
    order = ordered_clusters({task: line.cluster for of in lines for task, line in of.items()}, order_seed)
    one, two = ({task: line for task, line in of.items() if line.n} for of in lines)
    pairs = [[task for task in tasks if task in one and task in two] for tasks in order]
    seen = [tasks for tasks in pairs if tasks]
    single = all(len(tasks) == 1 for tasks in order) and all(
        line.n == 1 for of in (one, two) for line in of.values()
    )
    test = anytime_test(
        [[_share(two[task]) - _share(one[task]) for task in tasks] for tasks in seen],
        single=single,
        sizes=[len(tasks) for tasks in order],
        alpha=alpha,
    )
    saved = None
    if test.decision is not None:
        saved = _saving(second.run, {task for tasks in seen[test.decision.clusters :] for task in tasks})
    return SequentialPairing(
        order_seed=order_seed,
        test=test,
        saved=saved,
        unfinished=tuple(
            label
            for label, side, of in zip(labels, (first, second), (one, two), strict=True)
            if read_summary(side.run).stopping is None and len(of) < len(side.summary.tasks)
        ),
    )


def _refuse_other_order(side: GradedRun, order_seed: int) -> None:
    stopping = read_summary(side.run).stopping
    if stopping is not None and stopping.order_seed != order_seed:
        raise UserError(
            f"{side.run.given} stopped early in the order of seed {stopping.order_seed}: give that as `order_seed`"
        )


def _share(line: TaskLine) -> float:
    return line.c / line.n


def _saving(run: Run, problems: Container[str]) -> Saving:
    asked = [facts for facts in run.completion_facts() if facts.problem_id in problems]
    answered = [facts for facts in asked if facts.answered]
    used = [facts.usage for facts in answered]
    costs = [facts.cost_usd for facts in asked if facts.answered or facts.cost_usd is not None]
    return Saving(
        problems=len({facts.problem_id for facts in answered}),
        tokens=_total(None if usage is None else usage.input_tokens + usage.output_tokens for usage in used),
        cost_usd=_total(costs),
    )


def _total(numbers: Iterable[N | None]) -> N | None:
    """The sum; None where one is not known or there is none."""
    known = list(numbers)
    return None if None in known or not known else sum(number for number in known if number is not None)
