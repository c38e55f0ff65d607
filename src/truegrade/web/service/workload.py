"""The bounded queue between requests, which are many, and programs, of which a few run at once."""

from __future__ import annotations

import asyncio
import math
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError, Future
from http import HTTPStatus
from typing import Any, NamedTuple, TypeVar

from truegrade.errors import SandboxError
from truegrade.records import Reason
from truegrade.sandbox.modes import TESTS_ENDED
from truegrade.sandbox.outcome import LOST
from truegrade.web.application import OWN, Client
from truegrade.web.messages import Refusal, ask_again, stopping

R = TypeVar("R")

MAX_RETRY_AFTER_S = 60
SMOOTHING = 0.05
"""Weight of the last job in the running mean of what a job takes."""
URGENCY: dict[Client, int] = {"oi": 0, "verl": 1, "openrlhf": 1, "own": 2}
"""Whose job begins first: that of a client that asks once, then of one that asks three or five times, then of one
that is told when to come back. Jobs of the same urgency begin in the order they came."""
TURN = 8
"""Each job of so many is the least urgent one, so that none waits for ever."""


class JobOrigin(NamedTuple):
    """By which way jobs came."""

    route: str = ""
    """For the metrics."""
    client: Client = OWN


ORIGIN = JobOrigin()


class _Queued(NamedTuple):
    route: str
    since: float
    job: Callable[[], Any]
    future: Future[Any]


