"""What a search strategy is, genomes drawn and varied gene by gene, and the strategies that breed nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Annotated, Any, Literal, Protocol, TypeVar

import msgspec

from truegrade.apps.evolve.coralx import features, initial
from truegrade.apps.evolve.genomes import (
    EVERYWHERE,
    AdapterGenes,
    DataGenes,
    Evaluated,
    Fidelity,
    Genome,
    SamplingGenes,
    Space,
    TrainingGenes,
    stable_hash,
    stream,
)
from truegrade.apps.evolve.search_order import FULL
from truegrade.errors import UnknownName, UserError

# ---------------------------------------------- The interface of search strategies to the loop that runs them.


class Searcher(Protocol):
    """A strategy. It keeps no clock and no files: told the same, it asks the same, in any process.

    So a search resumes by telling a fresh searcher everything that was evaluated, generation by generation.
    """

    @property
    def name(self) -> str:
        """``nsga2``, ``random``, ``tpe``, ..."""

    def ask(self, generation: int, size: int) -> Sequence[Genome]:
        """Genomes to evaluate next, at most ``size``; none ends the search."""

    def fidelity(self, generation: int) -> Fidelity:
        """What is spent on each genome of a generation: everything, unless the strategy screens cheaply first."""

    def tell(self, evaluated: Sequence[Evaluated]) -> None:
        """The scores of a generation, in the order in which its genomes were asked for."""


# --------------------------- The direct genome: every gene is varied itself, so a child resembles its parents.
# Against CORAL-X's way round, where an automaton is varied and a hash of what it does picks the genes. The
# automaton is kept as one way among others to draw the first genomes.


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


# ---------------- Common parts of search strategies: their problem, received scores, and avoiding repetitions.


TRIES = 20
"""Attempts at a genome that was not evaluated yet, in the strategy's own way and then by drawing at random."""

GenomeKey = tuple[Any, ...]
Rate = Annotated[float, msgspec.Meta(ge=0.0, le=1.0)]
SettingsT = TypeVar("SettingsT", bound=msgspec.Struct)


class SearchTask(msgspec.Struct, frozen=True, kw_only=True):
    """What every strategy is given."""

    space: Space
    seed: int
    population: int
    """Genomes per generation."""
    objectives: tuple[str, ...]
    reference_point: tuple[float, ...]
    """One number per objective: what a genome must exceed for its hypervolume to count."""


class Strategy:
    """A searcher that remembers what it was told. Everything asked is a function of that and of the task."""

    def __init__(self, name: str, task: SearchTask) -> None:
        self.name = name
        self.task = task
        self.told: list[Evaluated] = []

    def tell(self, evaluated: Sequence[Evaluated]) -> None:
        """Remember."""
        self.told.extend(evaluated)

    def fidelity(self, generation: int) -> Fidelity:  # a strategy may make it depend on the generation
        """Everything."""
        return FULL

    def fresh(self, generation: int, size: int, make: Callable[[int, Random], Genome]) -> list[Genome]:
        """Up to ``size`` genomes that were neither told nor are among them yet.

        Args:
            generation: whose streams are used.
            size: genomes.
            make: one for a slot; called again with the same stream when its genome is known already.
        """
        known = {recipe(one.genome) for one in self.told}
        found: list[Genome] = []
        for slot in range(size):
            rng = stream(self.task.seed, generation, slot)
            for attempt in range(2 * TRIES):
                genome = make(slot, rng) if attempt < TRIES else draw(self.task.space, rng)
                if recipe(genome) not in known:
                    known.add(recipe(genome))
                    found.append(genome)
                    break
        return found


def recipe(genome: Genome) -> GenomeKey:
    """What decides how a genome performs: two with one recipe are the same adapter, asked the same way."""
    return (genome.adapter, genome.training, genome.sampling, genome.data)


def read_settings(searcher: str, args: Mapping[str, Any], settings: type[SettingsT]) -> SettingsT:
    """The arguments of a searcher.

    Raises:
        UnknownName: it has no such argument.
        UserError: a value does not fit.
    """
    names = settings.__struct_fields__
    for name in args:
        if name not in names:
            raise UnknownName(f"argument of searcher {searcher}", name, names)
    try:
        return msgspec.convert(dict(args), settings)
    except msgspec.ValidationError as error:
        raise UserError(f"searcher {searcher}: {error}; correct the argument") from None


# -------------------------- The searchers that breed nothing: ``random``, ``recipe`` and ``expert-iteration``.
# ``random``: random genomes without repetition; the baseline of every strategy.


class RandomSettings(msgspec.Struct, frozen=True, kw_only=True):
    """None."""


class RandomSearch(Strategy):
    """Bergstra & Bengio 2012, JMLR 13:281."""

    def __init__(self, task: SearchTask, args: Mapping[str, Any]) -> None:
        read_settings("random", args, RandomSettings)
        super().__init__("random", task)

    def ask(self, generation: int, size: int) -> Sequence[Genome]:
        """New ones; fewer where the space is all but used up."""
        return self.fresh(generation, size, lambda _, rng: draw(self.task.space, rng))


# ------------------------------- ``recipe`` and ``expert-iteration``: one genome that is given, and no search.


class RecipeSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Arguments of ``recipe``; the defaults are the ones that LoRA is usually trained with (arXiv 2106.09685)."""

    kind: Literal["lora", "dora"] = "lora"
    rank: int = 16
    alpha: float = 32.0
    dropout: Rate = 0.0
    modules: tuple[str, ...] = EVERYWHERE
    learning_rate: float = 4e-3
    epochs: int = 4
    rounds: int = 0
    """This and the rest: see `truegrade.apps.evolve.genomes.DataGenes`."""
    pool: Rate = 1.0
    samples: int = 4
    temperature: float = 0.8
    replay: Rate = 0.0
    references: bool = False


class ExpertSettings(RecipeSettings, frozen=True, kw_only=True):
    """Arguments of ``expert-iteration``."""

    rounds: int = 1
    replay: Rate = 1.0


class Recipe(Strategy):
    """One genome, whatever the seed, the space and the scores."""

    called, arguments = "recipe", RecipeSettings

    def __init__(self, task: SearchTask, args: Mapping[str, Any]) -> None:
        super().__init__(self.called, task)
        self._genome = _genome(read_settings(self.called, args, self.arguments), task.space, self.called)

    def ask(self, generation: int, size: int) -> Sequence[Genome]:
        """The genome, once."""
        return [] if self.told else [self._genome]


class ExpertIteration(Recipe):
    """Train, let the adapter answer the pool, keep what passes every test, train again from the base.

    Expert iteration (arXiv 1705.08439), on a language model's own replies: STaR (arXiv 2203.14465), ReST-EM
    (arXiv 2312.06585). Replay is of the base's own verified replies to problems that it could do.
    """

    called, arguments = "expert-iteration", ExpertSettings


def _genome(settings: RecipeSettings, space: Space, origin: str) -> Genome:
    given = msgspec.structs.asdict(settings)

    def part(kind: type[msgspec.Struct]) -> Any:
        return msgspec.convert({name: given[name] for name in kind.__struct_fields__ if name in given}, kind)

    return Genome(
        adapter=part(AdapterGenes),
        training=part(TrainingGenes),
        sampling=SamplingGenes(
            temperature=space.temperature[0], top_p=space.top_p[1], max_tokens=space.max_tokens[1]
        ),
        data=part(DataGenes),
        origin=origin,
    )
