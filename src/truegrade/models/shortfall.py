"""Why samples have no reply: the causes, counted, and what to do about each."""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Callable

from truegrade.models.base import Reply

STEP = 10
"""The causes are told at the first failure, and whenever there are so many times as many."""

SHOWN_CAUSES = 3

Cause = tuple[int | None, str]
"""HTTP status, where there was one, and the error with its numbers and identifiers taken out."""

_log = logging.getLogger(__name__)
_VARYING = re.compile(r"\b(?=\w*\d)[\w-]{8,}\b|\d+")


class Shortfall:
    """Samples that a stage could not get a reply for.

    Args:
        tell: is given the causes in one line while the run goes on: after 1, 10, 100, ... samples that failed, and
            10, 100, ... requests that had to be repeated before an answer came.
    """

    def __init__(self, tell: Callable[[str], None]) -> None:
        self.not_asked = 0
        """Samples that the budget did not reach."""
        self._tell = tell
        self._told_at, self._repeats_told_at = 1, STEP
        self._repeated: Counter[Cause] = Counter()
        self._counts: Counter[Cause] = Counter()
        self._texts: dict[Cause, str] = {}

    def __len__(self) -> int:
        """How many samples are without a reply."""
        return self.not_asked + self.failed

    @property
    def failed(self) -> int:
        """Samples whose every attempt failed."""
        return self._counts.total()

    def add(self, reply: Reply) -> None:
        """Note a reply; one that has a text counts for nothing."""
        if reply.text is not None:
            self._note_repeats(reply)
            return
        status, text = _cause(reply)
        self._counts[self._kind(status, text)] += 1
        _log.info("a sample has no reply after %d attempts: %s", len(reply.attempts), text)
        if self.failed == self._told_at:
            self._told_at *= STEP
            failed = "1 sample has" if self.failed == 1 else f"{self.failed} samples have"
            causes = self._causes(self._counts)
            self._tell(f"{failed} failed so far: {causes}. Ctrl-C stops the run and keeps what it has")

    def sentence(self) -> str:
        """How many samples have no reply, why, most frequent causes first, and what to do."""
        parts = []
        if self.failed:
            parts.append(self._causes(self._counts))
        if self.not_asked:
            parts.append(f"{self.not_asked} × not asked, because `max_cost_usd` is spent: raise it")
        left = "1 sample has" if len(self) == 1 else f"{len(self)} samples have"
        again = "it" if len(self) == 1 else "them"
        return f"{left} no reply: {'; '.join(parts)}. The same command asks for {again} again"

    def _note_repeats(self, reply: Reply) -> None:
        """Requests that failed before this answer came: they cost time, and a setting may avoid them."""
        failed = [attempt for attempt in reply.attempts if attempt.outcome == "error"]
        self._repeated.update(self._kind(attempt.status, attempt.error or "no reason given") for attempt in failed)
        if self._repeated.total() >= self._repeats_told_at:
            while self._repeated.total() >= self._repeats_told_at:
                self._repeats_told_at *= STEP
            self._tell(f"{self._repeated.total()} requests were repeated so far: {self._causes(self._repeated)}")

    def _kind(self, status: int | None, text: str) -> Cause:
        """The cause of a failure; its first text stands for it in messages."""
        cause = (status, _VARYING.sub("…", text))
        self._texts.setdefault(cause, text)
        return cause

    def _causes(self, counts: Counter[Cause]) -> str:
        shown = counts.most_common(SHOWN_CAUSES)
        named = [f"{count} × {self._texts[cause]} ({_advice(*cause)})" for cause, count in shown]
        rest = counts.total() - sum(count for _, count in shown)
        return "; ".join([*named, *([f"{rest} × other causes (completions.jsonl has each)"] if rest else [])])


def _cause(reply: Reply) -> tuple[int | None, str]:
    """What the last attempt met."""
    if not reply.attempts:
        return None, "the model gave no text"
    last = reply.attempts[-1]
    if last.outcome == "error":
        return last.status, last.error or "no reason given"
    return last.status, "the reply was empty"


_ADVICE: tuple[tuple[Callable[[int, str], bool], str], ...] = (
    (
        lambda status, text: status == 200 and "empty" in text,
        "a model that reasons may have used up its tokens: raise `max_tokens`",
    ),
    (
        lambda _, text: "context" in text and "token" in text,
        "prompt and `max_tokens` together exceed what the server allows: lower `max_tokens`",
    ),
    (
        lambda status, _: status == 429,
        "the service limits requests: lower `max_connections` or raise `max_attempts`",
    ),
    (
        lambda status, _: 400 <= status < 500,
        "change or leave out what the service names: a parameter such as `temperature`, or one of `model_args`",
    ),
    (
        lambda status, _: status >= 500,
        "look into the server's log; where it is overloaded, lower `max_connections`",
    ),
    (lambda _, text: "timed out" in text, "raise `timeout_s` or lower `max_connections`"),
    (lambda _, text: "error" in text, "check that the service still runs, or lower `max_connections`"),
)
"""What to do about a failure, by its HTTP status (0 without one) and its text in small letters; the first fits."""


def _advice(status: int | None, text: str) -> str:
    fitting = (advice for fits, advice in _ADVICE if fits(status or 0, text.lower()))
    return next(fitting, "completions.jsonl has the attempts")
