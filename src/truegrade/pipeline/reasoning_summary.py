"""Problems and outcomes as the statistics of execution reasoning, and of token budgets, want them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec

from truegrade.grading.marks import CHOSE_MUTANT, CHOSE_ORIGINAL, REVERTED, TEXT_DIFFERS, TYPES_DIFFER
from truegrade.kinds import kind_of
from truegrade.pipeline.verdicts import VerdictTable, counted_by_sample
from truegrade.records import UNANSWERED, Problem, Reason
from truegrade.statistics.budgets import BudgetCurve, SizedReply, budget_curve
from truegrade.statistics.reasoning import ReasoningSummary, summarise_changed, summarise_reasoning
from truegrade.statistics.reasoning_records import Draw, Pair, PredictionPrompt
from truegrade.store.facts import ReplyForm, VerdictKind


class Questions(msgspec.Struct, frozen=True):
    """What a run asked about execution, the same under every profile."""

    programs: list[PredictionPrompt]
    pairs: list[Pair]
    changed: list[PredictionPrompt] = []
    """Problems to solve that are paired with a changed one, and those."""
    tags: dict[str, dict[str, str]] = {}
    """Of these, by the original's id: the tags of both."""


def questions(problems: Iterable[Problem]) -> Questions:
    """Find the problems of prediction and choice; a program without a pairing is an original with one call."""
    found = Questions([], [], [], {})
    for problem in problems:
        kind = kind_of(problem.task)
        asked = kind.question(problem, problem.task)
        if isinstance(asked, Pair):
            found.pairs.append(asked)
        elif asked is not None and kind.gives == "value":
            found.programs.append(asked)
        elif asked is not None:
            found.changed.append(asked)
            found.tags.setdefault(asked.item, {}).update(problem.tags)
    return found


def reasoning(
    asked: Questions, outcomes: VerdictTable, ks: Sequence[int] = (1,), cutoff: str | None = None
) -> ReasoningSummary | None:
    """The metrics of one profile; None where the run asked nothing of the kind."""
    if not asked.programs and not asked.pairs and not asked.changed:
        return None
    draws = _draws(asked, outcomes)
    if asked.changed:
        return ReasoningSummary(changed=summarise_changed(asked.changed, asked.tags, draws, cutoff))
    return summarise_reasoning(asked.programs, asked.pairs, draws, ks)


def _draws(asked: Questions, outcomes: VerdictTable) -> Mapping[str, Sequence[Draw | None]]:
    """Samples by problem; equal outcomes become one and the same draw."""
    known: dict[VerdictKind, Draw] = {}

    def draw(outcome: VerdictKind | None) -> Draw | None:
        if outcome is None or outcome.reason is Reason.GRADER_ERROR:
            return None
        if outcome not in known:
            known[outcome] = _draw(outcome)
        return known[outcome]

    ids = [
        *(program.id for program in asked.programs),
        *(pair.id for pair in asked.pairs),
        *(one.id for one in asked.changed),
    ]
    return {name: tuple(map(draw, outcomes[name])) for name in ids if name in outcomes}


def _draw(outcome: VerdictKind) -> Draw:
    marks = outcome.marks
    typed = outcome.passed and TYPES_DIFFER not in marks
    return Draw(
        right=outcome.passed,
        typed=typed,
        exact=typed and TEXT_DIFFERS not in marks,
        reverted=REVERTED in marks,
        answered=outcome.reason not in UNANSWERED,
        truncated=outcome.truncated,
        chosen="original" if CHOSE_ORIGINAL in marks else "mutant" if CHOSE_MUTANT in marks else None,
    )


# ------------------------------ Pass rate against token budget of a graded run, from the facts of its replies.


def pass_rate_by_budget(
    outcomes: VerdictTable, problems: Mapping[str, Problem], form: Callable[[str, int], ReplyForm]
) -> BudgetCurve:
    """The curve of one profile, over the verdicts that count.

    Args:
        outcomes: under the profile; one counts at least.
        problems: those that it scores, by id.
        form: of the reply to a sample, by problem and number.
    """
    found = (
        (problems[task], outcome, form(task, sample))
        for task, samples in outcomes.items()
        for sample, outcome in counted_by_sample(samples)
    )
    return budget_curve(
        SizedReply(problem.id, problem.cluster, outcome.passed, length.tokens, length.cut)
        for problem, outcome, length in found
    )
