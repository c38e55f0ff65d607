"""Telling a verdict from chance by sending the same program again: who is ahead, and by how much it has to be."""

from __future__ import annotations

from math import ceil, log

from truegrade.errors import UserError


def chance_of_lead(flip_rate: float, lead: int) -> float:
    """The probability that flipped verdicts are ever ahead of the others by ``lead``, however often one looks.

    Each verdict flips with probability ``flip_rate`` on its own, so the difference of both binomial counts is a
    random walk that steps up with that probability. It ever reaches a height h with probability (e / (1 - e))^h,
    exactly (the gambler's ruin: Feller 1968, An Introduction to Probability Theory I, XIV.2); 1 from e = 1/2 on.

    Args:
        flip_rate: e, in [0, 1].
        lead: h, at least 0.
    """
    return 1.0 if flip_rate >= 0.5 else (flip_rate / (1.0 - flip_rate)) ** lead


def lead_needed(flip_rate: float, level: float) -> int | None:
    """The least lead that flipped verdicts ever have with a probability of at most ``level``; None where none is.

    Raises:
        UserError: ``level`` does not lie between 0 and 1.
    """
    if not 0.0 < level < 1.0:
        raise UserError("a level lies between 0 and 1")
    if flip_rate >= 0.5:
        return None
    lead = max(1, ceil(log(level) / log(flip_rate / (1.0 - flip_rate)))) if flip_rate > 0.0 else 1
    return lead if chance_of_lead(flip_rate, lead) <= level else lead + 1  # the quotient may be rounded
