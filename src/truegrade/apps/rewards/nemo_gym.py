"""NeMo Gym: a resources server, whose ``app.py`` is

    from truegrade.apps.rewards.nemo_gym import TruegradeResourcesServer
    TruegradeResourcesServer.run_webserver()

NVIDIA-NeMo/Gym@07d6b0d ``nemo_gym/base_resources_server.py``, ``nemo_gym/judge.py``; rows as those of its
``code_gen``: ``verifier_metadata.unit_tests`` holds the tests.
"""

from __future__ import annotations

from typing import Any

from pydantic import Field

from truegrade.apps.rewards.grader import reward_grader
from truegrade.apps.rewards.records import reply_to
from truegrade.errors import TruegradeError
from truegrade.files.extras import importing

with importing("nemo_gym", __name__, "install it from https://github.com/NVIDIA-NeMo/Gym"):
    from nemo_gym.base_resources_server import (
        BaseResourcesServerConfig,
        BaseVerifyRequest,
        BaseVerifyResponse,
        SimpleResourcesServer,
    )
    from nemo_gym.judge import JudgeError


class TruegradeResourcesServerConfig(BaseResourcesServerConfig):  # type: ignore[misc]
    """Of the YAML file; ``truegrade`` holds settings of `RewardGrader`."""

    truegrade: dict[str, Any] = Field(default_factory=dict)


class TruegradeVerifyRequest(BaseVerifyRequest):  # type: ignore[misc]
    """A reply and its row."""

    verifier_metadata: dict[str, Any] | None = None


class TruegradeVerifyResponse(BaseVerifyResponse):  # type: ignore[misc]
    """The reward, and why."""

    pass_rate: float
    tampering: float
    truncated: float
    reason: str


class TruegradeResourcesServer(SimpleResourcesServer):  # type: ignore[misc]
    """Grades replies.

    Raises:
        UserError: a setting is at fault.
    """

    config: TruegradeResourcesServerConfig

    def model_post_init(self, context: Any) -> None:
        """Wrong settings are found at the start."""
        super().model_post_init(context)
        reward_grader(**self.config.truegrade)

    async def verify(self, body: TruegradeVerifyRequest) -> TruegradeVerifyResponse:
        """The reward of one reply.

        Raises:
            JudgeError: nothing is known of it: Gym keeps the row out of its metrics.
        """
        row = body.verifier_metadata or {}
        grader = reward_grader(**self.config.truegrade)
        cut = getattr(body.response.incomplete_details, "reason", None) == "max_output_tokens"
        asked = reply_to(row, body.response.output, finish_reason="length" if cut else None)
        try:
            (reward,) = await grader.grade([asked])
            value = reward.known()
        except TruegradeError as error:
            raise JudgeError(str(error)) from error
        numbers = reward.numbers
        return TruegradeVerifyResponse(
            **body.model_dump(),
            reward=value,
            pass_rate=numbers["pass_rate"],
            tampering=numbers["tampering"],
            truncated=numbers["truncated"],
            reason=str(reward.reason),
        )
