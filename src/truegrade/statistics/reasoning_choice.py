"""Execution choice: which of two programs a model trusts itself to execute, whether it can, and whether it only
picks a letter.

After arXiv 2504.05518 and akshsgaur/code-reasoning-repro@6c43fa8 (there without ``accuracy``, and as ``micro``):

- ``preference``: share of valid samples that choose the original. A sample is valid if it names a program in a
  form that the profile can read; ``accuracy`` is over all samples, valid or not.
- OC, MC: right for the program chosen, given that it is the original, the mutant.
- OR, MR: the other program's value instead, given the same; where the values differ and neither is boolean.

Every pair is asked in both orders. Sample i of the one order and sample i of the other are a pair of samples. Of
those in which both are valid a share each is ``same_program`` in both orders, ``always_A`` and ``always_B``; the
three add up to 1. A model that follows the letter has a preference near one half that means nothing, which is why
``preference_consistent`` counts the pairs of the first kind alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from truegrade.records import Estimate
from truegrade.statistics.reasoning_choice_counts import ChoiceLine, count_choices
from truegrade.statistics.reasoning_measures import Weighting, difference, measure, present
from truegrade.statistics.reasoning_records import Draws, MetricTable, Pair, ShareDifference
from truegrade.statistics.tally import TaskTally


class ChoiceSummary(msgspec.Struct, frozen=True, kw_only=True):
    """Everything a run says about execution choice. Unless said otherwise: mean over pairs of programs."""

    tables: list[MetricTable]
    """preference, OC, MC, OR, MR, accuracy; the first is the headline: ``mean``."""
    given_answer: list[Estimate]
    """OC, MC and accuracy over the samples that hold a value, each of them weighing the same."""
    order: list[Estimate]
    """``same_program``, ``always_A``, ``always_B``, ``preference_consistent``, ``chose_A`` of all valid samples,
    and ``repeat_same``: two samples of one order choose one program; what ``same_program`` would be if the order
    changed nothing."""
    position: ShareDifference | None
    """``always_A - always_B``."""
    samples: int
    valid: int
    truncated: int
    incomplete: int
    """Pairs of samples of which one names no program."""
    one_order: int
    """Pairs of programs that were asked in one order only."""
    lines: list[ChoiceLine]


def summarise_choice(pairs: Iterable[Pair], draws: Draws) -> ChoiceSummary | None:
    """Compute every metric of execution choice; None where no pair has a graded sample."""
    lines = count_choices(pairs, draws)
    if not any(line.n for line in lines):
        return None
    weightings: tuple[Weighting, ...] = ("mean", "micro")
    return ChoiceSummary(
        tables=[MetricTable(cases="per_case", weighting=w, estimates=estimates(lines, w)) for w in weightings],
        given_answer=present(
            [
                measure("OC", choice_tallies(lines, "right_original", "answered_original"), "micro"),
                measure("MC", choice_tallies(lines, "right_mutant", "answered_mutant"), "micro"),
                measure("accuracy", choice_tallies(lines, "right", "answered"), "micro"),
            ]
        ),
        order=_order(lines),
        # `difference` takes the first from the second, hence B before A.
        position=difference(
            "always_A - always_B",
            choice_tallies(lines, "always_b", "pairs"),
            choice_tallies(lines, "always_a", "pairs"),
        ),
        samples=sum(line.n for line in lines),
        valid=sum(line.valid for line in lines),
        truncated=sum(line.truncated for line in lines),
        incomplete=sum(line.incomplete for line in lines),
        one_order=sum(line.orders == 1 for line in lines),
        lines=lines,
    )


# ----------------------------------------------------------------------------------------------- estimates


def estimates(lines: Sequence[ChoiceLine], weighting: Weighting) -> list[Estimate]:
    """preference, OC, MC, OR, MR, accuracy, as far as they are defined."""
    return present(
        [
            measure(name, choice_tallies(lines, count, base, reversible=name in {"OR", "MR"}), weighting)
            for name, count, base in METRICS
        ]
    )


METRICS = (
    ("preference", "chose_original", "valid"),
    ("OC", "right_original", "chose_original"),
    ("MC", "right_mutant", "chose_mutant"),
    ("OR", "reverted_original", "chose_original"),
    ("MR", "reverted_mutant", "chose_mutant"),
    ("accuracy", "right", "n"),
)
"""Name, what is counted, and out of what: fields of `ChoiceLine`."""


def choice_tallies(
    lines: Iterable[ChoiceLine], count: str, base: str, *, reversible: bool = False
) -> list[TaskTally]:
    """One field of the lines out of another; only where reversion is defined, if asked."""
    return [
        TaskTally(task_id=line.place, cluster=line.cluster, n=getattr(line, base), c=getattr(line, count))
        for line in lines
        if line.reversible or not reversible
    ]


def _order(lines: Sequence[ChoiceLine]) -> list[Estimate]:
    return present(
        [
            measure("same_program", choice_tallies(lines, "same", "pairs")),
            measure("always_A", choice_tallies(lines, "always_a", "pairs")),
            measure("always_B", choice_tallies(lines, "always_b", "pairs")),
            measure("preference_consistent", choice_tallies(lines, "same_original", "same")),
            measure("chose_A", choice_tallies(lines, "chose_a", "valid")),
            measure("repeat_same", choice_tallies(lines, "repeats_same", "repeats")),
        ]
    )
