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

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

import msgspec

from truegrade.records import Estimate
from truegrade.statistics.paired import PairedComparison, compare_paired
from truegrade.statistics.reasoning_records import Draw, Draws, MetricTable, Pair, ShareDifference
from truegrade.statistics.tally import TaskTally, all_solutions, mean_pass_at_k

# ----------------------------------------------------------------------------------------------------------------
# From counts to estimates and paired differences: the two steps that all metrics of execution reasoning share.

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


# ----------------------------------------------------------------------------------------------------------------
# Samples of execution choice, counted pair by pair: what was chosen, what was predicted, and in which order.


_Orders = Mapping[Literal["A", "B"], Sequence[Draw | None]]
"""Samples by the letter under which the original stood."""


class ChoiceLine(msgspec.Struct, frozen=True, array_like=True):
    """Counts of one pair of programs on one call, both orders together."""

    item: str
    case: int
    cluster: str
    mutation: str
    differs: bool
    boolean: bool
    orders: int
    """Orders with a graded sample, of two."""
    n: int
    """Graded samples."""
    truncated: int
    chose_original: int
    chose_mutant: int
    chose_a: int
    answered_original: int
    """Of the samples that chose the original: those that also hold a value."""
    answered_mutant: int
    right_original: int
    right_mutant: int
    reverted_original: int
    reverted_mutant: int
    same_original: int
    """Pairs of samples that choose the original in both orders."""
    same_mutant: int
    always_a: int
    always_b: int
    incomplete: int
    """Pairs of samples of which one names no program."""
    repeats: int
    """Disjoint pairs of valid samples of one and the same order."""
    repeats_same: int

    @property
    def place(self) -> str:
        """Its name among the pairs of a run."""
        return f"{self.item}/{self.case}/{self.mutation}"

    @property
    def valid(self) -> int:
        """Samples that name a program."""
        return self.chose_original + self.chose_mutant

    @property
    def right(self) -> int:
        """Samples whose value is that of the program they chose."""
        return self.right_original + self.right_mutant

    @property
    def answered(self) -> int:
        """Samples that name a program and hold a value."""
        return self.answered_original + self.answered_mutant

    @property
    def pairs(self) -> int:
        """Pairs of valid samples, one of each order."""
        return self.same_original + self.same_mutant + self.always_a + self.always_b

    @property
    def same(self) -> int:
        """Pairs of samples that choose one program in both orders."""
        return self.same_original + self.same_mutant

    @property
    def reversible(self) -> bool:
        """Whether OR and MR are defined here."""
        return self.differs and not self.boolean


def count_choices(pairs: Iterable[Pair], draws: Draws) -> list[ChoiceLine]:
    """Counts pair by pair; the two orders of one item, case and mutation belong together."""
    places: dict[tuple[str, int, str], list[Pair]] = defaultdict(list)
    for pair in pairs:
        places[pair.item, pair.case, pair.mutation].append(pair)
    return [_line(orders, draws) for orders in places.values()]


def _line(orders: Sequence[Pair], draws: Draws) -> ChoiceLine:
    samples: _Orders = {order.original: draws.get(order.id, ()) for order in orders}
    graded = [draw for order in samples.values() for draw in order if draw is not None]
    originals = [draw for draw in graded if draw.chosen == "original"]
    mutants = [draw for draw in graded if draw.chosen == "mutant"]
    first = orders[0]
    return ChoiceLine(
        item=first.item,
        case=first.case,
        cluster=first.cluster,
        mutation=first.mutation,
        differs=first.differs,
        boolean=first.boolean,
        **_across_orders(samples),
        orders=sum(any(draw is not None for draw in order) for order in samples.values()),
        n=len(graded),
        truncated=sum(draw.truncated for draw in graded),
        chose_original=len(originals),
        chose_mutant=len(mutants),
        answered_original=sum(draw.answered for draw in originals),
        answered_mutant=sum(draw.answered for draw in mutants),
        right_original=sum(draw.right for draw in originals),
        right_mutant=sum(draw.right for draw in mutants),
        reverted_original=sum(draw.reverted for draw in originals),
        reverted_mutant=sum(draw.reverted for draw in mutants),
    )


def _across_orders(samples: _Orders) -> dict[str, int]:
    """Counts that depend on the order: letters, and samples paired by their number."""
    letters = [_letter(draw, original) for original, order in samples.items() for draw in order]
    repeats = [pair for order in samples.values() for pair in _valid(zip(order[::2], order[1::2], strict=False))]
    both = [*zip(samples.get("A", ()), samples.get("B", ()), strict=False)]
    # the original stands under A in the first of the two, under B in the second
    kinds = Counter((one.chosen, other.chosen) for one, other in _valid(both))
    graded = sum(one is not None and other is not None for one, other in both)
    return {
        "chose_a": letters.count("A"),
        "same_original": kinds["original", "original"],
        "same_mutant": kinds["mutant", "mutant"],
        "always_a": kinds["original", "mutant"],
        "always_b": kinds["mutant", "original"],
        "incomplete": graded - kinds.total(),
        "repeats": len(repeats),
        "repeats_same": sum(one.chosen == other.chosen for one, other in repeats),
    }


def _valid(pairs: Iterable[tuple[Draw | None, Draw | None]]) -> Iterable[tuple[Draw, Draw]]:
    """Pairs of samples that both name a program."""
    for one, other in pairs:
        if one is not None and other is not None and one.chosen is not None and other.chosen is not None:
            yield one, other


def _letter(draw: Draw | None, original: Literal["A", "B"]) -> str | None:
    if draw is None or draw.chosen is None:
        return None
    return "A" if (draw.chosen == "original") == (original == "A") else "B"


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
