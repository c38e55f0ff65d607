"""Search strategies by name, and those that breed genomes or learn where good genes lie."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec

from truegrade.apps.evolve import coralx
from truegrade.apps.evolve.coralx import (
    THRESHOLDS,
    Schedule,
    admit,
    bars,
    diversity,
    fitness,
    genome_of,
    initial,
    missing,
    sigma,
    stops,
)
from truegrade.apps.evolve.genomes import Choices, Dimension, Evaluated, Genome, Space, stable_hash, stream
from truegrade.apps.evolve.search_order import order, point, points, select, shortfall, standings, varying
from truegrade.apps.evolve.strategies import (
    TRIES,
    ExpertIteration,
    Initial,
    RandomSearch,
    Rate,
    Recipe,
    Searcher,
    SearchTask,
    Strategy,
    cross,
    draw,
    draw_by_automaton,
    mutate,
    read_settings,
    recipe,
)
from truegrade.errors import UnknownName, UserError
from truegrade.files.extras import require
from truegrade.registry import Registry, lacking

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution
    from optuna.samplers import BaseSampler
    from optuna.study import Study


# ------------------------------------------------- The searchers that breed genomes: ``coralx`` and ``nsga2``.
# ``coralx``: CORAL-X's search. Automata, genes by hash, the rising gate, NSGA-II selection.
#
# Source: ``core/application/evolution_orchestrator.py`` and ``core/services/`` of ``skishore23/coralx@fd75b33``.


class CoralxSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Arguments of ``coralx``; the numbers are those of the archived configuration."""

    generations: Annotated[int, msgspec.Meta(ge=1)] = 20
    """Over which the gate rises."""
    survival: Rate = 0.4
    """Share of a population that breeds, and lives on."""
    crossover: Rate = coralx.CROSSOVER_RATE
    selection: Literal["pareto", "tournament", "fittest"] = "pareto"
    gate: Literal["drop", "constraint", "none"] = "drop"
    """``drop`` is the source's; ``constraint`` ranks by what is missed and drops none."""
    thresholds: str = "archive"
    """Name of a table: ``codellama_modal``, ``archive`` or ``spec``."""
    schedule: Schedule = "sigmoid"
    early_stop: bool = True


class CoralX(Strategy):
    """A generation after the first holds the children only; the survivors keep their scores."""

    def __init__(self, task: SearchTask, args: Mapping[str, Any]) -> None:
        self._settings = read_settings("coralx", args, CoralxSettings)
        if self._settings.thresholds not in THRESHOLDS:
            raise UnknownName("threshold table", self._settings.thresholds, THRESHOLDS)
        super().__init__("coralx", task)
        self._survivors: list[Evaluated] = []
        self._rate = self._settings.crossover
        self._best: list[float] = []
        self._diversities: list[float] = []

    def ask(self, generation: int, size: int) -> Sequence[Genome]:
        """The first population, then children of the survivors; none once the search has settled."""
        task, settings = self.task, self._settings
        if not self._survivors:
            first = (initial(task.seed, slot) for slot in range(min(size, task.population)))
            return [genome_of(one, task.space, 1.0, slot, "automaton") for slot, one in enumerate(first)]
        if settings.early_stop and stops(self._best, self._diversities):
            return ()
        genomes = [one.genome for one in self._survivors]
        strength = coralx.diversity_strength(genomes, self._fitnesses(self._survivors))
        wanted = min(size, max(1, task.population - len(genomes)))
        streams = (stream(task.seed, generation, slot) for slot in range(wanted))
        return [coralx.child(genomes, task.space, strength, self._rate, rng) for rng in streams]

    def tell(self, evaluated: Sequence[Evaluated]) -> None:
        """Gate, note what early stopping looks at, select."""
        if not evaluated:
            return
        super().tell(evaluated)
        settings, generation = self._settings, evaluated[0].generation
        risen = sigma(generation, settings.generations, settings.schedule)
        required = {} if settings.gate == "none" else bars(THRESHOLDS[settings.thresholds], risen)
        population = [*self._survivors, *evaluated]
        admitted = admit(population, required) if settings.gate == "drop" else population
        fitnesses = self._fitnesses(admitted)
        self._best.append(max(fitnesses))
        self._diversities.append(diversity(admitted, self.task.objectives))
        strength = coralx.diversity_strength([one.genome for one in admitted], fitnesses)
        self._rate = coralx.crossover_rate(strength, settings.crossover)
        self._survivors = self._select(admitted, required, stream(self.task.seed, generation, -1, "tournament"))

    def _select(self, admitted: list[Evaluated], required: Mapping[str, float], rng: Random) -> list[Evaluated]:
        count = max(1, int(self.task.population * self._settings.survival))
        fitnesses = self._fitnesses(admitted)
        if self._settings.selection == "pareto":
            constrained = self._settings.gate == "constraint"
            missed = [missing(one.scores.objectives, required) for one in admitted] if constrained else None
            return select(admitted, self.task.objectives, count, missed)
        places = range(len(admitted))
        if self._settings.selection == "tournament":  # with replacement; who wins twice still lives once
            drawn = (rng.sample(places, min(3, len(admitted))) for _ in range(count))
            winners = dict.fromkeys(max(three, key=fitnesses.__getitem__) for three in drawn)
            return [admitted[place] for place in winners]
        return [admitted[place] for place in sorted(places, key=lambda place: -fitnesses[place])[:count]]

    def _fitnesses(self, evaluated: Sequence[Evaluated]) -> list[float]:
        names = self.task.objectives
        return [fitness(dict(zip(names, place, strict=True))) for place in points(evaluated, names)]


