"""A verdict that the death of a jail's own process may have caused is taken again."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from truegrade.errors import SandboxError
from truegrade.records import Reason
from truegrade.sandbox.modes import TESTS_ENDED
from truegrade.sandbox.outcome import LOST

R = TypeVar("R")

ATTEMPTS = 3
"""Runs of one program, where each ends in doubt."""


def doubtful(reason: str, detail: str) -> bool:
    """Whether a run may have ended so because a process beside the program was killed from outside.

    To the supervisor the death of a process that it did not order looks like the program's own doing.
    """
    return reason in {Reason.KILLED, Reason.GRADER_ERROR} or TESTS_ENDED in detail


def unknown(detail: str) -> bool:
    """Whether nothing is known of the program's own end, so that no verdict can rest on it."""
    return LOST in detail


def steadily(run: Callable[[], R], is_doubtful: Callable[[R], bool], closed: Callable[[], bool]) -> R:
    """Run until the machinery holds and the end is beyond doubt, at most `ATTEMPTS` times; the last end stands.

    Args:
        run: one run of the program.
        is_doubtful: whether its end has to be confirmed.
        closed: whether runs are being ended on purpose.

    Raises:
        SandboxError: the machinery failed in the last attempt, or is closed.
    """
    for _ in range(ATTEMPTS - 1):
        try:
            result = run()
        except SandboxError:
            if closed():
                raise
        else:
            if not is_doubtful(result):
                return result
    return run()
