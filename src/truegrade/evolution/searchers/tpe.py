"""``tpe``: Optuna's tree-structured Parzen estimator, a surrogate that learns where good genes lie.

Bergstra et al. 2011 (NeurIPS); several objectives: Ozaki et al. 2022 (JAIR 73:1209).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from truegrade.evolution.searchers.base import SearchTask, read_settings
from truegrade.evolution.searchers.optuna_study import OptunaSearch, require_optuna
from truegrade.evolution.space import Genes

if TYPE_CHECKING:
    from optuna.samplers import BaseSampler
    from optuna.study import Study


class TpeSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Arguments of ``tpe``."""

    startup: Annotated[int, msgspec.Meta(ge=1)] = 10
    """Genomes drawn at random before the estimator is asked; Optuna's default."""


class Tpe(OptunaSearch):
    """Genes of one genome are estimated each for itself, as Optuna does by default."""

    def __init__(self, task: SearchTask, args: Mapping[str, Any]) -> None:
        require_optuna("tpe")
        self._settings = read_settings("tpe", args, TpeSettings)
        super().__init__("tpe", task)

    def sampler(self, seed: int) -> BaseSampler:
        """Optuna's, with its defaults."""
        from optuna.samplers import TPESampler

        return TPESampler(seed=seed, n_startup_trials=self._settings.startup)

    def replay(self, study: Study, params: Genes, values: Sequence[float]) -> None:
        """The estimator looks at finished trials only."""
        from optuna.trial import create_trial

        study.add_trial(create_trial(params=params, distributions=self.distributions(), values=list(values)))
