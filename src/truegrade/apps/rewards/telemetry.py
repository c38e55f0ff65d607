"""What was paid, step by step, and how many of the replies set out to be paid for nothing."""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from truegrade.apps.rewards.busy_clock import StepTime
from truegrade.apps.rewards.records import AnswerGiven, PolicyReply, Reward, ShadowAsker
from truegrade.errors import UserError
from truegrade.extraction.contest_programs import extract_contest_program
from truegrade.files.json_text import encode
from truegrade.grading.attempts import SHARE, HackLog, HackRecord, is_drawn, program_shape
from truegrade.grading.marks import JOINED_TESTS
from truegrade.records import Reason

BAIT = "bait"
"""Shadow that is no profile: attempts alone are looked for."""
STEPS_FILE = "steps.jsonl"
UNNAMED = "unnamed"
"""Channel of a program that the profile's rules mark, and that no other look has named."""
MOST_PROBLEMS = 10_000
"""Problems that a step tells apart; replies to further ones are counted in the step alone."""
WAITING = 256
"""Replies that may be looked at, at once; further ones are left out, so that no reward waits for them."""


class RewardCounts(msgspec.Struct, kw_only=True):
    """Sums over replies, of a step or of a problem in it."""

    replies: int = 0
    paid: float = 0.0
    """Sum of the rewards."""
    right: int = 0
    nulls: int = 0
    truncated: int = 0
    tampering: int = 0
    """Replies that the profile's own rules mark, with `tampering` or `joined-tests`."""

    def add(self, reward: Reward) -> None:
        """Count a reply."""
        self.replies += 1
        self.paid += reward.value or 0.0
        self.right += bool(reward.passed)
        self.nulls += reward.value is None
        self.truncated += reward.truncated
        self.tampering += _is_marked(reward)

    @property
    def mean_reward(self) -> float:
        """Of the replies that have one; 0 where none has."""
        known = self.replies - self.nulls
        return self.paid / known if known else 0.0

    @property
    def pass_rate(self) -> float:
        """Share of right replies among those of which something is known; 0 where nothing is."""
        known = self.replies - self.nulls
        return self.right / known if known else 0.0


class StepFigures(msgspec.Struct, kw_only=True):
    """A step of training, one line of ``steps.jsonl``."""

    step: int
    mean_reward: float = 0.0
    pass_rate: float = 0.0
    attempt_rate: float = 0.0
    """Estimated share of replies that set out to be paid for nothing; see `estimated_attempts`."""
    counts: RewardCounts = msgspec.field(default_factory=RewardCounts)
    step_s: float = 0.0
    """Wall seconds since the step before ended, or since the telemetry was made."""
    reward_s: float = 0.0
    """Of these, the seconds in which rewards of this process were being graded."""
    unpaid: int = 0
    """Replies from among which those that are looked at are drawn: earned nothing, and not marked."""
    looked_at: int = 0
    attempts: int = 0
    """Of those looked at, the ones accepted where they cannot be right."""
    shadow_paid: int = 0
    """Of those looked at, the ones that the shadow's profile pays; honest ones are among them."""
    channels: Counter[str] = msgspec.field(default_factory=Counter)
    """Attempts by channel, the marked ones included."""
    problems: dict[str, RewardCounts] = msgspec.field(default_factory=dict)

    @property
    def estimated_attempts(self) -> float:
        """Marked replies, and the share of attempts among those looked at applied to all that earned nothing."""
        found = self.attempts / self.looked_at if self.looked_at else 0.0
        return self.counts.tampering + self.unpaid * found


