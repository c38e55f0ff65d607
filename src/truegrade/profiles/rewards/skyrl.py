"""`skyrl-lcb`: the reward of SkyRL's environment `lcb`, NovaSky-AI/SkyRL@a956457."""

from __future__ import annotations

from typing import Any

from truegrade.grading.contests.harness import Harness
from truegrade.profiles.contest_profile import GUARD, no_metadata
from truegrade.profiles.rewards.reward_profiles import ContestReward
from truegrade.profiles.rewards.rllm import RULES, WITH_PANDAS


def _all_true(results: list[Any]) -> bool:
    return all(result is True for result in results)


class SkyrlLcb(ContestReward):
    """``compute_score``, as ``LCBEnv.step`` calls it."""

    name = "skyrl-lcb"
    version = "a956457"
    limits = WITH_PANDAS
    harness = Harness(
        rules=RULES | {"disabled": GUARD, "module": "skyrl_gym.envs.lcb.livecodebench"},
        added_s=5.0,
        runner_error=no_metadata,
        passes=_all_true,
    )
