"""Correction of p-values for multiple comparisons."""

from __future__ import annotations

from collections.abc import Sequence

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
