"""The bounded queue between requests, which are many, and programs, of which a few run at once."""

from __future__ import annotations

import asyncio
import math
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from http import HTTPStatus
from typing import Any, TypeVar

from truegrade.web.http_refusals import Refusal, stopping

R = TypeVar("R")

MAX_RETRY_AFTER_S = 60
SMOOTHING = 0.05
"""Weight of the last job in the running mean of what a job takes."""


class Workload:
    """Runs the jobs of requests in ``workers`` threads, in the order they came.

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
        self._mean_s = 0.1
        self._lock = threading.Lock()
        self._threads = ThreadPoolExecutor(workers, thread_name_prefix="service")

    async def run(self, jobs: Sequence[Callable[[], R]]) -> list[R]:
        """Run all jobs of a request and return their results in order.

        If the request is cancelled, those of its jobs that have not begun never do. The first exception of a job
        is raised once all have ended.

        Raises:
            Refusal: 429 if they do not fit into the queue now, 413 if they never will, 503 once it is closed.
        """
        if not jobs:
            return []
        self._admit(len(jobs))
        return await self._run(jobs)

    async def run_within(self, job: Callable[[], R], hold_s: float) -> R:
        """Run one job for a client that takes a refusal for a result: it waits however full the queue is.

        How many wait so is bounded by the connections that the service keeps open.

        Args:
            job: what to run.
            hold_s: seconds, the waiting included, after which the client would hang up.

        Raises:
            Refusal: 504 if it has not ended by then, 503 once the service is closed.
        """
        with self._lock:
            self.unfinished += 1
        try:
            async with asyncio.timeout(hold_s):
                return (await self._run([job]))[0]
        except TimeoutError:
            raise Refusal(
                HTTPStatus.GATEWAY_TIMEOUT, f"no worker was done with it within {hold_s:g} seconds; ask again"
            ) from None

    async def _run(self, jobs: Sequence[Callable[[], R]]) -> list[R]:
        """Run jobs that are counted as unfinished already."""
        try:
            futures = [self._threads.submit(self._timed, job) for job in jobs]
        except RuntimeError as error:  # closed
            raise stopping() from error
        try:
            await _all_done(futures)
        except asyncio.CancelledError:
            for future in futures:
                future.cancel()
            raise
        finally:
            for future in futures:
                future.add_done_callback(self._forget)
        try:
            return [future.result() for future in futures]
        except CancelledError as error:
            raise stopping() from error

    def close(self) -> None:
        """Give up what waits; what runs is the caller's to end."""
        self._threads.shutdown(wait=False, cancel_futures=True)

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