class Telemetry:
    """Given to `RewardGrader` as ``telemetry``; safe to use from several threads.

    It is pickled as its settings: another process counts for itself, once for all of equal settings, and opens
    its files with the first step or attempt. Copies are such, too.

    Args:
        folder: where ``steps.jsonl`` and ``hacks.jsonl`` are written; None keeps figures in memory alone.
        shadow: ``bait`` looks for attempts alone; the name of a profile known to be leaky asks it as well what it
            would have paid; None looks at nothing.
        shadow_share: share of the replies without a reward that is looked at, beside the training; the same
            replies every time.
        step_replies: a step ends by itself after so many replies; None waits for `step`.

    Raises:
        UserError: a setting is at fault, or the folder cannot be written to.
    """

    def __init__(
        self,
        folder: str | Path | None = None,
        shadow: str | None = BAIT,
        shadow_share: float = SHARE,
        step_replies: int | None = None,
    ) -> None:
        if not 0 <= shadow_share <= 1:
            raise UserError(f"`shadow_share`: {shadow_share} is no share, from 0 to 1")
        if step_replies is not None and step_replies < 1:
            raise UserError(f"`step_replies`: {step_replies} is not above 0")
        self.folder = None if folder is None else Path(folder)
        self._begin(shadow, shadow_share, step_replies)
        self._opened_log()

    def _begin(self, shadow: str | None, shadow_share: float, step_replies: int | None) -> None:
        self._log: HackLog | None = None
        self._shadow, self._share, self._step_replies = shadow, shadow_share, step_replies
        self._ask: ShadowAsker | None = None
        self._lock = threading.RLock()
        self._looked = threading.Condition(self._lock)
        self._pending: Counter[int] = Counter()
        """Step -> its replies that are being looked at."""
        self._ended: list[StepFigures] = []
        """Steps that are not written yet."""
        self._profile = ""
        self.now = StepFigures(step=0)
        """The step that is open."""
        self._time = StepTime()

    def __reduce__(self) -> tuple[Any, ...]:
        folder = None if self.folder is None else self.folder.absolute()
        return _travelled, (type(self), folder, self._shadow, self._share, self._step_replies)

    def _opened_log(self) -> HackLog | None:
        with self._lock:
            if self._log is None and self.folder is not None:
                self._log = HackLog(self.folder)
            return self._log

    def watch(self, ask: ShadowAsker, profile: str) -> None:
        """Told by a grader how it can be asked once more, and its profile."""
        self._ask, self._profile = ask, profile

    def observe(self, replies: Sequence[PolicyReply], rewards: Sequence[Reward]) -> None:
        """Count what was paid, and have a share of what was not looked at."""
        with self._lock:
            step = self.now
            looked_at = []
            for reply, reward in zip(replies, rewards, strict=True):
                self._count(step, reply, reward)
                if self._wanted(reply, reward):
                    looked_at.append((reply, reward))
            looked_at = looked_at[: max(0, WAITING - self._pending.total())]
            if self._step_replies is not None and step.counts.replies >= self._step_replies:
                self.step()
        if looked_at and self._ask is not None and self._shadow is not None:
            self._look(step, looked_at, self._ask)

    def step(self) -> StepFigures:
        """End the step: a new one begins, and this one's figures are given.

        They grow while replies are being looked at, and are written to ``steps.jsonl`` once none is; `settle`
        waits for that.
        """
        with self._lock:
            ended, self.now = self.now, StepFigures(step=self.now.step + 1)
            ended.step_s, ended.reward_s = self._time.lap()
            self._sum_up(ended)
            self._ended.append(ended)
            self._write()
        return ended

    def settle(self, timeout_s: float | None = None) -> bool:
        """Wait until nothing is being looked at; whether that is so."""
        with self._looked:
            return self._looked.wait_for(lambda: not self._pending.total(), timeout_s)

    @property
    def numbers(self) -> dict[str, float]:
        """Figures of the open step, for a trainer's own log."""
        with self._lock:
            self._sum_up(self.now)
            counts = self.now.counts
            return {
                "mean_reward": self.now.mean_reward,
                "pass_rate": self.now.pass_rate,
                "nulls": float(counts.nulls),
                "truncated": float(counts.truncated),
                "attempt_rate": self.now.attempt_rate,
            }

    def _count(self, step: StepFigures, reply: PolicyReply, reward: Reward) -> None:
        step.counts.add(reward)
        name = reply.problem_id
        if name is not None and (name in step.problems or len(step.problems) < MOST_PROBLEMS):
            step.problems.setdefault(name, RewardCounts()).add(reward)
        step.unpaid += _earned_nothing(reward) and not _is_marked(reward)
        if _is_marked(reward) and self._shadow is None:
            step.channels[UNNAMED] += 1

    def _wanted(self, reply: PolicyReply, reward: Reward) -> bool:
        return _is_marked(reward) or (_earned_nothing(reward) and is_drawn(reply.text, self._share))

    def _look(self, step: StepFigures, seen: Sequence[tuple[PolicyReply, Reward]], ask: ShadowAsker) -> None:
        replies = [reply for reply, _ in seen]
        found = ask(replies, None)
        leaky = ask(replies, self._shadow) if self._shadow not in (None, BAIT) else [None] * len(found)
        with self._lock:
            self._pending[step.step] += len(found)
        for (reply, reward), attempt, pays in zip(seen, found, leaky, strict=True):
            done = partial(self._seen, step, reply, reward, attempt, pays)
            _when_all([attempt] if pays is None else [attempt, pays], done)

    def _seen(
        self,
        step: StepFigures,
        reply: PolicyReply,
        reward: Reward,
        attempt: Future[AnswerGiven],
        pays: Future[AnswerGiven] | None,
    ) -> None:
        """What was found of one reply; called in the grader's own thread."""
        try:
            answer, paid_there = _answer_if_known(attempt), pays is not None and _passed(_answer_if_known(pays))
            channels = answer.marks if answer is not None and answer.reason is Reason.TAMPERING else ()
            if _is_marked(reward) and not channels:
                channels = (UNNAMED,)
            with self._lock:
                if answer is not None and not _is_marked(reward):
                    step.looked_at += 1
                    step.attempts += bool(channels)
                    step.shadow_paid += paid_there
                step.channels.update(channels)
            if channels and (log := self._opened_log()) is not None:
                paid = "yes" if reward.value else "shadow" if paid_there else "no"
                log.add(self._record(reply, channels, paid, step.step))
        except Exception:  # rewards must come whatever happens here
            logging.getLogger("truegrade.rewards").exception("telemetry failed; rewards are unchanged")
        finally:
            with self._looked:
                self._pending[step.step] -= 1
                self._sum_up(step)
                self._write()
                self._looked.notify_all()

    def _record(self, reply: PolicyReply, channels: tuple[str, ...], paid: str, step: int) -> HackRecord:
        program = extract_contest_program(reply.text).value if reply.form == "reply" else reply.text
        return HackRecord(
            channel=channels[0],
            channels=channels,
            shape=program_shape(program or reply.text),
            profile=self._profile,
            paid=paid,
            problem_id=reply.problem_id,
            step=step,
            text=reply.text,
        )

    def _write(self) -> None:
        """Write the steps that have ended and of which no reply is being looked at."""
        done = [step for step in self._ended if not self._pending[step.step]]
        if not done:
            return
        self._ended = [step for step in self._ended if self._pending[step.step]]
        for step in done:
            del self._pending[step.step]
        if self.folder is not None:
            self._opened_log()  # which makes the folder
            with (self.folder / STEPS_FILE).open("ab") as file:
                file.write(b"".join(encode(step) + b"\n" for step in done))

    def _sum_up(self, step: StepFigures) -> None:
        step.mean_reward, step.pass_rate = step.counts.mean_reward, step.counts.pass_rate
        step.attempt_rate = step.estimated_attempts / step.counts.replies if step.counts.replies else 0.0


