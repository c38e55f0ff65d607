"""A space and what is known about it, in Optuna's terms; shared by ``tpe`` and ``optuna-nsga2``.

Every generation is asked of a new study, to which everything told is told again, with a sampler seeded for that
generation. So what is asked depends on what was told and on nothing a sampler remembers, and a search resumes
without Optuna's storage.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING

from truegrade.errors import UserError
from truegrade.evolution.dimensions import Choices, Dimension
from truegrade.evolution.direct import draw
from truegrade.evolution.genomes import Evaluated, Genome
from truegrade.evolution.searchers.base import TRIES, Strategy, recipe
from truegrade.evolution.space import Genes
from truegrade.evolution.streams import stable_hash
from truegrade.evolution.survival import point, shortfall, varying

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution
    from optuna.samplers import BaseSampler
    from optuna.study import Study

SEEDS = 2**32
"""What Optuna's samplers take as seeds."""


def require_optuna(searcher: str) -> None:
    """Refuse early, with the remedy.

    Raises:
        UserError: Optuna is not installed.
    """
    try:
        import optuna  # noqa: F401
    except ImportError:
        raise UserError(f"searcher {searcher} needs Optuna: pip install 'truegrade[evolve]'") from None


class OptunaSearch(Strategy, ABC):
    """Asks a sampler of Optuna's. It learns from full evaluations only: a sampler cannot weigh fidelities."""

    @abstractmethod
    def sampler(self, seed: int) -> BaseSampler:
        """A new sampler."""

    @abstractmethod
    def replay(self, study: Study, params: Genes, values: Sequence[float]) -> None:
        """Tell a study of a trial that was evaluated before."""

    def ask(self, generation: int, size: int) -> Sequence[Genome]:
        """What the sampler suggests and was not evaluated yet; fewer where it suggests nothing new any more.

        A suggestion that was evaluated already is answered at once, so the sampler moves on.
        """
        full = [one for one in self.told if shortfall(one) <= 0.0]
        objectives = varying(full, self.task.objectives) or self.task.objectives
        scores = {recipe(one.genome): point(one.scores.objectives, objectives) for one in full}
        study = self._study(generation, full, objectives)
        known = {recipe(one.genome) for one in self.told}
        space, axes = self.task.space, self.distributions()
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

    def _study(self, generation: int, full: Sequence[Evaluated], objectives: Sequence[str]) -> Study:
        seed = stable_hash(["optuna", self.task.seed, generation]) % SEEDS
        study = _quiet_study(len(objectives), self.sampler(seed))
        for one in full:
            genes = self.task.space.genes(one.genome)
            self.replay(study, genes, point(one.scores.objectives, objectives))
        return study

    def distributions(self) -> dict[str, BaseDistribution]:
        """Every axis of the space."""
        return {axis.name: distribution(axis) for axis in self.task.space.dimensions}


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