# ---------------------- ``nsga2``: ours. The direct genome, bred by NSGA-II (Deb et al. 2002, IEEE TEC 6:182).


class Nsga2Settings(msgspec.Struct, frozen=True, kw_only=True):
    """Arguments of ``nsga2``."""

    initial: Initial = "random"
    """How the first genomes are drawn."""
    crossover: Rate = 0.7
    """Share of children that mix two parents; each child is mutated as well, with the next rate."""
    mutation: Rate = 0.9
    """Share of mixed children that are mutated; the others always are."""
    least: dict[str, float] = {}
    """By objective, what is worth breeding from: any genome that reaches it goes before all that miss it, and
    among those the one that misses by less (constraint domination, Deb 2000, CMAME 186:311)."""


class Nsga2(Strategy):
    """Parents are the best ``population`` of all told so far: old and new compete, so nothing good is lost.

    Both parents win a tournament of two: the better front, then more room. A child that was evaluated already is
    bred again: a repeated evaluation would teach nothing.
    """

    def __init__(self, task: SearchTask, args: Mapping[str, Any]) -> None:
        self._settings = read_settings("nsga2", args, Nsga2Settings)
        for name in self._settings.least:
            if name not in task.objectives:
                raise UnknownName("objective of this search", name, task.objectives)
        super().__init__("nsga2", task)

    def ask(self, generation: int, size: int) -> Sequence[Genome]:
        """The first genomes, then children."""
        seen = _once(self.told)
        parents = select(seen, self.task.objectives, self.task.population, self._missed(seen))
        if not parents:
            return self.fresh(generation, size, self._first)
        ranks = [order(standing) for standing in standings(parents, self.task.objectives, self._missed(parents))]

        def child(_: int, rng: Random) -> Genome:
            mother, father = (parents[_tournament(ranks, rng)].genome for _ in range(2))
            return self._child(mother, father, rng)

        return self.fresh(generation, size, child)

    def _missed(self, evaluated: Sequence[Evaluated]) -> list[float]:
        return [missing(one.scores.objectives, self._settings.least) for one in evaluated]

    def _first(self, slot: int, rng: Random) -> Genome:
        if self._settings.initial == "automaton":
            return draw_by_automaton(self.task.space, self.task.seed, slot)
        return draw(self.task.space, rng)

    def _child(self, mother: Genome, father: Genome, rng: Random) -> Genome:
        space = self.task.space
        if recipe(mother) == recipe(father) or rng.random() >= self._settings.crossover:
            return mutate(space, mother, rng)
        mixed = cross(space, mother, father, rng)
        if rng.random() >= self._settings.mutation:
            return mixed
        return msgspec.structs.replace(mutate(space, mixed, rng), origin="crossover", parents=mixed.parents)


def _tournament(ranks: Sequence[tuple[int, float, int]], rng: Random) -> int:
    """The better of two places."""
    return min((rng.randrange(len(ranks)) for _ in range(2)), key=ranks.__getitem__)


def _once(told: Sequence[Evaluated]) -> list[Evaluated]:
    """Each recipe once: at its highest fidelity, and there as it was first seen."""
    first: dict[Any, Evaluated] = {}
    for one in told:
        known = first.get(recipe(one.genome))
        if known is None or shortfall(one) < shortfall(known):
            first[recipe(one.genome)] = one
    return list(first.values())


# ----------- ``tpe``: Optuna's tree-structured Parzen estimator, a surrogate that learns where good genes lie.
# Bergstra et al. 2011 (NeurIPS); several objectives: Ozaki et al. 2022 (JAIR 73:1209).
#
# Every generation is asked of a new study, to which everything told is told again, with a sampler seeded for that
# generation. So what is asked depends on what was told and on nothing a sampler remembers, and a search resumes
# without Optuna's storage.


SEEDS = 2**32
"""What Optuna's samplers take as seeds."""


class TpeSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Arguments of ``tpe``."""

    startup: Annotated[int, msgspec.Meta(ge=1)] = 10
    """Genomes drawn at random before the estimator is asked; Optuna's default."""


