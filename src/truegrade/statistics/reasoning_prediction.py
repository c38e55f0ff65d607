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
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

import msgspec

from truegrade.records import Estimate
from truegrade.statistics.reasoning_counts import ProgramLine, all_cases, per_case
from truegrade.statistics.reasoning_covariates import Stratum, StratumLines, parts
from truegrade.statistics.reasoning_measures import Weighting, difference, measure, present
from truegrade.statistics.reasoning_records import Draws, MetricTable, PredictionPrompt, ShareDifference, Shown
from truegrade.statistics.reasoning_stability import repeat_agreement, stability
from truegrade.statistics.tally import TaskTally
from truegrade.statistics.tally import pass_at_k as mean_pass_at_k

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
