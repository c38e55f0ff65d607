"""The one rule for a claim about a file: whether the file's own number prints as the claim, and how far it is off.

`truegrade check`, `truegrade replicate` and the flags of an audit are all held against a claim by it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from enum import StrEnum
from fractions import Fraction
from math import comb

import msgspec

from truegrade.statistics import TaskTally
from truegrade.statistics.claims import Claim, fit, fit_cut_off
from truegrade.statistics.tally import samples_needed


class Agreement(StrEnum):
    """Whether a number prints as the claim."""

    ROUNDED = "prints as the claim"
    TRUNCATED = "fits only truncated"
    """The claim's digits come out only if further ones are dropped: 79.8 for 79.878."""
    DIFFERS = "differs"


class OwnNumber(msgspec.Struct, frozen=True, kw_only=True):
    """The number that a file or run itself gives, held against a claim about it."""

    agreement: Agreement
    share: float
    """As a fraction of 1."""
    count: int | None = None
    """What is right of ``total``; None for a mean of other fractions: pass@k of more than k samples, pass@1 of
    uneven samples."""
    total: int | None = None
    difference: int | None = None
    """Smallest difference between ``count`` and a count that prints as the claim; None if none out of ``total``
    does."""
    apart: str
    """How far claim and number are apart, such as ``8 of 164 draws`` or ``4.88 points``; empty if they are not, or
    no count prints as the claim."""
    sentence: str

    @property
    def agrees(self) -> bool:
        """Whether the number prints as the claim, rounded or truncated."""
        return self.agreement is not Agreement.DIFFERS


def own_number(claim: Claim, metric: str, tallies: Sequence[TaskTally]) -> OwnNumber | None:
    """Hold the value of a metric against a claim about it; None where no problem has the samples for it.

    Problems with fewer samples than the metric needs are left out, as by `truegrade.statistics.estimate`.
    """
    needed = samples_needed(metric)
    counted = [tally for tally in tallies if tally.n >= needed]
    if not counted:
        return None
    widths = {tally.n for tally in counted}
    if metric == "all_correct":
        return own_count(claim, sum(tally.c == tally.n for tally in counted), len(counted), "problems")
    if metric == "any_correct" or (needed > 1 and widths == {needed}):
        return own_count(claim, sum(tally.c > 0 for tally in counted), len(counted), "problems")
    if metric == "all_solutions" or (needed == 1 and len(widths) == 1):
        return own_count(claim, sum(tally.c for tally in counted), sum(tally.n for tally in counted), "draws")
    return _own_mean(claim, metric, _mean_pass_at_k(counted, needed))


def own_count(claim: Claim, count: int, total: int, unit: str) -> OwnNumber:
    """Hold ``count`` out of ``total`` ``draws`` or ``problems``, as ``unit`` says, against a claim."""
    share = Fraction(count, total)
    agreement, words = _words(claim, share)
    ends = {
        end
        for counts in (fit(claim, total), fit_cut_off(claim, total))
        if counts
        for end in (counts[0], counts[-1])
    }
    difference: int | None = 0
    apart = ""
    if agreement is Agreement.DIFFERS:
        nearest = min(ends, key=lambda end: abs(end - count), default=None)
        difference = None if nearest is None else abs(nearest - count)
        apart = f"{difference} of {total} {unit}" if difference else ""
        words += (
            f"; no count out of {total} prints as {claim.text}"
            if nearest is None
            else f"; the nearest count that prints as {claim.text} is {nearest}"
        )
    return OwnNumber(
        agreement=agreement,
        share=float(share),
        count=count,
        total=total,
        difference=difference,
        apart=apart,
        sentence=f"measured: {count} of {total} {unit}, {words}",
    )


def _own_mean(claim: Claim, metric: str, share: Fraction) -> OwnNumber:
    """A mean of fractions is no count of draws: what separates it from the claim is given in points."""
    agreement, words = _words(claim, share)
    points = 100 * float(abs(share - claim.value))
    return OwnNumber(
        agreement=agreement,
        share=float(share),
        apart=f"{points:.{claim.decimals + 1}f} points" if agreement is Agreement.DIFFERS else "",
        sentence=f"measured: the mean of {metric} over the problems, {words}",
    )


def _words(claim: Claim, share: Fraction) -> tuple[Agreement, str]:
    """Whether a share prints as the claim, in words too."""
    percent = f"{100 * float(share):.{claim.decimals + 2}f} %"
    if share.numerator in fit(claim, share.denominator):
        return Agreement.ROUNDED, f"which prints as {claim.text}"
    if share.numerator in fit_cut_off(claim, share.denominator):
        rounded = f"{100 * float(share):.{claim.decimals}f}"
        return Agreement.TRUNCATED, f"{percent}; {claim.text} fits only truncated, rounded it prints as {rounded}"
    return Agreement.DIFFERS, percent


def _mean_pass_at_k(tallies: Sequence[TaskTally], k: int) -> Fraction:
    """Exactly what `truegrade.statistics.mean_pass_at_k` gives as a float: Chen et al. 2021, equation 1."""
    kinds = Counter((tally.n, tally.c) for tally in tallies)
    total = sum(times * (1 - Fraction(comb(n - c, k), comb(n, k))) for (n, c), times in kinds.items())
    return Fraction(total) / len(tallies)
