"""Which inputs become tests: few of them, that refuse as many wrong programs as all of them together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence, Set

DETECTIONS = 6
"""Tests that are to refuse each wrong program: a program that only resembles it is then refused more often."""


def choose_inputs(
    kills: Sequence[Set[str]],
    survivors: Set[str],
    sizes: Sequence[int],
    *,
    most: int,
    detections: int = DETECTIONS,
) -> list[int]:
    """Greedy cover: first an input for every survivor of the present tests, then further ones for every program.

    Args:
        kills: of each input, the wrong programs that it refuses.
        survivors: the programs that the present tests accept; they are covered first.
        sizes: length of each input as source; of two that refuse as many, the shorter is taken.
        most: inputs to choose, at most.
        detections: chosen inputs that are to refuse each program.

    Returns:
        Their numbers, in the order in which they were chosen.
    """
    chosen: list[int] = []
    covered: Counter[str] = Counter()
    for goal, wanted in ((survivors, 1), (survivors, detections), (frozenset[str]().union(*kills), detections)):
        open_ = {program for program in goal if covered[program] < wanted}
        while open_ and len(chosen) < most:
            best = _best(kills, open_, sizes, chosen)
            if best is None:
                break
            chosen.append(best)
            covered.update(kills[best])
            open_ = {program for program in open_ if covered[program] < wanted}
    return chosen


def _best(kills: Sequence[Set[str]], wanted: Set[str], sizes: Sequence[int], chosen: Sequence[int]) -> int | None:
    """The input that refuses most of the wanted programs; None if none of those left refuses any."""
    gains = [(len(kills[number] & wanted), -sizes[number], -number) for number in range(len(kills))]
    for number in chosen:
        gains[number] = (0, 0, 0)
    gain, _, place = max(gains, default=(0, 0, 0))
    return -place if gain else None


def victims(kills: Sequence[Set[str]], chosen: Sequence[int]) -> Mapping[int, tuple[str, ...]]:
    """Of each chosen input the programs that it refuses, in the order of their ids."""
    return {number: tuple(sorted(kills[number])) for number in chosen}