class Workload:
    """Runs the jobs of requests in ``workers`` threads, the most urgent first.

    Args:
        workers: jobs run at once.
        max_queue: jobs that may wait or run.
    """

    def __init__(self, workers: int, max_queue: int) -> None:
        self.workers, self.max_queue = workers, max_queue
        self.running = 0
        """Jobs in a thread now."""
        self.unfinished = 0
        """Jobs that wait or run."""
        self.waited: Callable[[str, float], None] = lambda route, seconds: None
        """Told the route of each job that begins, and how many seconds it waited."""
        self._mean_s = 0.1
        self._queues: list[deque[_Queued]] = [deque() for _ in range(1 + max(URGENCY.values()))]
        """The most urgent first."""
        self._begun = 0
        self._closed = False
        self._lock = threading.Lock()
        self._queued = threading.Condition(self._lock)
        # Not those of an executor: the interpreter waits for them at its end, until all that waits is worked off.
        for number in range(workers):
            threading.Thread(target=self._work, name=f"service_{number}", daemon=True).start()

    async def run(self, jobs: Sequence[Callable[[], R]], asked: JobOrigin = ORIGIN) -> list[R]:
        """Run all jobs of a request and return their results in order.

        If the request is cancelled, those of its jobs that have not begun never do. The first exception of a job
        is raised once all have ended.

        Raises:
            Refusal: 429 if they do not fit into the queue now, 413 if they never will, 503 once it is closed.
        """
        self._admit(len(jobs))
        return await self._run(jobs, asked)

    async def run_within(self, jobs: Sequence[Callable[[], R]], hold_s: float, asked: JobOrigin) -> list[R]:
        """The same for a client that takes a refusal for a result: it waits however full the queue is.

        How many wait so is bounded by the connections that the process may open alone.

        Args:
            jobs: what to run.
            hold_s: seconds, the waiting included, after which the client would hang up.
            asked: by whom.

        Raises:
            Refusal: 504 if they have not ended by then, 503 once the service is closed.
        """
        with self._lock:
            self.unfinished += len(jobs)
        try:
            async with asyncio.timeout(hold_s):
                return await self._run(jobs, asked)
        except TimeoutError:
            raise ask_again(f"no worker was done with it within {hold_s:g} seconds") from None

    async def _run(self, jobs: Sequence[Callable[[], R]], asked: JobOrigin) -> list[R]:
        """Run jobs that are counted as unfinished already."""
        if not jobs:
            return []
        futures = self._enqueue(jobs, asked)
        try:
            await _all_done(futures)
        except asyncio.CancelledError:
            for future in futures:
                future.cancel()
            raise
        try:
            return [future.result() for future in futures]
        except CancelledError as error:
            raise stopping() from error

    def close(self) -> None:
        """Give up what waits; what runs is the caller's to end."""
        with self._queued:
            self._closed = True
            given_up = [queued for queue in self._queues for queued in queue]
            for queue in self._queues:
                queue.clear()
            self._queued.notify_all()
        for queued in given_up:
            queued.future.cancel()

    @property
    def waiting(self) -> int:
        """Jobs that wait for a thread."""
        return max(0, self.unfinished - self.running)

    @property
    def retry_after_s(self) -> int:
        """Seconds in which, by the pace so far, what waits now will have begun."""
        return min(MAX_RETRY_AFTER_S, max(1, math.ceil(self.waiting * self._mean_s / self.workers)))

    def _admit(self, count: int) -> None:
        if count > self.max_queue:
            raise Refusal(
                HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
                f"{count} gradings in one request; at most {self.max_queue} are taken, so split it",
            )
        with self._lock:
            if self.unfinished + count > self.max_queue:
                raise Refusal(
                    HTTPStatus.TOO_MANY_REQUESTS,
                    f"{self.unfinished} of {self.max_queue} places in the queue are taken; come back later",
                    headers={"Retry-After": str(self.retry_after_s)},
                )
            self.unfinished += count

    def _enqueue(self, jobs: Sequence[Callable[[], R]], asked: JobOrigin) -> list[Future[R]]:
        futures: list[Future[R]] = [Future() for _ in jobs]
        for future in futures:
            future.add_done_callback(self._forget)
        now = time.monotonic()
        with self._queued:
            if not self._closed:
                queue = self._queues[URGENCY[asked.client]]
                queue.extend(_Queued(asked.route, now, *each) for each in zip(jobs, futures, strict=True))
                self._queued.notify(len(futures))
                return futures
        for future in futures:
            future.cancel()
        raise stopping()

    def _work(self) -> None:
        while self._run_next():
            pass

    def _run_next(self) -> bool:
        """Wait for a job and run it; False once the service is closed."""
        with self._queued:
            while not any(self._queues):
                if self._closed:
                    return False
                self._queued.wait()
            self._begun += 1
            order = self._queues if self._begun % TURN else self._queues[::-1]
            queued = next(filter(None, order)).popleft()
        if queued.future.set_running_or_notify_cancel():
            self._settle(queued)
        return True

    def _settle(self, queued: _Queued) -> None:
        try:
            self.waited(queued.route, time.monotonic() - queued.since)
            result = self._timed(queued.job)
        except BaseException as error:
            queued.future.set_exception(error)
        else:
            queued.future.set_result(result)

    def _forget(self, _: Future[Any]) -> None:
        with self._lock:
            self.unfinished -= 1

    def _timed(self, job: Callable[[], R]) -> R:
        began = time.monotonic()
        with self._lock:
            self.running += 1
        try:
            return job()
        finally:
            with self._lock:
                self.running -= 1
                self._mean_s += SMOOTHING * (time.monotonic() - began - self._mean_s)


async def _all_done(futures: Sequence[Future[Any]]) -> None:
    """Wait for all futures with one wake-up of the loop, however many they are."""
    loop = asyncio.get_running_loop()
    finished = loop.create_future()
    left = len(futures)
    lock = threading.Lock()

    def wake() -> None:
        if not finished.done():
            finished.set_result(None)

    def count(_: Future[Any]) -> None:
        nonlocal left
        with lock:
            left -= 1
            last = left == 0
        if last and not loop.is_closed():
            loop.call_soon_threadsafe(wake)

    for future in futures:
        future.add_done_callback(count)
    await finished


# ---------------------------- A verdict that the death of a jail's own process may have caused is taken again.


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
