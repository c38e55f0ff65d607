"""The direct genome: every gene is varied itself, so a child resembles its parents.

Against CORAL-X's way round, where an automaton is varied and a hash of what it does picks the genes. The automaton
is kept as one way among others to draw the first genomes.
"""

from __future__ import annotations

from random import Random
from typing import Literal

from truegrade.evolution.coralx.automaton import features, initial
from truegrade.evolution.dimensions import stable_hash
from truegrade.evolution.genomes import Genome, Space

Initial = Literal["random", "automaton"]

SHARES = 2**53
"""Different shares of an axis that a hash can pick: as many as a float can tell apart below 1."""


def draw(space: Space, rng: Random) -> Genome:
    """Any genome: every gene from its whole axis."""
    return space.genome({axis.name: axis.draw(rng) for axis in space.dimensions}, "random")


def draw_by_automaton(space: Space, seed: int, slot: int) -> Genome:
    """The genome that a cellular automaton stands for: a hash of its features picks every gene."""
    automaton = initial(seed, slot)
    seen = features(automaton)
    genes = {axis.name: axis.at(stable_hash([seen, axis.name]) % SHARES / SHARES) for axis in space.dimensions}
    return space.genome(genes, "automaton", automaton=automaton)


def mutate(space: Space, parent: Genome, rng: Random) -> Genome:
    """A genome nearby: each of the n genes that can vary steps with probability 1/n, and at least one does."""
    genes = space.genes(parent)
    free = [axis for axis in space.dimensions if axis.size > 1]
    if free:
        moving = [axis for axis in free if rng.random() < 1.0 / len(free)] or [rng.choice(free)]
        genes |= {axis.name: axis.step(genes[axis.name], rng) for axis in moving}
    return space.genome(genes, "mutation", (parent.id,))


def cross(space: Space, mother: Genome, father: Genome, rng: Random) -> Genome:
    """A child that has each gene of either parent, with equal chances."""
    one, other = space.genes(mother), space.genes(father)
    genes = {name: one[name] if rng.random() < 0.5 else other[name] for name in one}
    return space.genome(genes, "crossover", (mother.id, father.id))
