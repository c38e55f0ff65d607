"""Control runs of suites: how often programs that only guess pass them, in a simulation without a sandbox.

    python -m bench suite_controls [--guessers 100000]

For suites of d assertions with m alternatives each, of blocks of their own, runs are drawn by the product's own
function, and programs that know every version and every run of all earlier verdicts guess which version is the
original. Printed are d, m, the chance that the product claims, and for each way to guess the share that passes; a
share outside the exact binomial bounds of the chance (0.0001 on either side) ends the script with exit code 1.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections import Counter
from collections.abc import Iterable, Sequence

from truegrade.grading.suite_controls import chance_of_all, draw_versions
from truegrade.grading.suite_versions import Versions
from truegrade.statistics.intervals import binomial_tail

CLASSES = [(d, m) for d in (1, 2, 4, 8) for m in (1, 2, 3)]
WAYS = ("uniform", "the first", "the last", "most often in the last run", "sequential")


def claimed(d: int, m: int) -> float:
    """The chance that the product gives for such a suite."""
    sources = tuple(map(str, range(m + 1)))
    return chance_of_all(Versions(sources, 0, str(number)) for number in range(d))


def guesses(runs: Sequence[Sequence[int]], last: Sequence[Counter[int]], chance: random.Random) -> list[list[int]]:
    """For each of `WAYS` the version of each assertion that is said to hold."""
    assertions = range(len(runs[0]))
    orders = [[shown[number] for shown in runs] for number in assertions]
    remembered = [
        last[number].most_common(1)[0][0] if last[number] else orders[number][-1] for number in assertions
    ]
    return [
        [chance.randrange(len(runs)) for _ in assertions],
        [order[0] for order in orders],
        [order[-1] for order in orders],
        remembered,
        [_in_turn(order, chance) for order in orders],
    ]


def _in_turn(order: Iterable[int], chance: random.Random) -> int:
    """The version said to hold when it is shown, by who does not know which come later, but how many."""
    left = list(order)
    while chance.random() * len(left) >= 1:
        del left[0]
    return left[0]


def passing(
    d: int, m: int, guessers: int, chance: random.Random, system: random.Random | None = None
) -> list[int]:
    """How many of each of `WAYS` pass.

    Args:
        d: assertions.
        m: alternatives of each.
        guessers: one verdict each.
        chance: of the guesses.
        system: draws the runs; None for what draws them in the product.
    """
    last: list[Counter[int]] = [Counter() for _ in range(d)]
    passed = [0] * len(WAYS)
    for _ in range(guessers):
        # Of a suite of its own: on one suite guessers that hold on to a guess pass together or not at all.
        originals = [chance.randrange(m + 1) for _ in range(d)]
        runs = draw_versions([m + 1] * d, system)
        for way, said in enumerate(guesses(runs, last, chance)):
            passed[way] += said == originals
        for number, shown in enumerate(runs[-1]):
            last[number][shown] += 1
    return passed


def within(passed: int, guessers: int, p: float) -> bool:
    """Whether so many of so many passing has a probability above 0.0001 on either side."""
    most = binomial_tail(passed, guessers, p)
    return most > 1e-4 and 1 - binomial_tail(passed + 1, guessers, p) > 1e-4


def main() -> None:
    """Print a row for each class of suites."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--guessers", type=int, default=100_000)
    guessers, outside = parser.parse_args().guessers, 0
    print("| d | m | chance |", " | ".join(WAYS), "|")
    for d, m in CLASSES:
        p = claimed(d, m)
        passed = passing(d, m, guessers, random.Random(1000 * d + m))
        outside += sum(not within(one, guessers, p) for one in passed)
        print(f"| {d} | {m} | {p:.3g} |", " | ".join(f"{one / guessers:.5f}" for one in passed), "|", flush=True)
    sys.exit(bool(outside))
