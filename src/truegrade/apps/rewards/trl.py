"""TRL: a reward function for ``GRPOTrainer`` and the trainers that take the same.

    GRPOTrainer(..., reward_funcs=[truegrade_reward(profile="strict")])

huggingface/trl@f2cd577 ``trl/trainer/grpo_trainer.py`` ``_calculate_rewards`` calls it with a batch and the
columns of its data. It is no coroutine function: TRL before 0.27 awaits none.

A reply of which nothing is known gets None, which TRL leaves out of its group from 1.6.0 on, where no other reward
function knows of it; TRL before takes it for 0, so that the training is ended there instead.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Literal

from truegrade.apps.rewards.busy_clock import StepTime
from truegrade.apps.rewards.grader import reward_grader
from truegrade.apps.rewards.records import Reward, reply_to, rows_of_batch
from truegrade.errors import UserError

Unknown = Literal["none", "raise"]
_LEAVES_OUT = (1, 6)
"""The first version of TRL that keeps a reply without a reward out of its group's mean: before, ``nansum`` of no
reward is a reward of 0."""


class TruegradeReward:
    """What `truegrade_reward` returns; a trainer may pickle it for its processes: it travels by its settings."""

    __name__ = "truegrade"
    """What trainers log it by."""

    def __init__(self, column: str | None, *, raises: bool, settings: dict[str, Any]) -> None:
        reward_grader(**settings)
        self._column, self._raises, self._settings = column, raises, settings
        self._time: StepTime | None = None

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"_time": None}

    def __call__(
        self,
        completions: Sequence[Any],
        log_extra: Callable[[str, list[Any]], None] | None = None,
        log_metric: Callable[[str, float], None] | None = None,
        **columns: Any,
    ) -> list[float | None]:
        """The rewards of a batch.

        Raises:
            RewardError: nothing is known of a reply, where that is to be raised.
            UnknownName: the data set has no such column.
            UserError: completions are no texts or messages, or a column of tests is of another length.
        """
        rows = rows_of_batch(completions, columns, self._column)
        rewards = reward_grader(**self._settings).grade_sync(
            [
                reply_to(row, completion, ground_truth=row.get(self._column or ""))
                for row, completion in zip(rows, completions, strict=True)
            ]
        )
        if log_extra is not None:
            log_extra("truegrade_reason", [str(reward.reason) for reward in rewards])
        since, self._time = self._time, self._time or StepTime()
        step_s, reward_s = self._time.lap()
        if log_metric is not None:
            for name, value in means(rewards).items():
                log_metric(f"truegrade/{name}", value)
            if since is not None:  # from the end of the batch before
                log_metric("truegrade/reward_share", reward_s / step_s)
        return [reward.known() if self._raises else reward.value for reward in rewards]


def truegrade_reward(
    *, column: str | None = None, unknown: Unknown | None = None, **settings: Any
) -> TruegradeReward:
    """A reward function.

    Args:
        column: that holds the tests; by default the first that a row has of ``ground_truth``,
            ``verification_info``, ``tests`` and others (`truegrade.apps.rewards.records.TRUTHS`).
        unknown: what a reply gets of which nothing is known: ``none``, or ``raise`` for a `RewardError`; by
            default ``none`` where the TRL that is installed leaves such replies out of their group.
        settings: of `truegrade.apps.rewards.grader.RewardGrader`.

    Raises:
        UserError: a setting is at fault.
    """
    if column is not None and not isinstance(column, str):
        raise UserError(f"`column`: {column!r} is no name of a column")
    if unknown not in (None, "none", "raise"):
        raise UserError(f"`unknown`: {unknown!r} is neither none nor raise")
    raises = not _leaves_out() if unknown is None else unknown == "raise"
    return TruegradeReward(column, raises=raises, settings=settings)


def means(rewards: Sequence[Reward]) -> dict[str, float]:
    """The mean of each number that comes with a reward, without the score, which the trainer has."""
    rows = [reward.numbers for reward in rewards]
    return (
        {name: sum(row[name] for row in rows) / len(rows) for name in rows[0] if name != "score"} if rows else {}
    )


def _leaves_out() -> bool:
    try:
        major, minor = version("trl").split(".")[:2]
    except PackageNotFoundError:
        return False
    return (int(major), int(minor)) >= _LEAVES_OUT
