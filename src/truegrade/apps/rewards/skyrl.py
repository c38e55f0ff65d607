"""SkyRL: an environment of one turn.

    skyrl_gym.envs.register(id="truegrade", entry_point="truegrade.apps.rewards.skyrl:TruegradeEnv")

inside the Ray entry point, and ``environment.env_class=truegrade``. The settings of
`truegrade.apps.rewards.grader.RewardGrader` come from the environment, ``TRUEGRADE_REWARD_URL`` and so on:
SkyRL's configuration takes no fields of environments that it does not know.

NovaSky-AI/SkyRL@a956457 ``skyrl-gym/skyrl_gym/envs/base_text_env.py``; rows as for its ``lcb``:
``reward_spec.ground_truth`` holds the tests. Steps run in a pool of threads, and calls that are under way together
become one batch.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from truegrade.apps.rewards.grader import reward_grader
from truegrade.apps.rewards.records import reply_to
from truegrade.files.extras import importing

with importing("skyrl_gym", __name__, "install it from https://github.com/NovaSky-AI/SkyRL"):
    from skyrl_gym.envs.base_text_env import BaseTextEnv, BaseTextEnvStepOutput


class TruegradeEnv(BaseTextEnv):  # type: ignore[misc]
    """Grades the one reply.

    Args:
        env_config: settings of `RewardGrader`.
        extras: of the row.
    """

    def __init__(self, env_config: Any = None, extras: Mapping[str, Any] | None = None) -> None:
        super().__init__()
        self._settings = dict(env_config or {})
        self._row = dict(extras or {})
        self._metrics: dict[str, float] = {}

    def step(self, action: str) -> BaseTextEnvStepOutput:
        """The reward of the reply.

        Raises:
            RewardError: nothing is known of it; SkyRL cannot leave a reply out.
        """
        truth = (self._row.get("reward_spec") or {}).get("ground_truth")
        asked = reply_to(self._row.get("extra_info") or {}, action, ground_truth=truth)
        (reward,) = reward_grader(**self._settings).grade_sync([asked])
        self._metrics = reward.numbers
        return BaseTextEnvStepOutput(
            observations=[],
            reward=reward.known(),
            done=True,
            metadata={**reward.numbers, "reason": str(reward.reason), "detail": reward.detail},
        )

    def get_metrics(self) -> dict[str, float]:
        """The numbers of the last step, for SkyRL's own logs."""
        return self._metrics
