"""What CORAL-X's automaton and hash do to a search: four figures, from its own rules.

    python -m bench coralx [--genomes 1000] [--seed 42]

Distribution of the features and of the knob that convergence drives; live cells that outlive a step; mutations of
an automaton that change no feature; and how often a child has its parent's gene, beside pure chance.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from itertools import pairwise
from random import Random
from statistics import fmean, median, pstdev

import msgspec

from truegrade.apps.evolve import coralx
from truegrade.apps.evolve.coralx import (
    Features,
    candidate_alphas,
    features,
    genome_of,
    history,
    initial,
    knobs,
)
from truegrade.apps.evolve.genomes import Genome, stable_hash
from truegrade.apps.evolve.settings import read_settings
from truegrade.apps.evolve.strategies import cross, draw, mutate

SPACE = msgspec.structs.replace(read_settings("coralx-quixbugs").space, kinds=("dora",))
"""The archived configuration's, which knew DoRA only."""
GENES = ("rank", "alpha", "dropout")
STRENGTH = 1.0
"""Of diversity: the balanced branch, as for the first genomes."""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--genomes", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=42)
    asked = parser.parse_args()
    genomes = [genome_of(initial(asked.seed, i), SPACE, STRENGTH, i, "automaton") for i in range(asked.genomes)]
    automata = [genome.automaton for genome in genomes if genome.automaton]
    print_features([features(automaton) for automaton in automata])
    kept = sum(survivors(history(automaton)) for automaton in automata[:200])
    print(f"live cells that outlive a step, 200 histories: {kept}")
    rng = Random(asked.seed)
    neutral = [features(coralx.mutate_automaton(one, rng)) == features(one) for one in automata]
    print(f"mutations of an automaton that change no feature: {fmean(neutral):.3f}")
    lists = (SPACE.ranks, candidate_alphas(SPACE), SPACE.dropouts)
    print(
        "chance              ",
        *(f"{gene} {1 / len(values):.3f}" for gene, values in zip(GENES, lists, strict=True)),
    )
    direct = [draw(SPACE, rng) for _ in genomes]
    for name, parents, breed in (
        ("CORAL-X mutation   ", genomes, lambda one, _: by_automaton(one, rng)),
        ("CORAL-X crossover  ", genomes, lambda one, two: coralx.cross(one, two, SPACE, STRENGTH, rng)),
        ("direct mutation    ", direct, lambda one, _: mutate(SPACE, one, rng)),
        ("direct crossover   ", direct, lambda one, two: cross(SPACE, one, two, rng)),
    ):
        print(name, *(f"{gene} {share:.3f}" for gene, share in heredity(parents, breed).items()))


def by_automaton(parent: Genome, rng: Random) -> Genome:
    """A child by the mutation that varies the automaton."""
    assert parent.automaton is not None
    varied = coralx.mutate_automaton(parent.automaton, rng)
    salt = stable_hash(parent.id) % coralx.SALTS
    return genome_of(varied, SPACE, STRENGTH, salt, "mutation", (parent.id,))


def heredity(parents: Sequence[Genome], breed: Callable[[Genome, Genome], Genome]) -> dict[str, float]:
    """How often a child has the gene of its first parent."""
    pairs = list(pairwise(parents))
    children = [breed(one, other) for one, other in pairs]
    return {
        gene: fmean(
            getattr(one.adapter, gene) == getattr(child.adapter, gene)
            for (one, _), child in zip(pairs, children, strict=True)
        )
        for gene in GENES
    }


def survivors(grids: Sequence[Sequence[Sequence[int]]]) -> int:
    """Cells that live before a step and after it."""
    return sum(
        before & after
        for one, other in pairwise(grids)
        for row, below in zip(one, other, strict=True)
        for before, after in zip(row, below, strict=True)
    )


def print_features(seen: Sequence[Features]) -> None:
    """Mean, standard deviation and median of each, and of top-k in its range of 20 to 50."""
    for name in ("complexity", "intensity", "periodicity", "convergence"):
        values = [getattr(one, name) for one in seen]
        print(f"{name:12} {fmean(values):.3f} +- {pstdev(values):.3f}, median {median(values):.3f}")
    top_k = [float(knobs(one, SPACE).top_k or 0) for one in seen]
    print(f"{'top_k':12} {fmean(top_k):.1f} +- {pstdev(top_k):.1f} of 20 to 50")