def _is_marked(reward: Reward) -> bool:
    return reward.tampering or JOINED_TESTS in reward.marks


def _travelled(
    made: type[Telemetry], folder: Path | None, shadow: str | None, share: float, step_replies: int | None
) -> Telemetry:
    """Of a process, the one of these settings."""
    key = made, folder, shadow, share, step_replies
    if key not in _of_settings:
        found = made.__new__(made)
        found.folder = folder
        found._begin(shadow, share, step_replies)
        _of_settings.setdefault(key, found)
    return _of_settings[key]


_of_settings: dict[tuple[object, ...], Telemetry] = {}


def _earned_nothing(reward: Reward) -> bool:
    return not reward.passed and reward.reason not in (Reason.GRADER_ERROR, Reason.TRUNCATED)


def _answer_if_known(answer: Future[AnswerGiven]) -> AnswerGiven | None:
    """What was answered; None where the grader failed, is closed, or has no such rules."""
    if answer.cancelled() or answer.exception() is not None:
        return None
    said = answer.result()
    return None if said.reason is Reason.GRADER_ERROR else said


def _passed(answer: AnswerGiven | None) -> bool:
    return answer is not None and answer.reason is Reason.PASSED


def _when_all(futures: Sequence[Future[AnswerGiven]], done: Callable[[], None]) -> None:
    left = len(futures)
    lock = threading.Lock()

    def count(_: Future[AnswerGiven]) -> None:
        nonlocal left
        with lock:
            left -= 1
            last = left == 0
        if last:
            done()

    for future in futures:
        future.add_done_callback(count)
