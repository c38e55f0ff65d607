"""AReaL: a workflow, and a reward function for other workflows.

    trainer.train(workflow="truegrade.apps.rewards.areal.TruegradeWorkflow", workflow_kwargs=..., ...)

with the arguments of AReaL's ``RLVRWorkflow`` but ``reward_fn``. Settings of `RewardGrader` come from the
environment: ``TRUEGRADE_REWARD_URL`` and the like.

inclusionAI/AReaL@4aef98d ``areal/api/reward_api.py`` calls a reward function in a pool of processes, a reply at a
time, and makes 0 of what takes longer than 15 seconds, four times over, the waiting for one of its processes
included. The workflow awaits the reward in place of that.
"""

from __future__ import annotations

import logging
from typing import Any

from truegrade.apps.rewards.grader import reward_grader, settings_of
from truegrade.apps.rewards.records import PolicyReply, RewardError, reply_to
from truegrade.extraction.thinking import without_special_tokens
from truegrade.files.extras import importing

with importing("areal", __name__, "install it from https://github.com/inclusionAI/AReaL"):
    from areal.workflow.rlvr import RLVRWorkflow

WITHIN_S = 12.0
"""Longest time of `reward_fn`, three seconds under AReaL's limit."""
_log = logging.getLogger(__name__)


def reward_fn(prompt: Any, completions: str, prompt_ids: Any, completion_ids: Any, **columns: Any) -> float:
    """The reward of one reply, for workflows that take a reward function; raises after 12 seconds at the latest.

    Args:
        prompt: not used.
        completions: the reply.
        prompt_ids: not used.
        completion_ids: not used.
        columns: of the row.

    Raises:
        RewardError: nothing is known of it.
    """
    within = min(WITHIN_S, settings_of().get("retry_s", WITHIN_S))
    (reward,) = reward_grader(retry_s=within).grade_sync([_policy_reply(completions, columns)])
    return reward.known()


class TruegradeWorkflow(RLVRWorkflow):  # type: ignore[misc]
    """One turn, graded without AReaL's pool of processes.

    Args:
        settings: of ``RLVRWorkflow``; a ``reward_fn`` among them is not used.

    Raises:
        UserError: a setting of the environment is at fault.
    """

    def __init__(self, **settings: Any) -> None:
        reward_grader()
        super().__init__(**settings | {"reward_fn": reward_fn})
        self.async_reward_fn = _rewarded

    async def arun_episode(self, engine: Any, data: dict[str, Any]) -> Any:
        """A trajectory; None where nothing is known of its reply, which AReaL leaves out of the group."""
        try:
            return await super().arun_episode(engine, data)
        except RewardError as error:
            _log.warning("left out: %s", error)
            return None


async def _rewarded(prompt: Any, completions: str, prompt_ids: Any, completion_ids: Any, **columns: Any) -> float:
    (reward,) = await reward_grader().grade([_policy_reply(completions, columns)])
    return reward.known()


def _policy_reply(completion: str, row: dict[str, Any]) -> PolicyReply:
    """AReaL decodes special tokens too."""
    return reply_to(row, without_special_tokens(completion))
