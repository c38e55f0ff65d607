"""Graders of others in the jail: Python functions and commands.

One conversation keeps one process of the grader, probe after probe, so that what a probe leaves behind is met by
the next. Where a probe ends that process, another is started for the rest.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar, Protocol

import msgspec

from truegrade.assay.records import Dispatch, Said
from truegrade.assay.targets import host
from truegrade.assay.targets.asking import AskedTarget, ProbeAsker
from truegrade.assay.targets.calls import ProbeQuestion
from truegrade.assay.targets.readings import DIED, HUNG, RAISED, Reading, no_verdict
from truegrade.errors import UserError
from truegrade.sandbox import CallResult, GraderNeeds, Limits, Outcome, Sandbox
from truegrade.sandbox.limits import MIB

LOADING_S = 120.0
"""Wall seconds that a grader may take to be imported."""
PROCESSES, OPEN_FILES = 64, 1024
OUTPUT_BYTES = 256 * MIB
END_S = 1.0
"""How long a conversation whose answers are all there may take to end."""
CPU_S = 1e6
"""No limit: wall seconds decide for each probe."""


class Program(Protocol):
    """A grader that the host (`truegrade.assay.targets.host`) starts."""

    settings: dict[str, Any]
    """For `host.open_grader`."""
    step: str
    """``grade`` or ``run``."""

    def payload(self, asked: ProbeQuestion) -> dict[str, Any]:
        """What that step gets for a probe."""

    def reading(self, value: Any) -> Reading:
        """What its answer means."""

    def unusable(self, why: str) -> UserError:
        """The error that says that it cannot be used, and what to do."""


class HostedTarget(AskedTarget):
    """A grader whose process is ours to start and to end: one for each call of `grade`.

    Args:
        asker: words for probes.
        program: the grader.
        shown: paths that it may read.
        packages: installed packages that it may import.
        workers: conversations at the same time.
        jailed: whether it runs in the jail; else only limits of resources bind it.
        allow_unsafe: whether it may run where the machine offers no jail.
    """

    restarts: ClassVar[bool] = True

    def __init__(
        self,
        asker: ProbeAsker,
        program: Program,
        *,
        shown: Sequence[str],
        packages: Sequence[str],
        workers: int | None,
        jailed: bool,
        allow_unsafe: bool,
    ) -> None:
        super().__init__(asker)
        self._program = program
        limits = Limits(
            cpu_s=CPU_S,
            wall_s=max(LOADING_S, 2 * asker.timeout_s),
            output_bytes=OUTPUT_BYTES,
            processes=PROCESSES,
            open_files=OPEN_FILES,
            packages=tuple(packages),
            grader=GraderNeeds(shown=tuple(shown)),
        )
        if jailed:
            self._sandbox = Sandbox(limits, workers, allow_unsafe=allow_unsafe)
        else:
            self._sandbox = Sandbox(limits, workers, max_level=1, allow_unsafe=True)
        self._source = Path(host.__file__).read_text(encoding="utf-8")

    def grade(self, sent: Sequence[Dispatch]) -> Iterator[Said]:
        """See `truegrade.assay.targets.base.Target`; raises SandboxError where nothing can be run."""
        left = list(sent)
        while left:
            questions = [self._asker.question(one) for one in left]
            done = 0
            for said in self._conversation(left, questions):
                done += 1
                yield said
            left = left[done:]

    def close(self) -> None:
        """End its processes."""
        self._sandbox.close()

    def _conversation(self, sent: Sequence[Dispatch], questions: Sequence[ProbeQuestion | Said]) -> Iterator[Said]:
        """What one process of the grader says, up to the probe that ended it."""
        asked = [one for one in questions if isinstance(one, ProbeQuestion)]
        if not asked:
            yield from (one for one in questions if isinstance(one, Said))
            return
        talk = _Talk(self._sandbox, self._source, self._calls(asked), self._asker.timeout_s)
        try:
            answers = iter(talk)
            first = next(answers)
            if isinstance(first, Outcome) or first.result.error is not None:
                raise self._program.unusable(_why_not_opened(first))
            for dispatch, question in zip(sent, questions, strict=True):
                if isinstance(question, Said):
                    yield question
                    continue
                heard = next(answers)
                if isinstance(heard, Outcome):
                    yield self._asker.said(dispatch, _ended(heard, self._asker.timeout_s))
                    return
                yield self._asker.said(dispatch, self._read(heard.result), heard.wall_s)
        finally:
            talk.end()

    def _calls(self, asked: Sequence[ProbeQuestion]) -> list[tuple[str, dict[str, Any]]]:
        step = self._program.step
        return [("open", self._program.settings), *((step, self._program.payload(one)) for one in asked)]

    def _read(self, result: CallResult) -> Reading:
        if result.error is not None:
            return Reading(None, None, no_verdict(RAISED, result.error))
        return self._program.reading(result.value)


class _Heard(msgspec.Struct, frozen=True):
    """An answer, and how long it took."""

    result: CallResult
    wall_s: float


class _Talk:
    """A conversation in a thread of its own: iterating gives each answer as it comes, then how it ended."""

    def __init__(
        self, sandbox: Sandbox, source: str, calls: Sequence[tuple[str, dict[str, Any]]], timeout_s: float
    ) -> None:
        self._heard: queue.SimpleQueue[_Heard | Outcome | BaseException] = queue.SimpleQueue()
        self._over = threading.Event()
        self._last = time.monotonic()
        self._thread = threading.Thread(
            target=self._hold, args=(sandbox, source, calls, timeout_s), name="grader", daemon=True
        )
        self._thread.start()

    def __iter__(self) -> Iterator[_Heard | Outcome]:
        while True:
            heard = self._heard.get()
            if isinstance(heard, BaseException):
                raise heard
            yield heard

    def end(self) -> None:
        """Hear no more: the grader ends with its next answer, or when the sandbox closes."""
        self._over.set()
        self._thread.join(END_S)  # so that the next conversation finds its worker

    def _hold(self, sandbox: Sandbox, source: str, calls: Sequence[Any], timeout_s: float) -> None:
        try:
            self._heard.put(sandbox.call(source, "answer", calls, self._hear, call_wall_s=timeout_s))
        except BaseException as error:
            self._heard.put(error)

    def _hear(self, _: int, result: CallResult) -> bool:
        now = time.monotonic()
        self._heard.put(_Heard(result, now - self._last))
        self._last = now
        return not self._over.is_set()


def _why_not_opened(heard: _Heard | Outcome) -> str:
    if isinstance(heard, Outcome):
        return heard.detail
    return heard.result.error or ""


def _ended(outcome: Outcome, timeout_s: float) -> Reading:
    """What it means that a conversation ended before the answer to a probe."""
    if outcome.status == "time_limit":
        return Reading(None, None, f"{HUNG} no answer in {timeout_s:g} s")
    return Reading(None, None, no_verdict(DIED, outcome.detail))
