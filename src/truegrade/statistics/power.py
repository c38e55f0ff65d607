"""Power of paired comparisons: problems needed, minimum detectable difference, and power.

One sample a problem, ``mcnemar_*``: the two runs differ on a share ``discordant`` of the problems, and B is right
on ``difference`` more of them than A. Connor 1987 (Biometrics 43:207-211) gives, for McNemar's test,

    n * difference = z(alpha) * sqrt(n * discordant) + z(power) * sqrt(n * (discordant - difference**2)) + 1

without the 1, which is Edwards' continuity correction (1948, Psychometrika 13:185-187). With it the numbers are
those of the exact test, the one reported here, or a little too careful; the tests of this module count the exact
power out.

Several samples a problem, or problems in clusters, ``mean_*``: a difference of means whose variance over n
problems is ``variance / n`` needs n = (z(alpha) + z(power))**2 * variance / difference**2 (Miller 2024, arXiv
2411.00640).
"""

from __future__ import annotations

from collections.abc import Callable
from math import ceil, sqrt
from statistics import NormalDist

from truegrade.errors import UserError
from truegrade.statistics.quantiles import two_sided_z

POWER = 0.8
ALPHA = 0.05
"""Conventional values: 80 % power at a significance level of 5 %."""
_STEPS = 60
"""Of a bisection: more than a double can tell apart."""


def mcnemar_power(tasks: int, discordant: float, difference: float, *, alpha: float = ALPHA) -> float:
    """Chance that the exact test on ``tasks`` problems is significant at ``alpha``.

    Raises:
        UserError: a share outside of (0, 1], or a difference that exceeds the discordant share.
    """
    _check(tasks=tasks, difference=difference, alpha=alpha)
    _check_discordant(discordant, difference)
    spread = sqrt(tasks * (discordant - difference**2))
    above = tasks * abs(difference) - 1.0 - two_sided_z(1.0 - alpha) * sqrt(tasks * discordant)
    # Only where discordant and difference are both 1: every task is won, and nothing is left to chance.
    if spread == 0.0:
        return 1.0 if above >= 0 else 0.0
    return NormalDist().cdf(above / spread)


def mcnemar_tasks(discordant: float, difference: float, *, power: float = POWER, alpha: float = ALPHA) -> int:
    """Problems that it takes to see ``difference`` with probability ``power``.

    Raises:
        UserError: as for `mcnemar_power`.
    """
    _check(difference=difference, alpha=alpha, power=power)
    _check_discordant(discordant, difference)
    slope = two_sided_z(1.0 - alpha) * sqrt(discordant)
    slope += NormalDist().inv_cdf(power) * sqrt(max(0.0, discordant - difference**2))
    # Connor's equation is quadratic in the root of n: n * difference - slope * sqrt(n) - 1 = 0.
    root = (slope + sqrt(slope**2 + 4.0 * abs(difference))) / (2.0 * abs(difference))
    return ceil(root**2)


def mcnemar_detectable(
    tasks: int, discordant: float, *, power: float = POWER, alpha: float = ALPHA
) -> float | None:
    """Smallest difference that ``tasks`` problems show with probability ``power``; None if they show none.

    Where it exceeds ``discordant`` every problem that differs is taken to be won.
    """
    _check(tasks=tasks, alpha=alpha, power=power)

    def reached(difference: float) -> bool:
        return mcnemar_power(tasks, max(discordant, difference), difference, alpha=alpha) >= power

    return _smallest(reached) if reached(1.0) else None


def mean_tasks(variance: float, difference: float, *, power: float = POWER, alpha: float = ALPHA) -> int:
    """Problems that it takes to see ``difference`` with probability ``power``, at least 2.

    Raises:
        UserError: a number that cannot be.
    """
    _check(difference=difference, alpha=alpha, power=power)
    return max(2, ceil(_both(power, alpha) ** 2 * variance / difference**2))


def mean_detectable(tasks: int, variance: float, *, power: float = POWER, alpha: float = ALPHA) -> float | None:
    """Smallest difference that ``tasks`` problems show with probability ``power``; None if that exceeds 1."""
    _check(tasks=tasks, alpha=alpha, power=power)
    found = _both(power, alpha) * sqrt(variance / tasks)
    return found if found <= 1.0 else None


def _both(power: float, alpha: float) -> float:
    """Standard errors between no difference and one that is seen with this power."""
    return two_sided_z(1.0 - alpha) + NormalDist().inv_cdf(power)


def _smallest(reached: Callable[[float], bool]) -> float:
    """The smallest number in (0, 1] from which on ``reached`` holds; it holds at 1."""
    low, high = 0.0, 1.0
    for _ in range(_STEPS):
        middle = (low + high) / 2.0
        low, high = (low, middle) if reached(middle) else (middle, high)
    return high


def _check(*, tasks: int = 1, difference: float = 1.0, alpha: float = ALPHA, power: float = POWER) -> None:
    """Refuse numbers that cannot be."""
    if tasks < 1:
        raise UserError(f"{tasks} problems: at least one is needed")
    if not 0.0 < abs(difference) <= 1.0:
        raise UserError(f"a difference of {100 * difference:g} points is not between 0 and 100")
    for name, share in (("alpha", alpha), ("power", power)):
        if not 0.0 < share < 1.0:
            raise UserError(f"{name} {share:g} is not strictly between 0 and 1; {ALPHA} and {POWER} are customary")


def _check_discordant(discordant: float, difference: float) -> None:
    if not abs(difference) <= discordant <= 1.0:
        raise UserError(
            f"runs that differ on {100 * discordant:g} % of problems are not {100 * abs(difference):g} points"
            " apart; raise `discordant`, to 100 at most, or lower `points`"
        )
