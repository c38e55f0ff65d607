"""`nemo-gym`: the resources server `code_gen` of NeMo Gym, NVIDIA-NeMo/Gym@07d6b0d."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import ClassVar

from truegrade.extraction.contest_programs import last_pair
from truegrade.grading.contests import Rules
from truegrade.grading.contests.driver import close
from truegrade.grading.contests.harness import Harness, right
from truegrade.profiles.base import Rule
from truegrade.profiles.contest_profile import GUARD
from truegrade.profiles.rewards.contest_reward import PROMPT, SHARED_DEFECTS, ContestReward, no_error
from truegrade.profiles.rewards.rllm_lcb import STOPS, all_equal_true

_FOLDER = "NVIDIA-NeMo/Gym@07d6b0d resources_servers/code_gen"
_TESTING = f"{_FOLDER}/lcb_integration/testing_util.py"
_CHECK = f"{_FOLDER}/lcb_integration/compute_code_generation_metrics.py check_correctness"
_LONGER, _LONG = 6, 1000
"""A right value has at most so many times the characters of the expected text, and so many more."""


def _right(text: str, wanted: str, *, stdin: bool) -> bool:
    """As the published graders' rule has it; returned values may also be the same as JSON, or close as numbers."""
    if right(text, wanted, stdin=stdin):
        return True
    if not stdin and len(text) <= _LONGER * len(wanted) + _LONG:
        with suppress(ValueError, RecursionError):
            return close(json.loads(text), json.loads(wanted))
    return False


class NemoGym(ContestReward):
    """``verify`` of the server."""

    name: ClassVar[str] = "nemo-gym"
    version: ClassVar[str] = "07d6b0d"
    summary: ClassVar[str] = (
        "NeMo Gym's code_gen: LiveCodeBench's grader, last two fences, 10 s a test, close floats"
    )
    needs_a_test: ClassVar[bool] = False
    harness: ClassVar[Harness] = Harness(
        rules=Rules(
            world="iterated",
            timeout_s=10.0,
            whole_seconds=True,
            announces_alarm=False,
            int_digits=50_000,
            faulthandler=True,
            disabled=GUARD,
            preload=[],
            forked=True,
            module="lcb_integration.testing_util",
            close=True,
        ),
        added_s=5.0,
        runner_error=no_error,
        passes=all_equal_true,
        right=_right,
        death_passes=True,
    )
    rules: ClassVar[tuple[Rule, ...]] = (
        PROMPT,
        Rule("extraction", "the lines between the last two that contain three backticks; none, or no line between"
             " them: 0", f"{_FOLDER}/lcb_integration/extraction_utils.py"),
        Rule("extraction", "a reply that says <think> or </think> is paid reasoning_format_penalty, by default 0",
             f"{_FOLDER}/app.py verify"),
        Rule("program", "as `livecodebench`; sys.stdin can be iterated over", _TESTING),
        Rule("comparison", "as `livecodebench`, but returned values may also be equal as JSON, or floats within"
             f" 1e-5 of the expected one and 1e-8; {STOPS}", f"{_TESTING} grade_call_based"),
        Rule("limits", "10 s a test by SIGALRM, also for loading; whole process 11 s a test and 5 s; integers of"
             " up to 50,000 digits", f"{_FOLDER}/configs/code_gen.yaml; {_CHECK}"),
        Rule("aggregation", "1.0 if every result == True, else 0.0", f"{_FOLDER}/app.py verify"),
    )  # fmt: skip
    defects: ClassVar[tuple[str, ...]] = (
        *SHARED_DEFECTS,
        "no test at all is paid 1.0, also where the process has died",
        "an odd number of fences: the prose between two blocks is taken",
        "lines that a program prints are compared exactly, whatever its floats: only returned values may be close",
        "the alarm is an Exception: a program may catch or cancel it",
    )

    def block(self, reply: str) -> str | None:
        """The last two fences; None where nothing lies between them, or the reply has a tag of reasoning."""
        tagged = "<think>" in reply or "</think>" in reply
        return None if tagged or not reply.strip() else last_pair(reply) or None
