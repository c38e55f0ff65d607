"""What an assay measures: profiles, the tests of a benchmark, and foreign graders."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol, runtime_checkable

from truegrade.apps.assay.records import Danger, Dispatch, Said
from truegrade.apps.assay.targets.calls import Reading


class Target(Protocol):
    """A grader under measurement."""

    @property
    def name(self) -> str:
        """As tables call it, e.g. ``strict@6`` or ``rewards.py:code_reward``."""

    @property
    def danger(self) -> Danger:
        """The most dangerous programs that it may be sent; the assay leaves the others out and says so."""

    @property
    def of_replies(self) -> bool:
        """Whether it is handed replies, as a trainer does in batches, and not programs."""

    @property
    def keeps_state(self) -> bool:
        """Whether one probe may leave something behind that meets the next: every cheat is then followed by
        controls."""

    @property
    def restarts(self) -> bool:
        """Whether each call of `grade` meets a grader in which nothing earlier is left."""

    @property
    def lanes(self) -> int:
        """Calls of `grade` that may be made at the same time, each in its thread."""

    @property
    def limit_s(self) -> float | None:
        """Seconds within which it has to answer one program; None where it has a limit of its own."""

    def derive_limit(self, slowest_s: float) -> None:
        """Told how long the slowest right program took, settle `limit_s`, unless the user named it."""

    def grade(self, sent: Sequence[Dispatch]) -> Iterator[Said]:
        """What it says of each probe, as it becomes known; one `Said` a probe, ``repeat`` left at 0.

        Dispatches of one call belong together: they are graded in the order given by a grader that keeps state, so
        that a control behind a cheat meets what the cheat left behind. A grader that dies is started again, and
        the probe that it died of gets ``passed=None``.

        Raises:
            UserError: it cannot be used at all (a file that does not exist, a module that cannot be imported).
        """

    def close(self) -> None:
        """End what it started; safe to call twice."""


@runtime_checkable
class BatchTarget(Protocol):
    """A grader under measurement that may keep what one reply told it, or is called with several at once."""

    takes_batches: bool
    """Whether it is called with several."""
    takes_messages: bool
    """Whether it is handed a reply as a list of messages."""

    def grade_batches(self, batches: Sequence[Sequence[Dispatch]]) -> Iterator[list[Reading] | Reading]:
        """What the grader, started anew where it can be, says of each batch, in a conversation; of the replies one
        after the other where it does not take batches.

        All replies are to problems that it was asked about before. It gives a reading for each reward, or says why
        there is none; there are fewer answers than batches where its process ended.
        """