class Tpe(Strategy):
    """Genes of one genome are estimated each for itself, as Optuna does by default.

    It learns from full evaluations only: a sampler cannot weigh fidelities.

    Raises:
        UserError: Optuna is not installed.
    """

    def __init__(self, task: SearchTask, args: Mapping[str, Any]) -> None:
        require("evolve", "searcher tpe")
        self._settings = read_settings("tpe", args, TpeSettings)
        super().__init__("tpe", task)

    def ask(self, generation: int, size: int) -> Sequence[Genome]:
        """What the sampler suggests and was not evaluated yet; fewer where it suggests nothing new any more.

        A suggestion that was evaluated already is answered at once, so the sampler moves on.
        """
        full = [one for one in self.told if shortfall(one) <= 0.0]
        objectives = varying(full, self.task.objectives) or self.task.objectives
        scores = {recipe(one.genome): point(one.scores.objectives, objectives) for one in full}
        axes = {axis.name: distribution(axis) for axis in self.task.space.dimensions}
        study = self._study(generation, full, objectives, axes)
        known = {recipe(one.genome) for one in self.told}
        space = self.task.space
        found: list[Genome] = []
        for _ in range(size + TRIES):
            if len(found) == size:
                break
            trial = study.ask(axes)
            genome = space.genome({axis.name: trial.params[axis.name] for axis in space.dimensions}, self.name)
            if recipe(genome) in scores:
                study.tell(trial, scores[recipe(genome)])
            if recipe(genome) not in known:
                known.add(recipe(genome))
                found.append(genome)
        return found or self.fresh(generation, size, lambda _, rng: draw(space, rng))

    def _study(
        self,
        generation: int,
        full: Sequence[Evaluated],
        objectives: Sequence[str],
        axes: dict[str, BaseDistribution],
    ) -> Study:
        """A study that knows the full evaluations; the estimator looks at finished trials only."""
        from optuna.samplers import TPESampler
        from optuna.trial import create_trial

        seed = stable_hash(["optuna", self.task.seed, generation]) % SEEDS
        study = _quiet_study(len(objectives), TPESampler(seed=seed, n_startup_trials=self._settings.startup))
        for one in full:
            genes, values = self.task.space.genes(one.genome), list(point(one.scores.objectives, objectives))
            study.add_trial(create_trial(params=genes, distributions=axes, values=values))
        return study


def distribution(axis: Dimension) -> BaseDistribution:
    """An axis in Optuna's terms: ordered choices are whole numbers, so that neighbours are known to be alike."""
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    if isinstance(axis, Choices):
        if axis.ordered:
            return IntDistribution(0, len(axis.values) - 1)
        return CategoricalDistribution(tuple(range(len(axis.values))))
    if axis.whole:
        return IntDistribution(int(axis.low), int(axis.high), log=axis.log)
    return FloatDistribution(axis.low, axis.high, log=axis.log)


def _quiet_study(directions: int, sampler: BaseSampler) -> Study:
    """A study in memory, without the line that Optuna logs about each."""
    import optuna

    verbosity = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    try:
        return optuna.create_study(directions=["maximize"] * directions, sampler=sampler)
    finally:
        optuna.logging.set_verbosity(verbosity)


BUILT_IN: dict[str, Callable[[SearchTask, Mapping[str, Any]], Searcher]] = {
    "expert-iteration": ExpertIteration,
    "recipe": Recipe,
    "nsga2": Nsga2,
    "coralx": CoralX,
    "random": RandomSearch,
    "tpe": Tpe,
}


def _fault(thing: Any) -> str | None:
    missing = lacking(thing, ("ask", "tell", "fidelity"))
    if missing is not None:
        return f"{missing}, which every searcher has: truegrade.apps.evolve.strategies.Searcher"
    return None if callable(thing) else "is no class: it is called with the task and its arguments"


REGISTRY = Registry[Callable[[SearchTask, Mapping[str, Any]], Searcher]](
    "searcher", BUILT_IN, _fault, named=lambda _: None
)


def check_searcher(given: str) -> None:
    """See that there is a searcher that the user means: see `truegrade.registry.Registry.find`.

    Raises:
        UnknownName: there is none of that name.
        UserError: a file or package is at fault.
    """
    REGISTRY.find(given)


def open_searcher(
    name: str,
    space: Space,
    seed: int,
    population: int,
    objectives: Sequence[str],
    reference_point: Mapping[str, float],
    args: Mapping[str, Any],
) -> Searcher:
    """A strategy with its arguments.

    Args:
        name: of the table, of a package, or a file's.
        space: what may vary.
        seed: of everything drawn.
        population: genomes of a generation.
        objectives: names; more is better.
        reference_point: by objective, what must be exceeded for hypervolume to count.
        args: of the strategy.

    Raises:
        UnknownName: no such strategy or argument.
        UserError: an argument does not fit, or a package is missing.
    """
    strategy = REGISTRY.find(name).value
    if population < 1 or not objectives or len(set(objectives)) < len(objectives):
        raise UserError("a search needs a population of at least 1 and objectives, each named once")
    task = SearchTask(
        space=space,
        seed=seed,
        population=population,
        objectives=tuple(objectives),
        reference_point=point(reference_point, objectives),
    )
    return strategy(task, args)
