"""Does the estimate of what is known by heart hold? Coverage and power over simulated models whose dose is known.

Skill answers a problem rightly with a probability drawn from 0.97, 0.5, 0.08 and 0.08, and gives the other
problem's answer to 15 % of the rest. Memory answers the dose's share of originals, and their changed problems with
a probability of its own ("reverts").

    python bench/leakage_coverage.py [--runs 400] [--seed 0]

Printed, per cell, in percent: the mean estimate, how often the 95 % interval holds the dose, its mean width, and
how often p is at most 0.05.
"""

from __future__ import annotations

import argparse
import random
from typing import NamedTuple

from truegrade.statistics.leakage import AnsweredPair, Reply, leak_estimate

SKILLS = (0.97, 0.5, 0.08, 0.08)
EXCHANGED = 0.15


class Cell(NamedTuple):
    """A setting."""

    pairs: int
    dose: float
    reverts: float


GRID = [
    Cell(pairs, dose, reverts)
    for pairs in (60, 164, 500)
    for dose in (0.0, 0.05, 0.25, 1.0)
    for reverts in (0.0, 0.6)
]


def simulated(cell: Cell, rng: random.Random) -> list[AnsweredPair]:
    """The pairs of one model."""

    def skilled(right: float) -> Reply:
        draw = rng.random()
        return "right" if draw < right else "exchanged" if draw < right + EXCHANGED * (1 - right) else "wrong"

    pairs = []
    for place in range(cell.pairs):
        right, known = rng.choice(SKILLS), rng.random() < cell.dose
        original: Reply = "right" if known else skilled(right)
        changed: Reply = "exchanged" if known and rng.random() < cell.reverts else skilled(right)
        pairs.append(AnsweredPair(str(place), original, changed))
    return pairs


def coverage(cell: Cell, runs: int, seed: int) -> dict[str, float]:
    """Column -> percent."""
    rng, found = random.Random(f"{cell} {seed}"), []
    for _ in range(runs):
        estimate = leak_estimate(simulated(cell, rng))
        if estimate.known is not None and estimate.low is not None and estimate.high is not None:
            holds = estimate.low <= cell.dose <= estimate.high
            found.append((estimate.known, holds, estimate.high - estimate.low, estimate.p_value <= 0.05))
    means = [100 * sum(column) / len(found) for column in zip(*found, strict=True)]
    return dict(zip(("estimate", "covers", "width", "detects"), means, strict=True))


def main() -> None:
    """Simulate and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=400)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    print("pairs  dose  reverts  estimate    covers     width   detects")
    for cell in GRID:
        row = coverage(cell, asked.runs, asked.seed)
        print(
            f"{cell.pairs:>5} {cell.dose:>5} {cell.reverts:>8}"
            + "".join(f"{value:10.1f}" for value in row.values()),
            flush=True,
        )


if __name__ == "__main__":
    main()
