"""Betting on a bounded mean: e-values and confidence sequences that hold at every look.

Waudby-Smith & Ramdas 2024, J. Royal Statistical Society B 86:1-27 (arXiv 2010.09686), for values in [0, 1] that
arrive one by one. Somebody who bets against "the mean is m" multiplies a capital of 1; if m is the mean, no
strategy that looks only at the past makes the capital exceed 1/alpha with a probability above alpha, however often
one looks (Ville 1939). All m whose capital never did form a confidence sequence.

The capital is the hedged one: half of it bets that the mean is larger, half that it is smaller, and the larger
half counts (their section 4.4; `WannabeSmith/confseq`, commit c9f8c44, ``src/confseq/betting.py``). The bets are
the predictable plug-in ones (their equation 26).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

CELLS = 1000
"""Means that a confidence sequence tries, besides 0: its ends are that share of 1 too wide at most."""
TRUNCATION = 0.5
"""The share of the capital that a bet may lose at most: c of the paper."""
CHUNK_CELLS = 1_000_000
"""Numbers computed at once: values times means."""


class ConfidenceSequence(msgspec.Struct, frozen=True):
    """Bounds of the mean after 1, 2, ... values; every one of them holds at once with the confidence."""

    low: tuple[float, ...]
    high: tuple[float, ...]


def bets(values: Floats, alpha: float) -> Floats:
    """The size of each bet before it is cut, from the values before it alone.

    ``sqrt(2 log(2 / alpha) / (s^2 t log(1 + t)))``, with the variance ``s^2`` of the values so far regularised by
    one pseudo-observation of 1/4 about a mean of 1/2.
    """
    import numpy as np

    times = np.arange(1, len(values) + 1)
    means = (0.5 + np.cumsum(values)) / (times + 1)
    variances = (0.25 + np.cumsum((values - means) ** 2)) / (times + 1)
    before = np.concatenate(([0.25], variances[:-1]))
    return np.sqrt(2 * log(2 / alpha) / (before * times * np.log1p(times)))


def log_capital(
    values: Sequence[float], means: Sequence[float], alpha: float = 0.05, *, population: int | None = None
) -> Floats:
    """Natural logarithm of the hedged capital against each mean, after each value.

    Args:
        values: in [0, 1], in the order they came.
        means: hypotheses in [0, 1].
        alpha: level that the bets are sized for; the capital is fair whatever it is.
        population: how many values there are in all, where they come from a finite population in random order and
            without replacement; ``means`` are then means of the population. None for draws of a distribution.

    Returns:
        A row for each value, a column for each mean; infinite where the values rule a mean out.
    """
    import numpy as np

    y, m = np.asarray(values, dtype=float), np.asarray(means, dtype=float)
    against = np.broadcast_to(m, (len(y), len(m)))
    if population is not None:
        # What is left to come has this mean, if that of the whole population is m.
        drawn = np.concatenate(([0.0], np.cumsum(y)[:-1]))
        left = population - np.arange(len(y))
        against = (population * m[None, :] - drawn[:, None]) / left[:, None]
    impossible = (against < -1e-9) | (against > 1 + 1e-9)
    against = np.clip(against, 0.0, 1.0)
    size = bets(y, alpha)[:, None]
    with np.errstate(divide="ignore"):
        up = np.minimum(size, TRUNCATION / against)
        down = np.minimum(size, TRUNCATION / (1 - against))
    gain = y[:, None] - against
    capital = np.maximum(np.cumsum(np.log1p(up * gain), axis=0), np.cumsum(np.log1p(-down * gain), axis=0))
    return np.where(np.logical_or.accumulate(impossible, axis=0), np.inf, capital - log(2))


def confidence_sequence(
    values: Sequence[float], confidence: float = 0.95, *, population: int | None = None
) -> ConfidenceSequence:
    """Bounds of the mean that hold at every look at once; each is contained in the one before.

    Args:
        values: in [0, 1], in the order they came; one at least.
        confidence: strictly between 0 and 1.
        population: as for `log_capital`.
    """
    import numpy as np

    y = np.asarray(values, dtype=float)
    alpha, grid = 1 - confidence, np.linspace(0.0, 1.0, CELLS + 1)
    low, high = np.full(len(y), np.inf), np.full(len(y), -np.inf)
    width = max(1, CHUNK_CELLS // len(y))
    for start in range(0, len(grid), width):
        part = grid[start : start + width]
        capital = np.maximum.accumulate(log_capital(values, list(part), alpha, population=population), axis=0)
        kept = capital < -log(alpha)
        low = np.minimum(low, np.where(kept, part, np.inf).min(axis=1))
        high = np.maximum(high, np.where(kept, part, -np.inf).max(axis=1))
    # Between two means that were tried, the outer one may be the last that is refuted.
    low, high = np.maximum.accumulate(low - 1 / CELLS), np.minimum.accumulate(high + 1 / CELLS)
    first, last = np.zeros(len(y)), np.ones(len(y))
    if population is not None:
        seen, total = np.arange(1, len(y) + 1), np.cumsum(y)
        first, last = total / population, (total + population - seen) / population
    low, high = np.clip(low, first, last), np.clip(high, first, last)
    # Where no mean on the grid is left, the last bounds that held one stay.
    for place in range(1, len(y)):
        if not np.isfinite(low[place]) or low[place] > high[place] + 1e-12:
            low[place], high[place] = np.clip((low[place - 1], high[place - 1]), first[place], last[place])
    return ConfidenceSequence(tuple(low.tolist()), tuple(high.tolist()))
