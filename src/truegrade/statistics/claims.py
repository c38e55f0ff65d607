"""Comparison of a printed percentage with a measured one: matching counts, and p-values.

A claim such as "67.7" is a rounded share of a whole number of draws. Its digits exclude denominators, and it has
a sampling error of its own, which a comparison must not forget.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import product
from math import ceil, erfc, floor, sqrt

import msgspec

from truegrade.errors import UserError
from truegrade.records import Estimate
from truegrade.statistics.intervals import two_sided_z
from truegrade.statistics.tally import TaskTally

USUAL_TASKS = (164, 974, 500, 427, 257, 378, 399, 224, 800)
"""Sizes that published scores are shares of: HumanEval; MBPP whole, test split, sanitized, its test split; MBPP+
v0.2.0, v0.1.0, and the test problems of v0.2.0; CRUXEval."""

USUAL_SAMPLES = (1, 2, 5, 10, 20, 50, 100, 200)
"""Samples per problem that papers use."""


class Claim(msgspec.Struct, frozen=True):
    """A percentage as printed; its digits are part of what it says."""

    text: str

    @property
    def value(self) -> Fraction:
        """The printed number as a fraction of 1."""
        return Fraction(self.text) / 100

    @property
    def decimals(self) -> int:
        """Digits behind the point."""
        return len(self.text.partition(".")[2])

    @property
    def half_unit(self) -> Fraction:
        """Half of one unit in the last printed digit, as a fraction of 1: 67.7 stands for 67.65 up to 67.75."""
        return Fraction(1, 200 * 10**self.decimals)

    @property
    def low(self) -> float:
        """The smallest share that prints like this."""
        return float(max(Fraction(0), self.value - self.half_unit))

    @property
    def high(self) -> float:
        """The bound below which shares print like this."""
        return float(min(Fraction(1), self.value + self.half_unit))


def parse_claim(text: str) -> Claim:
    """Read a claim: digits, at most one point, perhaps a percent sign.

    Raises:
        UserError: not a percentage between 0 and 100.
    """
    bare = text.strip().removesuffix("%").strip()
    if not re.fullmatch(r"[0-9]{1,3}(\.[0-9]{1,9})?", bare) or Decimal(bare) > 100:
        raise UserError(f"claim {text!r}: a percentage as printed is needed, from 0 to 100, such as 67.7")
    return Claim(bare)


class Fit(msgspec.Struct, frozen=True, kw_only=True):
    """A denominator for which some count prints like the claim."""

    tasks: int
    samples: int
    denominator: int
    first: int
    """Smallest count that prints like the claim."""
    last: int
    """Largest one."""
    cut_off: bool = False
    """The digits come out only if further ones are dropped rather than rounded."""
    decisive: bool
    """Few enough draws for digits to exclude something: not every number with these digits has a count."""


def fit(claim: Claim, denominator: int) -> range:
    """Counts out of ``denominator`` whose share rounds to the claim.

    A share halfway between two prints counts for the upper one, as taught at school, for the even one, as IEEE 754
    rounds, and for what Python prints of it, which is neither where the float lies below: 79.35 prints as 79.3.
    """
    low, high = claim.value - claim.half_unit, claim.value + claim.half_unit
    # Fractions, not floats: what is asked about are counts that lie on a bound.
    first, last = max(0, ceil(low * denominator)), min(denominator, floor(high * denominator))
    odd = int(claim.text[-1]) % 2 == 1
    # On the upper bound itself, school rounds up to the next print, and IEEE 754 to the even one.
    if last == high * denominator and odd and not _python_prints(claim, last, denominator):
        last -= 1
    return range(first, last + 1)


def _python_prints(claim: Claim, count: int, denominator: int) -> bool:
    """Whether Python prints the share as the claim, multiplied by 100 before or after the division."""
    percent = (100 * count / denominator, 100 * (count / denominator))
    return any(Fraction(f"{value:.{claim.decimals}f}") / 100 == claim.value for value in percent)


def fit_cut_off(claim: Claim, denominator: int) -> range:
    """Counts whose share starts with the claim's digits and goes on, as where a table was not rounded."""
    above = claim.value + 2 * claim.half_unit
    # Open at the upper end, where the next number's digits begin.
    return range(ceil(claim.value * denominator), min(denominator, ceil(above * denominator) - 1) + 1)


def fits(claim: Claim, tasks: Iterable[int], samples: Iterable[int] = USUAL_SAMPLES) -> tuple[Fit, ...]:
    """Every number of problems and of samples per problem that can print like the claim, each pair once.

    Rounded fits first; a pair without one shows a fit of cut-off digits, if there is one.
    """
    pairs = product(dict.fromkeys(tasks), dict.fromkeys(samples))
    found = [fitting for size, each in pairs if (fitting := _fit_of(claim, size, each)) is not None]
    return tuple(sorted(found, key=lambda fitting: fitting.cut_off))


