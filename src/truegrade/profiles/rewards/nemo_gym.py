"""`nemo-gym`: the resources server `code_gen` of NeMo Gym, NVIDIA-NeMo/Gym@07d6b0d."""

from __future__ import annotations

import json
from contextlib import suppress

from truegrade.extraction.contest_programs import last_pair
from truegrade.grading.contests.driver import close
from truegrade.grading.contests.harness import Harness, right
from truegrade.profiles.contest_profile import OFFICIAL_RULES, no_metadata
from truegrade.profiles.rewards.reward_profiles import ContestReward
from truegrade.profiles.rewards.rllm import all_equal_true

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

    name = "nemo-gym"
    version = "07d6b0d"
    needs_a_test = False
    harness = Harness(
        rules=OFFICIAL_RULES
        | {
            "world": "iterated",
            "timeout_s": 10.0,
            "announces_alarm": False,
            "module": "lcb_integration.testing_util",
            "close": True,
        },
        added_s=5.0,
        runner_error=no_metadata,
        passes=all_equal_true,
        right=_right,
        death_passes=True,
    )

    def block(self, reply: str) -> str | None:
        """The last two fences; None where nothing lies between them, or the reply has a tag of reasoning."""
        tagged = "<think>" in reply or "</think>" in reply
        return None if tagged or not reply.strip() else last_pair(reply) or None
