"""verifiers (Prime Intellect), the older form: a rubric.

    vf.SingleTurnEnv(dataset=..., rubric=truegrade_rubric(profile="strict"))

PrimeIntellect-ai/verifiers@a60a606 ``verifiers/legacy/rubrics/rubric.py`` makes 0.0 of what a function raises.
`TruegradeRubric` sets ``state["error"]`` to an ``InfraError`` instead, for which ``maybe_retry`` rolls out again,
and lets the reply have no advantage: in a group it gets the mean of the others.
"""

from __future__ import annotations

from typing import Any

import verifiers.legacy as vf

from truegrade.apps.rewards.grader import RewardGrader, reward_grader
from truegrade.apps.rewards.records import PolicyReply, Reward, reply_to

_FOUND = "truegrade"
"""Key of a state under which its reward lies until it is scored."""


def truegrade_rubric(**settings: Any) -> TruegradeRubric:
    """A rubric.

    Args:
        settings: of `truegrade.apps.rewards.grader.RewardGrader`.

    Raises:
        UserError: a setting is at fault.
    """
    return TruegradeRubric(reward_grader(**settings))


class TruegradeRubric(vf.Rubric):  # type: ignore[misc]
    """Grades replies; further reward functions and metrics are added as to any rubric.

    Args:
        grader: that grades.
    """

    def __init__(self, grader: RewardGrader) -> None:
        async def truegrade(state: Any) -> float:
            return float(state[_FOUND].value)

        super().__init__(funcs=[truegrade], weights=[1.0])
        self._grader = grader
        for name in ("pass_rate", "tampering", "truncated"):
            self.add_metric(_metric(name))

    async def score_rollout(self, state: Any) -> None:
        """Score a state; where nothing is known of it, its ``error`` says so and its reward of 0.0 is no label."""
        (known,) = await self._graded([state])
        if known:
            await super().score_rollout(state)
        else:
            _unscored(state, 0.0)

    async def score_group(self, states: list[Any]) -> None:
        """Score a group; a state of which nothing is known has an ``error`` and the mean reward of the others."""
        known = await self._graded(states)
        scored = [state for state, one in zip(states, known, strict=True) if one]
        if scored:
            await super().score_group(scored)
        mean = sum(state["reward"] for state in scored) / len(scored) if scored else 0.0
        for state, one in zip(states, known, strict=True):
            if not one:
                _unscored(state, mean)

    async def _graded(self, states: list[Any]) -> list[bool]:
        """Of which states something is known."""
        rewards = await self._grader.grade([self._reply(state) for state in states])
        for state, reward in zip(states, rewards, strict=True):
            state[_FOUND] = reward
        return [reward.value is not None for reward in rewards]

    def _reply(self, state: Any) -> PolicyReply:
        objects = self.score_objects(state)
        info = objects["info"] if isinstance(objects["info"], dict) else {}
        finish_reason = "length" if state.get("is_truncated") else None
        row = {name: value for name, value in objects.items() if not isinstance(value, str) or value}
        return reply_to(info | row, state["completion"], finish_reason=finish_reason)


def _metric(name: str) -> Any:
    async def metric(state: Any) -> float:
        reward: Reward = state[_FOUND]
        return reward.numbers[name]

    metric.__name__ = f"truegrade_{name}"
    return metric


def _unscored(state: Any, reward: float) -> None:
    found: Reward = state[_FOUND]
    if not state.get("error"):
        state["error"] = vf.InfraError(f"no reward: {found.detail or found.reason}")
    state.update(reward=reward, advantage=0.0, metrics={"truegrade_grader_error": 1.0})
    for step in state.get("trajectory") or []:
        step["advantage"] = 0.0 if step["advantage"] is None else step["advantage"]
        step["reward"] = reward if step["reward"] is None else step["reward"]
