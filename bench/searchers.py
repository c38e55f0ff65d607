"""Search strategies at an equal budget on a known landscape: 240 adapters, of which one is best.

    python -m bench searchers [--repeats 40] [--budgets 30 60] [--population 10] [--searchers NAME ...]

The space is CORAL-X's archived one: 6 ranks x 8 alphas x 5 dropouts. The score is a smooth hill about an adapter
drawn at random for each repeat, 1 at its top; places are in shares of each axis. Prints the mean best score after
each budget with a 95 % t interval over repeats, and in how many repeats the strategy beat random search, with the
two-sided sign test.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from math import comb, exp, sqrt
from random import Random
from statistics import fmean, stdev

from truegrade.apps.evolve.coralx import EPOCHS, LEARNING_RATE
from truegrade.apps.evolve.genomes import ATTENTION, Evaluated, Genome, Scores, Space
from truegrade.apps.evolve.searchers import BUILT_IN, open_searcher
from truegrade.statistics.intervals import two_sided_t

SPACE = Space(
    kinds=("dora",),
    ranks=(4, 8, 16, 24, 32, 48),
    alphas=(4, 8, 16, 24, 32, 48, 64, 96),
    dropouts=(0.05, 0.1, 0.15, 0.2, 0.3),
    modules=(ATTENTION,),
    learning_rate=(LEARNING_RATE, LEARNING_RATE),
    epochs=(EPOCHS, EPOCHS),
)
"""CORAL-X's archived lists, with greedy decoding, so that there are 240 genomes and no more."""
WIDTH = 0.2
"""Standard deviation of the hill, in shares of an axis."""
ARGS = {"coralx": {"early_stop": False, "gate": "none"}}
"""The landscape has none of the objectives that the gate knows, and everyone spends the whole budget."""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=40)
    parser.add_argument("--budgets", type=int, nargs="+", default=[30, 60])
    parser.add_argument("--population", type=int, default=10)
    parser.add_argument("--searchers", nargs="+", choices=tuple(BUILT_IN), default=tuple(BUILT_IN))
    asked = parser.parse_args()
    best: dict[str, list[list[float]]] = {}
    for name in dict.fromkeys(["random", *asked.searchers]):
        start_s = time.process_time()
        best[name] = [search(name, seed, asked.population, asked.budgets) for seed in range(asked.repeats)]
        print(line(name, best, asked.budgets), f"{time.process_time() - start_s:6.1f} CPU-s", flush=True)


def line(name: str, best: dict[str, list[list[float]]], budgets: Sequence[int]) -> str:
    """A strategy's row."""
    cells = []
    for place, budget in enumerate(budgets):
        mine = [scores[place] for scores in best[name]]
        other = [scores[place] for scores in best["random"]]
        half = two_sided_t(0.95, len(mine) - 1) * stdev(mine) / sqrt(len(mine))
        wins = sum(a > b for a, b in zip(mine, other, strict=True))
        losses = sum(a < b for a, b in zip(mine, other, strict=True))
        cells.append(
            f"@{budget}: {fmean(mine):.3f} +- {half:.3f} ({wins}:{losses}, p {sign_test(wins, losses):.1g})"
        )
    return f"{name:14}" + "   ".join(cells)


def sign_test(wins: int, losses: int) -> float:
    """Two-sided."""
    n = wins + losses
    tail = sum(comb(n, k) for k in range(min(wins, losses) + 1)) / 2**n
    return min(1.0, 2.0 * tail)


def hill(seed: int) -> Callable[[Genome], float]:
    """A landscape with its top somewhere."""
    rng = Random(f"hill {seed}")
    free = [axis for axis in SPACE.dimensions if axis.size > 1]
    top = {axis.name: axis.draw(rng) for axis in free}

    def score(genome: Genome) -> float:
        genes = SPACE.genes(genome)
        away = sum(((genes[axis.name] - top[axis.name]) / (axis.size - 1)) ** 2 for axis in free)
        return exp(-away / (2 * WIDTH**2))

    return score


def search(name: str, seed: int, population: int, budgets: Sequence[int]) -> list[float]:
    """The best score after each budget of evaluations."""
    searcher = open_searcher(name, SPACE, seed, population, ["score"], {"score": 0.0}, ARGS.get(name, {}))
    score, scores, generation = hill(seed), list[float](), 0
    while len(scores) < max(budgets):
        asked = searcher.ask(generation, min(population, max(budgets) - len(scores)))
        if not asked:
            break
        found = [score(genome) for genome in asked]
        scores += found
        searcher.tell(
            [
                Evaluated(
                    generation=generation,
                    slot=slot,
                    genome=genome,
                    scores=Scores(objectives={"score": value}, problems={}),
                )
                for slot, (genome, value) in enumerate(zip(asked, found, strict=True))
            ]
        )
        generation += 1
    return [max(scores[:budget]) for budget in budgets]
