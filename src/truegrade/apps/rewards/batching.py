"""Replies that arrive one at a time, from any thread or event loop, asked in batches over a few connections.

One thread of its own with one event loop asks one service for all graders of this process: trainers call from
several loops and from pools of threads, and a connection belongs to one loop.
"""

from __future__ import annotations

import asyncio
import logging
import os
import random
import threading
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import msgspec

from truegrade.apps.rewards.records import AnswerGiven, SentProblem
from truegrade.errors import TruegradeError, UserError
from truegrade.files.json_text import encode
from truegrade.grading.functions import TESTS_INSIDE
from truegrade.records import Reason
from truegrade.web.client import ServiceError, refusal_text
from truegrade.web.messages import RewardResponse

if TYPE_CHECKING:
    import httpx2

GATHER_S = 0.005
"""Seconds in which what arrives goes into one request, while others are being answered."""
MOST = 64
"""Replies in a request."""
LEAST = 8
"""Replies that are not spread over several requests."""
MOST_BYTES = 8 * 2**20
"""Of a request's replies and tests, unless one alone has more."""
CONNECTIONS = 32
CONNECT_S = 10.0
IDLE_S = 5.0
"""Seconds that an idle connection is kept: less than the service keeps it, which might hang up as it is used."""
ASKS = 3
"""How often a reply is asked about whose grading failed, by a client that asks again."""
FIRST_WAIT_S = 0.1
MAX_WAIT_S = 10.0
JOIN_S = 5.0


class AskedUnder(NamedTuple):
    """What replies have to share to go into one request."""

    fields: tuple[tuple[str, Any], ...]
    """Of the request, besides replies and problems."""
    patient: bool
    """Whether to ask again where the service is gone or its grading failed."""


@dataclass(eq=False, slots=True)
class RewardQuestion:
    """A reply to ask about."""

    under: AskedUnder
    submission: dict[str, Any]
    problem: SentProblem | None
    deadline: float
    """Of `time.monotonic`; later nobody waits for the answer."""
    answer: Future[AnswerGiven] = field(default_factory=Future)
    """Raises UserError where the service refuses the question, ServiceError where nothing comes in time."""
    asks: int = 0

    @property
    def size(self) -> int:
        """Bytes, roughly."""
        return len(self.submission["text"]) + (0 if self.problem is None else len(self.problem.body))


_TOLD = 2
"""Failures in a row after which a person is told."""
_log = logging.getLogger("truegrade.rewards")


class Place(Protocol):
    """Where the service is."""

    ours: bool
    """Whether the service is the pool of this node: then its end is nothing that a caller should hear of."""

    def client(self) -> httpx2.AsyncClient:
        """Connections to it."""

    def ensure(self) -> None:
        """See to it that there is one; called before the first request and after each that is lost."""

    def close(self) -> None:
        """End what this process runs of it."""


