"""``tpe``: Optuna's tree-structured Parzen estimator, a surrogate that learns where good genes lie.

Bergstra et al. 2011 (NeurIPS); several objectives: Ozaki et al. 2022 (JAIR 73:1209).

Every generation is asked of a new study, to which everything told is told again, with a sampler seeded for that
generation. So what is asked depends on what was told and on nothing a sampler remembers, and a search resumes
without Optuna's storage.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from truegrade.errors import UserError
from truegrade.evolution.dimensions import Choices, Dimension, stable_hash
from truegrade.evolution.direct import draw
from truegrade.evolution.genomes import Evaluated, Genome
from truegrade.evolution.search_order import point, shortfall, varying
from truegrade.evolution.searchers.base import TRIES, SearchTask, Strategy, read_settings, recipe

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution
    from optuna.samplers import BaseSampler
    from optuna.study import Study

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
        try:
            import optuna  # noqa: F401
        except ImportError:
            raise UserError("searcher tpe needs Optuna: pip install 'truegrade[evolve]'") from None
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
