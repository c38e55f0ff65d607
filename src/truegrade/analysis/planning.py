"""Sample size planning: any two of problems, difference and power determine the third."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from truegrade.errors import UserError
from truegrade.statistics.power import ALPHA, POWER, mcnemar_detectable, mcnemar_power, mcnemar_tasks

USUAL_DISCORDANT = (5.0, 10.0, 20.0, 40.0)
"""Percent of problems on which two runs differ: from two versions of one model to two unlike models."""


class PowerPlan(msgspec.Struct, frozen=True, kw_only=True):
    """One line of a plan: one sample a problem, McNemar's exact test."""

    discordant: float
    """Percent of problems on which exactly one of the runs is right."""
    points: float | None
    """Difference in percentage points; None if no difference is seen with this power."""
    tasks: int | None
    power: float
    """As a fraction."""
    alpha: float


def plan(
    *,
    points: float | None = None,
    tasks: int | None = None,
    power: float | None = None,
    discordant: Sequence[float] = (),
    alpha: float = ALPHA,
) -> list[PowerPlan]:
    """Compute what is not given, for each share of problems on which the runs differ.

    Args:
        points: a difference in percentage points.
        tasks: how many there are.
        power: chance to see the difference, as a fraction; None for 0.8 unless both others are given.
        discordant: shares in percent; empty for `USUAL_DISCORDANT`, as far as the difference can be had there.
        alpha: significance level, two-sided.

    Raises:
        UserError: neither points nor problems, all three, or a number that cannot be.
    """
    if points is None and tasks is None:
        raise UserError("give `points` (to learn how many problems), `tasks` (to learn which difference), or both")
    if points is not None and tasks is not None and power is not None:
        raise UserError("`points`, `tasks` and `power` leave nothing to compute; leave one of them out")
    points = None if points is None else float(points)
    shares = list(discordant) or [share for share in USUAL_DISCORDANT if share >= abs(points or 0.0)]
    return [_line(points, tasks, power, share, alpha) for share in shares or [abs(points or 0.0)]]


def _line(points: float | None, tasks: int | None, power: float | None, share: float, alpha: float) -> PowerPlan:
    aim, discordant = POWER if power is None else power, share / 100
    match points, tasks:
        case None, int(known):
            found = mcnemar_detectable(known, discordant, power=aim, alpha=alpha)
            # No more tasks can be won than the runs differ on.
            points = 100 * found if found is not None and found <= discordant else None
        case float(wanted), None:
            tasks = mcnemar_tasks(discordant, wanted / 100, power=aim, alpha=alpha)
        case float(wanted), int(known):
            aim = mcnemar_power(known, discordant, wanted / 100, alpha=alpha)
    return PowerPlan(discordant=share, points=points, tasks=tasks, power=aim, alpha=alpha)
