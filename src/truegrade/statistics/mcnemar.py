"""McNemar's exact test on the problems that exactly one of two runs solves.

Problems on which both are right or both are wrong say nothing about which is better, so only the others count. It
holds for one sample a problem and problems independent of each other; elsewhere `sign_flip_p` of the module
``paired`` takes its place, and with single samples the two are the same number.
"""

from __future__ import annotations

from math import comb


def mcnemar_p(wins: int, losses: int) -> float:
    """Two-sided exact McNemar test (McNemar 1947, Psychometrika 12:153-157): wins ~ B(wins + losses, 1/2)."""
    pairs = wins + losses
    # Whole numbers up to the one division: exact for any number of tasks.
    tail = sum(comb(pairs, i) for i in range(min(wins, losses) + 1))
    # Where wins equal losses the two tails share their middle term.
    return min(1.0, 2 * tail / (1 << pairs))