class RewardAsker:
    """Asks one service; safe to use from several threads."""

    def __init__(self, place: Place) -> None:
        self.place, self.pid = place, os.getpid()
        self._waiting: list[RewardQuestion] = []
        self._open: set[RewardQuestion] = set()
        """Not answered yet."""
        self._flying = 0
        """Requests under way."""
        self._timer: asyncio.TimerHandle | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._closed = threading.Event()
        # Not the loop's own executor: the loop ends that in a new thread, and there are none any more once the
        # interpreter's end has begun.
        self._ensuring = ThreadPoolExecutor(1, "reward-place")
        self._started: Future[asyncio.AbstractEventLoop] = Future()
        self._thread = threading.Thread(target=self._run, name="reward-asker", daemon=True)
        self._thread.start()
        self._loop = self._started.result()

    def ask(self, questions: Sequence[RewardQuestion]) -> None:
        """Have questions answered; each one's `answer` says when.

        Raises:
            ServiceError: it is closed.
        """
        try:
            self._loop.call_soon_threadsafe(self._take, questions)
        except RuntimeError:
            raise ServiceError("the grader of rewards is closed") from None
        if self._closed.is_set():  # perhaps too late to be taken
            self._thread.join(JOIN_S)
            _fail(questions, ServiceError("the grader of rewards is closed"))

    def close(self) -> None:
        """End; questions under way end with a `ServiceError`."""
        self._closed.set()
        try:
            self._loop.call_soon_threadsafe(self._stop.set)
        except RuntimeError:
            return
        self.place.close()
        self._ensuring.shutdown(wait=False)
        if self._thread is not threading.current_thread():
            self._thread.join(JOIN_S)

    # ------------------------------------------------------------------------------ in the thread of its own

    def _run(self) -> None:
        asyncio.run(self._serve())

    async def _serve(self) -> None:
        asyncio.get_running_loop().set_exception_handler(_report)
        self._stop = asyncio.Event()
        self._ready = asyncio.Lock()
        self._sure = False
        """Whether the service is there, as far as is known."""
        async with self.place.client() as self._http:
            self._started.set_result(asyncio.get_running_loop())
            await self._stop.wait()
            for task in self._tasks.copy():
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
        _fail(self._open.copy(), ServiceError("the grader of rewards was closed"))

    def _take(self, questions: Iterable[RewardQuestion]) -> None:
        for question in questions:
            if self._stop.is_set():
                _fail([question], ServiceError("the grader of rewards is closed"))
            elif not question.answer.done():
                self._waiting.append(question)
                self._open.add(question)
        # A lone question does not wait for company that may never come; under load there is no hurry.
        if not self._flying or len(self._waiting) >= MOST:
            self._loop.call_soon(self._send)
        elif self._timer is None:
            self._timer = self._loop.call_later(GATHER_S, self._send)

    def _send(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        # Half of what is open, so that the workers have the other half while this one's answer is on its way.
        most = min(MOST, max(LEAST, len(self._open) // 2))
        waiting, self._waiting = self._waiting, []
        for batch in _batches(waiting, most):
            self._flying += 1
            task = self._loop.create_task(self._settle(batch))
            self._tasks.add(task)
            task.add_done_callback(self._landed)

    def _landed(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self._flying -= 1
        if self._waiting and not self._flying:
            self._send()

    async def _settle(self, batch: list[RewardQuestion]) -> None:
        """Have a batch answered, whatever happens."""
        try:
            await self._ask(batch)
        except asyncio.CancelledError:
            _fail(batch, ServiceError("the grader of rewards was closed"))
        except TruegradeError as error:
            _fail(batch, error)
        except Exception as error:  # nobody must wait for an answer that never comes
            _fail(batch, ServiceError(f"{type(error).__name__}: {error}"))
        finally:
            self._open.difference_update([it for it in batch if it.answer.done()])

    async def _ask(self, batch: list[RewardQuestion]) -> None:
        failures = 0
        while left := [it for it in batch if not it.answer.done()]:
            until = max(it.deadline for it in left)
            await self._make_sure()
            reply, failure = await self._post(left, until)
            if reply is not None and reply.status_code == HTTPStatus.OK:
                return self._answer(left, reply.content)
            if reply is not None and _refused(reply.status_code):
                return await self._refused(left, reply)
            failure = refusal_text(reply) if reply is not None else failure
            busy = reply is not None and reply.status_code == HTTPStatus.TOO_MANY_REQUESTS
            self._sure = busy
            # A pool of this node that stops says when to ask it again, but then another has taken its place.
            wait_s = _wait_s(None if self.place.ours and not busy else reply, failures)
            failures += 1
            # A connection that was idle can be lost for no fault of the service's: one more try is owed to all.
            hasty = not (left[0].under.patient or self.place.ours or busy) and failures > 1
            if hasty or time.monotonic() + wait_s >= until:
                return _fail(left, ServiceError(f"{failure} ({failures} requests)"))
            if failures == _TOLD:
                left_s = max(0.0, until - time.monotonic())
                said = "no reward from %s yet: %s; asked for %.0f s more"
                _log.warning(said, self._http.base_url, failure, left_s)
            await asyncio.sleep(wait_s)
        return None

    async def _make_sure(self) -> None:
        if self._sure:
            return
        async with self._ready:
            if not self._sure:
                await asyncio.get_running_loop().run_in_executor(self._ensuring, self.place.ensure)
                self._sure = True

    async def _post(self, batch: Sequence[RewardQuestion], until: float) -> tuple[httpx2.Response | None, str]:
        import httpx2

        try:
            async with asyncio.timeout(max(0.0, until - time.monotonic())):
                return await self._http.post("/v1/reward", content=_body(batch)), ""
        except TimeoutError:
            return None, "it has not answered in time"
        except httpx2.TransportError as error:
            return None, f"{type(error).__name__}: {error}"

    def _answer(self, batch: Sequence[RewardQuestion], content: bytes) -> None:
        said = msgspec.json.decode(content, type=RewardResponse)
        rows = zip(batch, said.reasons, said.pass_rates, said.marks, said.details, strict=True)
        for question, reason, pass_rate, marks, detail in rows:
            question.asks += 1
            failed = reason == Reason.GRADER_ERROR and TESTS_INSIDE not in marks  # such a verdict stands
            failed = failed and question.under.patient and question.asks < ASKS
            wait_s = FIRST_WAIT_S * 4**question.asks
            if failed and time.monotonic() + wait_s < question.deadline:
                self._loop.call_later(wait_s, self._take, [question])
            elif question.answer.set_running_or_notify_cancel():
                question.answer.set_result(AnswerGiven(Reason(reason), pass_rate, marks, detail))

    async def _refused(self, batch: list[RewardQuestion], reply: httpx2.Response) -> None:
        """Refused together, questions are asked apart: all but the one at fault get their answers."""
        if len(batch) == 1:
            return _fail(batch, UserError(f"the service refuses this reply: {refusal_text(reply)}"))
        middle = len(batch) // 2
        await self._ask(batch[:middle])
        return await self._ask(batch[middle:])


def _report(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Report what fails in the loop.

    anyio 4 waits on a Unix socket by a future, and is told of data once more in the turn that cancels it
    (`anyio._backends._asyncio.UNIXSocketStream`). Nothing is lost by it, and nobody could do anything about it.
    """
    if not isinstance(context.get("exception"), asyncio.InvalidStateError):
        loop.default_exception_handler(context)


def _refused(status: int) -> bool:
    """Whether asking again would give the same."""
    again = {HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_MANY_REQUESTS}
    return HTTPStatus.BAD_REQUEST <= status < HTTPStatus.INTERNAL_SERVER_ERROR and status not in again


def _wait_s(reply: httpx2.Response | None, failures: int) -> float:
    asked = "" if reply is None else reply.headers.get("Retry-After", "")
    own = min(MAX_WAIT_S, FIRST_WAIT_S * 2.0**failures)
    return (min(float(asked), MAX_WAIT_S) if asked.isdigit() else own) * random.uniform(1.0, 1.2)


def _fail(batch: Iterable[RewardQuestion], error: Exception) -> None:
    for question in batch:
        if not question.answer.done() and question.answer.set_running_or_notify_cancel():
            question.answer.set_exception(error)


def _batches(questions: Iterable[RewardQuestion], most: int) -> Iterable[list[RewardQuestion]]:
    """Questions that can share a request, in requests of at most so many."""
    groups: dict[AskedUnder, list[RewardQuestion]] = {}
    for question in questions:
        groups.setdefault(question.under, []).append(question)
    for group in groups.values():
        batch: list[RewardQuestion] = []
        size = 0
        for question in group:
            if batch and (len(batch) == most or size + question.size > MOST_BYTES):
                yield batch
                batch, size = [], 0
            batch.append(question)
            size += question.size
        yield batch


def _body(batch: Sequence[RewardQuestion]) -> bytes:
    """A request; problems are written already."""
    problems = {it.problem.id: it.problem.body for it in batch if it.problem is not None}
    request = dict(batch[0].under.fields) | {"completions": [it.submission for it in batch]}
    return encode(request)[:-1] + b',"problems":[' + b",".join(problems.values()) + b"]}"
