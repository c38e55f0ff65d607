"""Execution prediction by what else makes programs hard: unfamiliar syntax, length, depth, steps.

A mutant differs from its original in more than what it returns. Where mutants are asked, an item and case belong
to the stratum of the mutant, and OC there is of the originals of these very mutants; else to that of the original.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median_low

import msgspec

from truegrade.records import Estimate
from truegrade.statistics.reasoning_counts import ProgramLine
from truegrade.statistics.reasoning_records import ShareDifference, Shown

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
