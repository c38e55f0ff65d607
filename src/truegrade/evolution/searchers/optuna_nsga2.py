"""``optuna-nsga2``: Optuna's NSGA-II on the direct genome, a second implementation to compare ours with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from truegrade.errors import UserError
from truegrade.evolution.searchers.base import SearchTask, read_settings
from truegrade.evolution.searchers.optuna_study import OptunaSearch, require_optuna
from truegrade.evolution.space import Genes

if TYPE_CHECKING:
    from optuna.samplers import BaseSampler
    from optuna.study import Study


class OptunaNsga2Settings(msgspec.Struct, frozen=True, kw_only=True):
    """None."""


class OptunaNsga2(OptunaSearch):
    """Its generations are of ``population`` full evaluations, counted by Optuna itself."""

    def __init__(self, task: SearchTask, args: Mapping[str, Any]) -> None:
        require_optuna("optuna-nsga2")
        read_settings("optuna-nsga2", args, OptunaNsga2Settings)
        if task.population < 2:
            raise UserError("searcher optuna-nsga2 needs a population of at least 2; raise it")
        super().__init__("optuna-nsga2", task)

    def sampler(self, seed: int) -> BaseSampler:
        """Optuna's, with its defaults."""
        from optuna.samplers import NSGAIISampler

        return NSGAIISampler(seed=seed, population_size=self.task.population)

    def replay(self, study: Study, params: Genes, values: Sequence[float]) -> None:
        """Ask for the trial as it was: only an asked one is counted into a generation.

        Optuna does that when it breeds the trial's genes, which fixed genes alone would never make it do.
        """
        study.enqueue_trial(params)
        trial = study.ask(self.distributions())
        _ = trial.relative_params
        study.tell(trial, list(values))
