"""verifiers (Prime Intellect), the older form: a rubric.

    vf.SingleTurnEnv(dataset=..., rubric=truegrade_rubric(profile="strict"))

PrimeIntellect-ai/verifiers@a60a606 ``verifiers/legacy/rubrics/rubric.py`` makes 0.0 of what a function raises.
`TruegradeRubric` sets ``state["error"]`` to an ``InfraError`` instead, for which ``maybe_retry`` rolls out again,
and lets the reply have no advantage: in a group it gets the mean of the others.
"""

from __future__ import annotations

from typing import Any

from truegrade.apps.rewards.grader import RewardGrader, reward_grader
from truegrade.apps.rewards.records import PolicyReply, Reward, reply_to
from truegrade.files.extras import importing

with importing("verifiers", __name__, "install it from https://github.com/PrimeIntellect-ai/verifiers"):
    import verifiers.legacy as vf

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
        super().__init__(funcs=[truegrade], weights=[1.0])
        self._grader = grader
        for metric in (truegrade_pass_rate, truegrade_tampering, truegrade_truncated):
            self.add_metric(metric)

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


# verifiers logs these by their names, and a rubric that a trainer pickles travels with them.


async def truegrade(state: Any) -> float:
    """The reward of a state that has one."""
    return float(state[_FOUND].value)


async def truegrade_pass_rate(state: Any) -> float:
    """The share of the tests that passed."""
    return _number(state, "pass_rate")


async def truegrade_tampering(state: Any) -> float:
    """1 where the program set out to change its verdict."""
    return _number(state, "tampering")


async def truegrade_truncated(state: Any) -> float:
    """1 where the model was cut off."""
    return _number(state, "truncated")


def _number(state: Any, name: str) -> float:
    reward: Reward = state[_FOUND]
    return reward.numbers[name]


def _unscored(state: Any, reward: float) -> None:
    found: Reward = state[_FOUND]
    if not state.get("error"):
        state["error"] = vf.InfraError(f"no reward: {found.detail or found.reason}")
    state.update(reward=reward, advantage=0.0, metrics={"truegrade_grader_error": 1.0})
    for step in state.get("trajectory") or []:
        step["advantage"] = 0.0 if step["advantage"] is None else step["advantage"]
        step["reward"] = reward if step["reward"] is None else step["reward"]
