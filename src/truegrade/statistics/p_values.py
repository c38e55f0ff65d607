"""How a p-value is told: as a number, or as the bound that is known where no random draw came as far."""

from __future__ import annotations

FLIPS = 10_000
"""Random sign flips of a test by clusters, where there are too many clusters to enumerate them all."""


def at_floor(p: float, draws: int = FLIPS) -> bool:
    """Whether a p-value is the smallest that so many random draws can give: none of them came as far."""
    return abs(p * (draws + 1) - 1) < 1e-9


def told(p: float, draws: int = FLIPS, *, digits: int = 2) -> str:
    """``= 0.012``; ``< 0.0002`` at the floor, the next value that ``draws`` random draws can give."""
    return f"< {2 / (draws + 1):.1g}" if at_floor(p, draws) else f"= {p:.{digits}g}"
