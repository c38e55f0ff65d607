"""Execution prediction on originals and mutants: correctness, reversion, stability.

With n samples of a program on a call, c of them equal to its true value and r equal to the value of the *other*
program (arXiv 2504.05518; as computed by akshsgaur/code-reasoning-repro@6c43fa8, whose README defines reversion
otherwise than its code, which is followed here):

- OC, MC: mean of c / n on originals, on mutants: pass@1. PC: the same on rewritings that mean the same.
- OR, MR: mean of r / n on originals, on mutants. MR is the mark of pattern matching: the mutant was read, the
  original was answered. Defined where the two programs return different values; booleans are left out, since
  every wrong boolean would be a reversion.

Aggregations, of which the repository mixes two without saying so:

- ``per_case`` (its notebooks): every case counts for itself; a boolean case drops out of OR and MR.
- ``all_cases`` (its Bedrock runs): sample i of an item counts as right if it is right on all cases of the item,
  as reverted if it is reverted on all. A boolean, or a list of booleans, on any case drops the whole item out of
  OR and MR, and so does an item whose programs differ on no case.
- ``mean`` weighs every case (or item) alike, as the formulas do; ``micro`` every sample, as the repository does.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import median_low
from typing import Literal

import msgspec

from truegrade.records import Estimate
from truegrade.statistics.reasoning_choice import Weighting, difference, measure, present
from truegrade.statistics.reasoning_records import (
    Draw,
    Draws,
    MetricTable,
    PredictionPrompt,
    ShareDifference,
    Shown,
)
from truegrade.statistics.tally import TaskTally, mean_pass_at_k

# ----------- Samples of execution prediction, counted: per case, and with the cases of an item taken together.


class ProgramLine(msgspec.Struct, frozen=True, array_like=True):
    """Counts of one program on one call, or on all calls of its item."""

    id: str
    item: str
    case: int | None
    """None: all cases together."""
    shown: Shown
    cluster: str
    mutation: str
    n: int
    """Graded samples."""
    right: int
    typed: int
    exact: int
    reverted: int
    answered: int
    truncated: int
    differs: bool
    boolean: bool
    unfamiliar: bool | None = None
    """Whether the program holds unfamiliar syntax; None where nothing is known of its source."""
    length: int | None = None
    depth: int | None = None
    steps: int | None = None

    @property
    def reversible(self) -> bool:
        """Whether OR and MR are defined here."""
        return self.differs and not self.boolean

    @property
    def place(self) -> str:
        """What an original shares with its mutant: item and case."""
        return f"{self.item}/{self.case}"


def per_case(programs: Iterable[PredictionPrompt], draws: Draws) -> list[ProgramLine]:
    """Counts case by case."""
    return [_line(program, program.case, _graded(draws.get(program.id, ()))) for program in programs]


def all_cases(programs: Iterable[PredictionPrompt], draws: Draws) -> list[ProgramLine]:
    """Counts item by item: sample i counts if it has a verdict on every case, and holds if it holds on all."""
    items: dict[tuple[str, Shown, str], list[PredictionPrompt]] = defaultdict(list)
    for program in programs:
        # rewritings of one item are told apart by their rule; an item has one original and one mutant
        rule = program.mutation if program.shown == "preserved" else ""
        items[program.item, program.shown, rule].append(program)
    lines = []
    for cases in items.values():
        rows = zip(*_same_length([draws.get(case.id, ()) for case in cases]), strict=True)
        joined = [_joined(row) for row in rows]
        whole = msgspec.structs.replace(
            cases[0],
            id=" ".join(case.id for case in cases),
            differs=any(case.differs for case in cases),
            boolean=any(case.boolean or case.booleans for case in cases),
        )
        lines.append(_line(whole, None, _graded(joined)))
    return lines


def _joined(row: Sequence[Draw | None]) -> Draw | None:
    """The sample of an item, from its samples on each case."""
    if len(row) == 1:
        return row[0]
    known = _graded(row)
    if len(known) < len(row):
        return None
    return Draw(
        right=all(draw.right for draw in known),
        typed=all(draw.typed for draw in known),
        exact=all(draw.exact for draw in known),
        reverted=all(draw.reverted for draw in known),
        answered=all(draw.answered for draw in known),
        truncated=any(draw.truncated for draw in known),
    )


def _line(program: PredictionPrompt, case: int | None, graded: Sequence[Draw]) -> ProgramLine:
    known = program.covariates
    return ProgramLine(
        id=program.id,
        item=program.item,
        case=case,
        shown=program.shown,
        cluster=program.cluster,
        mutation=program.mutation,
        n=len(graded),
        right=sum(draw.right for draw in graded),
        typed=sum(draw.typed for draw in graded),
        exact=sum(draw.exact for draw in graded),
        reverted=sum(draw.reverted for draw in graded),
        answered=sum(draw.answered for draw in graded),
        truncated=sum(draw.truncated for draw in graded),
        differs=program.differs,
        boolean=program.boolean,
        unfamiliar=None if known is None else bool(known.unfamiliar),
        length=None if known is None else known.length,
        depth=None if known is None else known.depth,
        steps=None if known is None else known.steps,
    )


def _graded(draws: Iterable[Draw | None]) -> list[Draw]:
    return [draw for draw in draws if draw is not None]


def _same_length(rows: Sequence[Sequence[Draw | None]]) -> list[list[Draw | None]]:
    # A sample that one case lacks leaves the item's sample unknown, not wrong.
    most = max(map(len, rows))
    return [[*row, *([None] * (most - len(row)))] for row in rows]


# ------------- Execution prediction by what else makes programs hard: unfamiliar syntax, length, depth, steps.
# A mutant differs from its original in more than what it returns. Where mutants are asked, an item and case
# belong to the stratum of the mutant, and OC there is of the originals of these very mutants; else to that of the
# original.


NAMES: tuple[tuple[str, str, str], ...] = (
    ("unfamiliar", "familiar syntax", "unfamiliar syntax"),
    ("length", "shorter", "longer"),
    ("depth", "shallower", "deeper"),
    ("steps", "fewer steps", "more steps"),
)
"""Field of `ProgramLine`, and what the two strata are called; numbers are parted behind the lower median."""


class Stratum(msgspec.Struct, frozen=True, kw_only=True):
    """The programs that are alike in one covariate."""

    covariate: str
    name: str
    above: int | None
    """Where numbers are parted: up to it, and above it; None for syntax."""
    estimates: list[Estimate]
    """OC, MC, OR, MR, as far as they are defined."""
    difference: ShareDifference | None
    """``MC - OC``, paired by case."""


class StratumLines(msgspec.Struct, frozen=True):
    """The lines of a stratum."""

    covariate: str
    name: str
    above: int | None
    places: frozenset[str]

    def of(self, lines: Sequence[ProgramLine]) -> list[ProgramLine]:
        """Those of its places; of another run, too."""
        return [line for line in lines if line.place in self.places and line.shown != "preserved"]


def parts(lines: Sequence[ProgramLine]) -> Iterator[StratumLines]:
    """The strata by each covariate that has two."""
    deciding: Shown = "mutant" if any(line.shown == "mutant" for line in lines) else "original"
    asked = [line for line in lines if line.shown == deciding and line.n]
    for covariate, low, high in NAMES:
        values = {line.place: getattr(line, covariate) for line in asked}
        known = {place: int(value) for place, value in values.items() if value is not None}
        if len(set(known.values())) < 2:
            continue
        above = 0 if covariate == "unfamiliar" else median_low(known.values())
        if above == max(known.values()):
            above = max(value for value in known.values() if value < above)
        told = None if covariate == "unfamiliar" else above
        yield StratumLines(
            covariate, low, told, frozenset(place for place, value in known.items() if value <= above)
        )
        yield StratumLines(
            covariate, high, told, frozenset(place for place, value in known.items() if value > above)
        )


# ------ Stability: whether semantics-preserving rewritings change the outcome, compared with repeated samples.
# Samples are paired by their number, disjointly, so that the pairs are independent draws.


def stability(programs: Sequence[PredictionPrompt], draws: Draws) -> Estimate | None:
    """Share of (original, rewriting) pairs of samples that are both right or both wrong; None without any."""
    originals = {(p.item, p.case): p.id for p in programs if p.shown == "original"}
    agreements = []
    for program in programs:
        original = originals.get((program.item, program.case))
        if program.shown == "preserved" and original is not None:
            pairs = zip(draws.get(original, ()), draws.get(program.id, ()), strict=False)
            agreements.append(_agreement(program, pairs))
    return measure("stability", agreements)


def repeat_agreement(programs: Sequence[PredictionPrompt], draws: Draws) -> Estimate | None:
    """The same for samples 0 and 1, 2 and 3, ... of each original; None where each has a single sample."""
    found = []
    for program in programs:
        samples = draws.get(program.id, ())
        if program.shown == "original":
            found.append(_agreement(program, zip(samples[::2], samples[1::2], strict=False)))
    return measure("repeat_agreement", found)


def _agreement(program: PredictionPrompt, pairs: Iterable[tuple[Draw | None, Draw | None]]) -> TaskTally:
    known = [(one, other) for one, other in pairs if one is not None and other is not None]
    agreeing = sum(one.right == other.right for one, other in known)
    return TaskTally(task_id=program.id, cluster=program.cluster, n=len(known), c=agreeing)


Count = Literal["right", "typed", "exact", "reverted"]

CORRECTNESS: tuple[tuple[str, Shown], ...] = (("OC", "original"), ("MC", "mutant"), ("PC", "preserved"))
REVERSION: tuple[tuple[str, Shown], ...] = (("OR", "original"), ("MR", "mutant"))
MODES: tuple[tuple[str, Count], ...] = (("python_eq", "right"), ("strict_typed", "typed"), ("repr_exact", "exact"))


class PredictionSummary(msgspec.Struct, frozen=True, kw_only=True):
    """Everything a run says about execution prediction. Unless said otherwise: per case, mean."""

    tables: list[MetricTable]
    """The first is the headline: ``per_case``, ``mean``."""
    modes: dict[str, list[Estimate]]
    """OC, MC and PC by the mode of comparison: ``python_eq``, ``strict_typed``, ``repr_exact``."""
    given_answer: list[Estimate]
    """OC, MC and PC over the samples that hold an answer, each of them weighing the same."""
    pass_at: dict[str, list[Estimate]]
    """pass@k on originals, mutants and rewritings, for each k asked for."""
    differences: list[ShareDifference]
    """``MC - OC`` paired by case, the same where the values differ, and ``PC - OC``."""
    stability: list[Estimate]
    """``stability``: sample i has one outcome on a rewriting and on its original. ``repeat_agreement``: two
    samples of one original have one outcome; what ``stability`` would be if rewriting changed nothing."""
    by_mutation: dict[str, list[Estimate]]
    """MC and MR by operator."""
    same_value: int
    """Mutant cases on which both programs return one value: MC repeats OC there."""
    boolean: int
    """Mutant cases left out of MR because a value is boolean."""
    by_covariate: list[Stratum] = []
    """The same programs parted by unfamiliar syntax, length, depth and steps; see `Stratum`."""
    programs: list[ProgramLine]
    """What two runs are compared by; empty where only originals were asked, which pass@1 compares already."""


def summarise_prediction(
    programs: Sequence[PredictionPrompt], draws: Draws, ks: Sequence[int] = (1,)
) -> PredictionSummary | None:
    """Compute every metric of execution prediction; None where no program has a graded sample."""
    lines = per_case(programs, draws)
    if not any(line.n for line in lines):
        return None
    together = all_cases(programs, draws)
    units: dict[Literal["per_case", "all_cases"], list[ProgramLine]] = {"per_case": lines}
    if len(together) < len(lines) or any(program.booleans for program in programs):
        units["all_cases"] = together
    weightings: tuple[Weighting, ...] = ("mean", "micro")
    mutants = [line for line in lines if line.shown == "mutant"]
    return PredictionSummary(
        tables=[
            MetricTable(cases=cases, weighting=weighting, estimates=estimates(of, weighting))
            for cases, of in units.items()
            for weighting in weightings
        ],
        modes={mode: _correctness(lines, "mean", count) for mode, count in MODES},
        given_answer=_given_answer(lines),
        pass_at={shown: found for _, shown in CORRECTNESS if (found := _pass_at(lines, shown, ks))},
        differences=_differences(lines),
        stability=present([stability(programs, draws), repeat_agreement(programs, draws)]),
        by_mutation=_by_mutation(mutants),
        same_value=sum(not line.differs for line in mutants),
        boolean=sum(line.differs and line.boolean for line in mutants),
        by_covariate=[_stratum(part, lines) for part in parts(lines)],
        programs=lines if any(line.shown != "original" for line in lines) else [],
    )


# ----------------------------------------------------------------------------------------------- estimates


def estimates(lines: Sequence[ProgramLine], weighting: Weighting) -> list[Estimate]:
    """OC, MC, PC, OR, MR, as far as they are defined, and MC where the values differ if they do not everywhere."""
    found: list[Estimate | None] = [*_correctness(lines, weighting, "right")]
    mutants = [line for line in lines if line.shown == "mutant"]
    if any(not line.differs for line in mutants):
        differing = [line for line in mutants if line.differs]
        found.append(measure("MC_differing", tallies(differing, "mutant", "right"), weighting))
    found += [measure(name, reversions(lines, shown), weighting) for name, shown in REVERSION]
    return present(found)


def tallies(lines: Iterable[ProgramLine], shown: Shown, count: Count) -> list[TaskTally]:
    """Samples of the programs of one kind, and how many of them are ``count``."""
    return [
        TaskTally(
            task_id=line.id,
            cluster=line.cluster,
            n=line.n,
            c=getattr(line, count),
            unanswered=line.n - line.answered,
            truncated=line.truncated,
        )
        for line in lines
        if line.shown == shown
    ]


def reversions(lines: Iterable[ProgramLine], shown: Shown) -> list[TaskTally]:
    """Samples and reversions where reversion is defined."""
    return tallies((line for line in lines if line.reversible), shown, "reverted")


def paired_by_case(lines: Iterable[ProgramLine], shown: Shown) -> list[TaskTally]:
    """Samples and right ones under a name that an original shares with its mutant."""
    return [
        TaskTally(task_id=line.place, cluster=line.cluster, n=line.n, c=line.right)
        for line in lines
        if line.shown == shown
    ]


def _correctness(lines: Sequence[ProgramLine], weighting: Weighting, count: Count) -> list[Estimate]:
    return present([measure(name, tallies(lines, shown, count), weighting) for name, shown in CORRECTNESS])


def _given_answer(lines: Sequence[ProgramLine]) -> list[Estimate]:
    return present([measure(name, _answered(lines, shown), "micro") for name, shown in CORRECTNESS])


def _answered(lines: Iterable[ProgramLine], shown: Shown) -> list[TaskTally]:
    return [
        TaskTally(task_id=line.id, cluster=line.cluster, n=line.answered, c=line.right)
        for line in lines
        if line.shown == shown
    ]


def _pass_at(lines: Sequence[ProgramLine], shown: Shown, ks: Sequence[int]) -> list[Estimate]:
    counted = tallies(lines, shown, "right")
    most = max((tally.n for tally in counted), default=0)
    return [mean_pass_at_k(counted, k) for k in ks if k <= most]


def _by_mutation(mutants: Sequence[ProgramLine]) -> dict[str, list[Estimate]]:
    of: Mapping[str, list[ProgramLine]] = defaultdict(list)
    for line in mutants:
        of[line.mutation].append(line)
    return {
        name: present(
            [measure("MC", tallies(lines, "mutant", "right")), measure("MR", reversions(lines, "mutant"))]
        )
        for name, lines in sorted(of.items())
        if name
    }


def _stratum(part: StratumLines, lines: Sequence[ProgramLine]) -> Stratum:
    inside = part.of(lines)
    originals, mutants = paired_by_case(inside, "original"), paired_by_case(inside, "mutant")
    return Stratum(
        covariate=part.covariate,
        name=part.name,
        above=part.above,
        estimates=[found for found in estimates(inside, "mean") if found.metric != "MC_differing"],
        difference=difference("MC - OC", originals, mutants),
    )


# ------------------------------------------------------------------------------------------ paired by case


def _differences(lines: Sequence[ProgramLine]) -> list[ShareDifference]:
    originals = paired_by_case(lines, "original")
    differing = [line for line in lines if line.shown == "mutant" and line.differs]
    mutants = [line for line in lines if line.shown == "mutant"]
    found = [difference("MC - OC", originals, paired_by_case(mutants, "mutant"))]
    if len(differing) < len(mutants):
        found.append(difference("MC_differing - OC", originals, paired_by_case(differing, "mutant")))
    found.append(difference("PC - OC", originals, _rewritings_by_case(lines)))
    return [item for item in found if item is not None]


def _rewritings_by_case(lines: Iterable[ProgramLine]) -> list[TaskTally]:
    """All rewritings of one original on one call, taken together."""
    of: dict[str, list[ProgramLine]] = defaultdict(list)
    for line in lines:
        if line.shown == "preserved":
            of[line.place].append(line)
    return [
        TaskTally(
            task_id=place,
            cluster=group[0].cluster,
            n=sum(line.n for line in group),
            c=sum(line.right for line in group),
        )
        for place, group in of.items()
    ]
