"""Problems and changed ones, paired: correctness of both, reversion, and the difference, in all and by group.

With n samples of a problem, c of them right and r of them right by the tests of the problem it is paired with:

- OC, MC: mean of c / n on originals, on changed problems: pass@1.
- MR: mean of r / n on changed problems: the original was answered where the changed problem was asked. OR is the
  reverse, which nothing but chance or a slip explains.
- MC - OC: paired by problem; a pair is a cluster.

The names are those of execution reasoning, which asks the same of programs.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

import msgspec

from truegrade.records import Estimate
from truegrade.statistics.reasoning_measures import difference
from truegrade.statistics.reasoning_prediction import ProgramLine, estimates, paired_by_case, per_case
from truegrade.statistics.reasoning_records import Draws, PredictionPrompt, ShareDifference
from truegrade.statistics.windows import CUTOFF, Tags, groups_of

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
