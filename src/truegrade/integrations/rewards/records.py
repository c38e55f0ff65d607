"""What a reward is asked of, and what it says."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from typing import Annotated, Any, Literal, NamedTuple, Protocol

import msgspec

from truegrade.errors import TruegradeError, UserError
from truegrade.records import Form, Reason

OnError = Literal["retry", "raise"] | float
"""Where the grader fails: ask again until `retry_s` is over and then say None; raise at once; or this number."""
Truncated = Literal["fail", "none"]
"""What a reply gets that the model was cut off in: that of a wrong one, or None."""


class RewardError(TruegradeError):
    """Nothing is known of a reply: the grader failed, or its ground truth cannot be read. A trainer that would be
    told 0 would learn from a wrong label."""


class RewardLimits(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What programs may use, in place of the profile's limits; None keeps those."""

    cpu_s: Annotated[float, msgspec.Meta(gt=0)] | None = None
    """CPU seconds of a program, a call or a test."""
    memory_bytes: Annotated[int, msgspec.Meta(gt=0)] | None = None


class PolicyReply(msgspec.Struct, frozen=True, kw_only=True):
    """A reply of the model in training, and how it is to be judged: by its ground truth, or as a benchmark's."""

    text: str
    ground_truth: Any = None
    """As the trainer's data set holds it; see `truegrade.benchmarks.ground_truths.ground_truth`."""
    problem_id: str | None = None
    """Of the grader's benchmark, instead of a ground truth; else a name for logs."""
    entry_point: str | None = None
    """Name of the function, where the ground truth does not say it."""
    form: Form = "reply"
    reasoning: str | None = None
    finish_reason: str | None = None
    """``length`` where the model was cut off."""


class Reward(msgspec.Struct, frozen=True, kw_only=True):
    """What a reply earns, and why."""

    value: float | None
    """None where nothing is known, so that no model is trained on it."""
    passed: bool | None
    """Whether every test passed; None where nothing is known."""
    reason: Reason
    """``grader_error`` where the grader failed or the ground truth cannot be read."""
    detail: str = ""
    pass_rate: float | None = None
    """Share of the tests that passed; None where they were not counted."""
    marks: tuple[str, ...] = ()
    """Of the verdict."""
    truncated: bool = False
    tampering: bool = False
    """Whether the program set out to change its own verdict."""

    def known(self) -> float:
        """The value, for trainers that cannot leave a reply out.

        Raises:
            RewardError: there is none.
        """
        if self.value is None:
            raise RewardError(f"no reward: {self.detail or self.reason}")
        return self.value

    @property
    def numbers(self) -> dict[str, float]:
        """Always the same keys, all numbers, for trainers that log what comes with a reward.

        ``score`` and ``acc`` are 0 where nothing is known, and ``grader_error`` is 1 then.
        """
        return {
            "score": float(self.value or 0.0),
            "acc": float(bool(self.passed)),
            "pass_rate": float(self.passed or 0.0) if self.pass_rate is None else self.pass_rate,
            "tampering": float(self.tampering),
            "grader_error": float(self.reason is Reason.GRADER_ERROR),
            "truncated": float(self.truncated),
        }


class AnswerGiven(NamedTuple):
    """What the service says of a reply."""

    reason: Reason
    pass_rate: float | None
    marks: tuple[str, ...]
    detail: str


class ShadowAsker(Protocol):
    """Has replies graded once more, beside the training; never waits."""

    def __call__(self, replies: Sequence[PolicyReply], profile: str | None) -> Sequence[Future[AnswerGiven]]:
        """Ask.

        Args:
            replies: to be graded, all of which have a problem.
            profile: whose rules are asked; None looks, by the grader's own, for attempts to be paid for nothing:
                ``tampering``, the marks are the channels.
        """


class RewardObserver(Protocol):
    """Watches what is paid. One with a method ``watch`` is given a `ShadowAsker` first."""

    def observe(self, replies: Sequence[PolicyReply], rewards: Sequence[Reward]) -> None:
        """Called once for each `RewardGrader.grade`, in any thread; what it raises is logged alone."""


class Scheme(msgspec.Struct, frozen=True):
    """How tests become a number: ``all``, ``share``, ``share-after-all(K)``, ``threshold(T)``."""

    name: Literal["all", "share", "share-after-all", "threshold"] = "all"
    argument: float = 0.0
    """K: tests at the front of which the share is taken. T: the least share that pays 1.0."""

    @classmethod
    def parse(cls, text: str) -> Scheme:
        """The scheme of that name.

        Raises:
            UserError: there is none.
        """
        name, bracket, rest = text.partition("(")
        if name in {"all", "share"} and not bracket:
            return cls(name)  # type: ignore[arg-type]
        if name in {"share-after-all", "threshold"} and rest.endswith(")"):
            try:
                argument = float(rest[:-1])
            except ValueError:
                argument = -1.0
            if argument > 0 and (argument <= 1 if name == "threshold" else argument == int(argument)):
                return cls(name, argument)  # type: ignore[arg-type]
        raise UserError(
            f"`scheme`: {text!r} is none of all, share, share-after-all(K) with a whole number of tests, and"
            " threshold(T) with a share above 0"
        )

    @property
    def counts(self) -> bool:
        """Whether the tests of a wrong reply have to be counted."""
        return self.name != "all"

    @property
    def first_tests(self) -> int | None:
        """How many tests are counted, from the first one on; None for all."""
        return int(self.argument) if self.name == "share-after-all" else None

    def value(self, passed: bool, pass_rate: float | None) -> float:
        """What a reply earns.

        Args:
            passed: whether every test passed.
            pass_rate: share of the counted tests that passed; None where none could be counted.
        """
        if passed or pass_rate is None or not self.counts:
            return float(passed)
        return float(pass_rate >= self.argument) if self.name == "threshold" else pass_rate
