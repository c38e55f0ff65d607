"""The paired bootstrap: an interval for a mean difference that assumes no distribution.

Whole clusters are drawn with replacement, each with its paired differences (Efron 1979, Annals of Statistics
7:1-26; by cluster: Field & Welsh 2007, J. Royal Statistical Society B 69:369-390). Pairs stay pairs, and samples
of a problem and problems of a question stay together. The interval is the percentile one. It is too narrow with
few clusters, and of width zero where no problem differs; so it stands beside the score interval, never in its
place.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

DRAWS = 10_000
CHUNK_CELLS = 2_000_000
"""Counts drawn at once: draws times kinds of clusters, in memory at eight bytes each."""


class BootstrapInterval(msgspec.Struct, frozen=True, kw_only=True):
    """Ends of the interval, as fractions; None where the pairs form a single cluster."""

    low: float | None
    high: float | None
    confidence: float
    draws: int
    seed: int


def bootstrap_interval(
    clusters: Sequence[Sequence[float]], confidence: float = 0.95, *, draws: int = DRAWS, seed: int = 0
) -> BootstrapInterval:
    """Percentile interval for the mean of paired differences, given cluster by cluster.

    Args:
        clusters: the differences of the problems of each cluster; none is empty.
        confidence: strictly between 0 and 1.
        draws: resamples.
        seed: of the draws: the same data give the same interval.
    """
    import numpy as np

    # A single cluster drawn with replacement is always itself: the interval would have width zero.
    if len(clusters) < 2:
        return BootstrapInterval(low=None, high=None, confidence=confidence, draws=draws, seed=seed)
    # Clusters that are alike are drawn as one kind: single samples have three kinds, however many the tasks.
    totals = np.array([(sum(cluster), len(cluster)) for cluster in clusters], dtype=float)
    kinds, counts = np.unique(totals, axis=0, return_counts=True)
    sums, sizes = kinds.T
    generator = np.random.default_rng(seed)
    rows = max(1, CHUNK_CELLS // len(kinds))
    means = []
    for start in range(0, draws, rows):
        # How often each kind is drawn is multinomial: one call in place of a draw for every cluster.
        times = generator.multinomial(len(clusters), counts / len(clusters), size=min(rows, draws - start))
        # A ratio of sums: clusters of several sizes make the number of tasks vary from draw to draw as well.
        means.append((times @ sums) / (times @ sizes))
    tail = (1.0 - confidence) / 2.0
    low, high = np.quantile(np.concatenate(means), (tail, 1.0 - tail)).tolist()
    return BootstrapInterval(low=low, high=high, confidence=confidence, draws=draws, seed=seed)