def _fit_of(claim: Claim, tasks: int, samples: int) -> Fit | None:
    denominator = tasks * samples
    rounded = fit(claim, denominator)
    counts = rounded or fit_cut_off(claim, denominator)
    if not counts:
        return None
    return Fit(
        tasks=tasks,
        samples=samples,
        denominator=denominator,
        first=counts[0],
        last=counts[-1],
        cut_off=not rounded,
        # From so many draws on, every number with these digits has a count.
        decisive=denominator < 100 * 10**claim.decimals,
    )


# ------------------------------------------------------------------------------------------------ chance


def effective_draws(estimate: Estimate) -> float | None:
    """Independent draws that would give an estimate its interval; None where it has none.

    The width w of Wilson's interval around a share p from n draws solves, with u = z² / n,
    ``w² (1 + u)² = 4 p (1 - p) u + u²``, which has exactly one positive root for 0 < w < 1.
    """
    if estimate.low is None or estimate.high is None or not 0 < estimate.high - estimate.low < 1:
        return None
    squared = (estimate.high - estimate.low) ** 2
    a, b = squared - 1, 2 * squared - 4 * estimate.value * (1 - estimate.value)
    # a < 0 < squared, so the roots differ in sign, and this one is positive.
    root = (-b - sqrt(b * b - 4 * a * squared)) / (2 * a)
    return two_sided_z(estimate.confidence) ** 2 / root


def nearest(claim: Claim, value: float) -> float:
    """The share closest to ``value`` among those that print like the claim."""
    return min(max(value, claim.low), claim.high)


def independent_p(claim: Claim, claimed_draws: int, value: float, draws: float) -> float:
    """Two-sided p-value that claim and measurement have one expected score: pooled two-proportion z test.

    The claim is taken for ``claimed_draws`` independent draws, the measurement for the ``draws`` that its
    clustered interval is worth. Both are thereby allowed the luck of which problems they met. On the *same*
    problems they share that luck, so the true p-value is smaller: a small one is evidence, a large one is none. A
    claim made by greedy decoding has no luck in its draws at all; then only `same_tasks_p` with care, or a rerun,
    can tell. The claim is moved inside its printed range as far towards ``value`` as it goes.
    """
    claimed = nearest(claim, value)
    pooled = (claimed * claimed_draws + value * draws) / (claimed_draws + draws)
    variance = pooled * (1 - pooled) * (1 / claimed_draws + 1 / draws)
    return _two_sided(claimed - value, variance)


def same_tasks_p(claim: Claim, claimed_samples: int, tallies: Sequence[TaskTally]) -> float | None:
    """Two-sided p-value given the problems: only the draws of either side vary, the problems are common to both.

    Each problem's variance of one draw is estimated without bias from its samples, ``c (n - c) / (n (n - 1))``,
    and taken to hold for the claimed model too. For mean scores per problem (pass@1).

    Returns:
        None where a problem has a single sample, so that the variance of its draws is not known.
    """
    if not tallies or min(tally.n for tally in tallies) < 2:
        return None
    value = sum(tally.c / tally.n for tally in tallies) / len(tallies)
    variance = sum(
        tally.c * (tally.n - tally.c) / (tally.n * (tally.n - 1)) * (1 / tally.n + 1 / claimed_samples)
        for tally in tallies
    )
    return _two_sided(nearest(claim, value) - value, variance / len(tallies) ** 2)


def _two_sided(difference: float, variance: float) -> float:
    """Two-sided normal p-value; without variance any difference is more than chance."""
    if abs(difference) < 1e-12:
        return 1.0
    return erfc(abs(difference) / sqrt(2 * variance)) if variance > 0 else 0.0


# --------- How a p-value is told: as a number, or as the bound that is known where no random draw came as far.


FLIPS = 10_000
"""Random sign flips of a test by clusters, where there are too many clusters to enumerate them all."""


def at_floor(p: float, draws: int = FLIPS) -> bool:
    """Whether a p-value is the smallest that so many random draws can give: none of them came as far."""
    return abs(p * (draws + 1) - 1) < 1e-9


def told(p: float, draws: int = FLIPS, *, digits: int = 2) -> str:
    """``= 0.012``; ``< 0.0002`` at the floor, the next value that ``draws`` random draws can give."""
    return f"< {2 / (draws + 1):.1g}" if at_floor(p, draws) else f"= {p:.{digits}g}"


# ------------------------------------------------------------ Correction of p-values for multiple comparisons.


METHOD = "Holm 1979"


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's adjusted p-values, in the order given.

    Calling significant whatever is at most alpha makes one false claim or more with probability alpha at most,
    however the tests depend on each other (Holm 1979, Scandinavian J. Statistics 6:65-70). The i-th smallest of m
    p-values is multiplied by m - i + 1, and none may be below one that was smaller before.
    """
    adjusted = [0.0] * len(p_values)
    largest = 0.0
    for rank, place in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[place]))
        adjusted[place] = largest
    return adjusted
