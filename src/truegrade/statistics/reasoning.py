"""Execution reasoning as a whole: prediction and choice, two runs, problems and changed ones."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from truegrade.records import Estimate
from truegrade.statistics.paired import assess_difference
from truegrade.statistics.reasoning_choice import METRICS as CHOICE_METRICS
from truegrade.statistics.reasoning_choice import ChoiceSummary, choice_tallies, difference, summarise_choice
from truegrade.statistics.reasoning_prediction import (
    CORRECTNESS,
    REVERSION,
    PredictionSummary,
    ProgramLine,
    StratumLines,
    estimates,
    paired_by_case,
    parts,
    per_case,
    reversions,
    summarise_prediction,
    tallies,
)
from truegrade.statistics.reasoning_records import Draws, Pair, PredictionPrompt, ShareDifference
from truegrade.statistics.windows import CUTOFF, Tags, groups_of

# ----------------------------------------------------------------------------------------------------------------
# Problems and changed ones, paired: correctness of both, reversion, and the difference, in all and by group.
# With n samples of a problem, c of them right and r of them right by the tests of the problem it is paired with:
#
# - OC, MC: mean of c / n on originals, on changed problems: pass@1.
# - MR: mean of r / n on changed problems: the original was answered where the changed problem was asked. OR is
# the
#   reverse, which nothing but chance or a slip explains.
# - MC - OC: paired by problem; a pair is a cluster.
#
# The names are those of execution reasoning, which asks the same of programs.

GROUPS = ("benchmark", "family", "rule", CUTOFF, "month", "difficulty")
"""Kinds of group, in the order in which they are reported."""
_LEAST_GROUPS = 2


class PairedRates(msgspec.Struct, frozen=True, kw_only=True):
    """The measures of a group of pairs, or of all."""

    estimates: list[Estimate]
    """OC, MC, OR, MR, as far as they are defined."""
    difference: ShareDifference | None
    """``MC - OC``, paired by problem; None where no pair has samples on both sides."""


class PairedGroup(msgspec.Struct, frozen=True, kw_only=True):
    """The measures of one group of pairs."""

    by: str
    """One of `GROUPS`."""
    value: str
    rates: PairedRates


class ChangedSummary(msgspec.Struct, frozen=True, kw_only=True):
    """Everything a run says about changed problems."""

    rates: PairedRates
    groups: list[PairedGroup]
    """By each kind of group that has at least two."""
    programs: list[ProgramLine]
    """What two runs are compared by."""


def summarise_changed(
    problems: Sequence[PredictionPrompt], tags: Mapping[str, Tags], draws: Draws, cutoff: str | None = None
) -> ChangedSummary | None:
    """Compute the measures; None where nothing was graded.

    Args:
        problems: originals and changed problems.
        tags: of the changed problem of each item, by item; of an item without one, of the original.
        draws: samples by problem.
        cutoff: last day of the model's training data, ``YYYY-MM-DD``.
    """
    lines = per_case(problems, draws)
    if not any(line.n for line in lines):
        return None
    found: dict[tuple[str, str], set[str]] = defaultdict(set)
    for item, known in tags.items():
        named = {name: known[name] for name in ("benchmark", "family", "rule") if name in known}
        for kind, value in (named | groups_of(known, cutoff)).items():
            found[kind, value].add(item)
    values: dict[str, list[str]] = {}
    for kind, value in sorted(found):
        values.setdefault(kind, []).append(value)
    return ChangedSummary(
        rates=_rates(lines),
        groups=[
            PairedGroup(
                by=kind, value=value, rates=_rates([one for one in lines if one.item in found[kind, value]])
            )
            for kind in GROUPS
            if len(values.get(kind, ())) >= _LEAST_GROUPS
            for value in values[kind]
        ],
        programs=lines,
    )


def _rates(lines: Sequence[ProgramLine]) -> PairedRates:
    originals, changed = paired_by_case(lines, "original"), paired_by_case(lines, "mutant")
    return PairedRates(estimates=estimates(lines, "mean"), difference=difference("MC - OC", originals, changed))


class ReasoningSummary(msgspec.Struct, frozen=True, kw_only=True):
    """Prediction, choice and changed problems; None where the run holds none of it."""

    prediction: PredictionSummary | None = None
    choice: ChoiceSummary | None = None
    changed: ChangedSummary | None = None
    """Of problems to solve and changed ones, where the run asks such pairs."""

    def warnings(self) -> list[str]:
        """What a reader of the numbers must know."""
        return [*_prediction_warnings(self.prediction), *_choice_warnings(self.choice)]


def summarise_reasoning(
    programs: Sequence[PredictionPrompt], pairs: Sequence[Pair], draws: Draws, ks: Sequence[int] = (1,)
) -> ReasoningSummary | None:
    """Compute every metric; None where nothing of it was graded."""
    prediction, choice = summarise_prediction(programs, draws, ks), summarise_choice(pairs, draws)
    if prediction is None and choice is None:
        return None
    return ReasoningSummary(prediction=prediction, choice=choice)


def _prediction_warnings(prediction: PredictionSummary | None) -> list[str]:
    if prediction is None or not prediction.same_value:
        return []
    mutants = sum(line.shown == "mutant" for line in prediction.programs)
    where = f"on {prediction.same_value} of {mutants} mutant cases both programs return the same value"
    return [f"{where}: MC equals OC on these (see MC_differing), and OR and MR exclude them"]


def _choice_warnings(choice: ChoiceSummary | None) -> list[str]:
    if choice is None:
        return []
    said = []
    unread = choice.samples - choice.valid
    if unread:
        said.append(f"{unread} of {choice.samples} replies contain no valid choice; they count only in accuracy")
    if choice.one_order:
        said.append(
            f"{choice.one_order} of {len(choice.lines)} pairs were presented in one order only: there preference"
            " cannot be separated from position"
        )
    order = {estimate.metric: estimate.value for estimate in choice.order}
    letter, program = order.get("always_A", 0.0) + order.get("always_B", 0.0), order.get("same_program", 0.0)
    if letter > program:
        said.append(
            f"position has more influence than preference: both orders have the same letter in {letter:.0%} of"
            f" pairs, the same program in {program:.0%}"
        )
    return said


# ---------------------------------------------------------------------------------------------- comparison


def compare_reasoning(a: ReasoningSummary, b: ReasoningSummary) -> tuple[ShareDifference, ...]:
    """``b - a`` for each metric that both define, paired by problem; the gap is MC - OC of one and the same case.

    Raises:
        NotComparable: a problem is in different clusters in the two runs.
    """
    found: list[ShareDifference | None] = []
    if a.prediction is not None and b.prediction is not None:
        found += _compare_prediction(a.prediction.programs, b.prediction.programs)
    if a.choice is not None and b.choice is not None:
        found += _compare_choice(a.choice, b.choice)
    if a.changed is not None and b.changed is not None:
        found += _compare_prediction(a.changed.programs, b.changed.programs)
    return tuple(item for item in found if item is not None)


def _compare_prediction(a: Sequence[ProgramLine], b: Sequence[ProgramLine]) -> list[ShareDifference | None]:
    return [
        *(difference(name, tallies(a, shown, "right"), tallies(b, shown, "right")) for name, shown in CORRECTNESS),
        gap_difference(a, b),
        *(difference(name, reversions(a, shown), reversions(b, shown)) for name, shown in REVERSION),
        *(found for part in parts(a) for found in _compare_part(part, a, b)),
    ]


def _compare_part(
    part: StratumLines, a: Sequence[ProgramLine], b: Sequence[ProgramLine]
) -> list[ShareDifference | None]:
    """Mutants inside a stratum of the first run: right, and by syntax also reverted."""
    first, second = part.of(a), part.of(b)
    found = [difference(f"MC, {part.name}", tallies(first, "mutant", "right"), tallies(second, "mutant", "right"))]
    if part.covariate == "unfamiliar":
        reverted = reversions(first, "mutant"), reversions(second, "mutant")
        found.append(difference(f"MR, {part.name}", *reverted))
    return found


def _compare_choice(a: ChoiceSummary, b: ChoiceSummary) -> list[ShareDifference | None]:
    metrics = [*CHOICE_METRICS, ("same_program", "same", "pairs")]
    found = []
    for name, count, base in metrics:
        reversible = name in {"OR", "MR"}
        sides = [choice_tallies(side.lines, count, base, reversible=reversible) for side in (a, b)]
        found.append(difference(f"choice {name}", *sides))
    return found


def gap_difference(a: Iterable[ProgramLine], b: Iterable[ProgramLine]) -> ShareDifference | None:
    """How much more B loses on mutants than A: the difference of ``MC - OC``, case by case.

    Halved, such a difference lies in [-1, 1] as `assess_difference` wants it.
    """
    gaps_a, gaps_b = _gaps(a), _gaps(b)
    common = [place for place in gaps_a if place in gaps_b]
    if not common:
        return None
    by_cluster: dict[str, list[float]] = {}
    for place in common:
        cluster, gap = gaps_a[place]
        by_cluster.setdefault(cluster, []).append((gaps_b[place][1] - gap) / 2)
    clusters = list(by_cluster.values())
    tested = assess_difference(clusters)
    first = sum(gaps_a[place][1] for place in common) / len(common)
    second = sum(gaps_b[place][1] for place in common) / len(common)
    return ShareDifference(
        metric="MC - OC",
        first=first,
        second=second,
        difference=second - first,
        low=None if tested.low is None else 2 * tested.low,
        high=None if tested.high is None else 2 * tested.high,
        confidence=0.95,
        method=tested.method,
        p_value=tested.p_value,
        pairs=len(common),
        clusters=len(clusters),
    )


def _gaps(lines: Iterable[ProgramLine]) -> dict[str, tuple[str, float]]:
    """Cluster and ``MC - OC`` of every case that has samples of both programs."""
    shares: dict[str, dict[str, tuple[str, float]]] = {"original": {}, "mutant": {}}
    for line in lines:
        if line.n and line.shown in shares:
            shares[line.shown][line.place] = (line.cluster, line.right / line.n)
    return {
        place: (cluster, share - shares["original"][place][1])
        for place, (cluster, share) in shares["mutant"].items()
        if place in shares["original"]
    }
