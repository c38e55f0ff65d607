"""Grading on this machine: threads that ask, and one sandbox that runs the programs."""

from __future__ import annotations

import os
import threading
from collections.abc import Generator, Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, as_completed, wait
from contextlib import contextmanager

from truegrade.errors import SandboxError, UserError
from truegrade.pipeline.verdicts import answer_of, limits_for, verdict_on
from truegrade.profiles import Profile
from truegrade.records import Answer, Completion, Problem, Verdict
from truegrade.sandbox import Limits, Sandbox


class LocalGrader:
    """A `truegrade.pipeline.graders.Grader` of threads; the sandbox starts nothing before a program has to run.

    Args:
        workers: programs run at once, also where several threads draw verdicts.
        allow_unsafe: run programs even where only resource limits protect this machine (level 1).
    """

    def __init__(self, workers: int, *, allow_unsafe: bool = False) -> None:
        self._workers, self._allow_unsafe = max(1, workers), allow_unsafe
        self._slots = threading.Semaphore(self._workers)
        self._lock = threading.Lock()
        self._open: set[Sandbox] = set()
        self._closed = False

    def close(self) -> None:
        """End what is under way in other threads: it fails with a SandboxError."""
        with self._lock:
            self._closed = True
            for sandbox in self._open:
                sandbox.close()

    def verdicts(
        self, completions: Iterable[Completion | None], problems: Mapping[str, Problem], profile: Profile
    ) -> Generator[Verdict, None, None]:
        """See `truegrade.pipeline.graders.Grader.verdicts`.

        Answers are taken out in this thread; ``workers`` threads judge those that need a program. A completion
        that is None says that no other is there yet: what was judged meanwhile is handed out.
        """
        pool = ThreadPoolExecutor(self._workers, thread_name_prefix="grade")
        under_way: set[Future[Verdict]] = set()
        limits = limits_for(profile, problems.values())
        try:  # the sandbox closes first: that ends the programs which the threads wait for
            with self._sandbox(limits) as sandbox:
                for completion in completions:
                    full = len(under_way) >= 4 * self._workers
                    if full or completion is None:
                        done, under_way = wait(under_way, None if full else 0, FIRST_COMPLETED)
                        yield from (future.result() for future in done)
                    if completion is None:
                        continue
                    problem = problems[completion.problem_id]
                    answer = answer_of(completion, problem, profile)
                    if answer.value is not None and profile.executes(problem):
                        under_way.add(pool.submit(self._judged, completion, problem, profile, sandbox, answer))
                    else:
                        yield verdict_on(completion, problem, profile, sandbox, answer)
                yield from (future.result() for future in as_completed(under_way))
        finally:
            pool.shutdown(cancel_futures=True)

    def _judged(
        self, completion: Completion, problem: Problem, profile: Profile, sandbox: Sandbox, answer: Answer
    ) -> Verdict:
        with self._slots:
            return verdict_on(completion, problem, profile, sandbox, answer)

    @contextmanager
    def _sandbox(self, limits: Limits) -> Iterator[Sandbox]:
        """A sandbox that `close` closes too."""
        with Sandbox(limits, workers=self._workers, allow_unsafe=self._allow_unsafe) as sandbox:
            with self._lock:
                if self._closed:
                    raise SandboxError("the grader is closed; open another to grade more")
                self._open.add(sandbox)
            try:
                yield sandbox
            finally:
                with self._lock:
                    self._open.discard(sandbox)


def open_local(address: str, workers: int | None, allow_unsafe: bool) -> LocalGrader:
    """``--executor local``, one worker a core unless told otherwise.

    Raises:
        UserError: an address was given.
    """
    if address:
        raise UserError(f"`executor` local:{address}: this machine has no address; write `executor` local")
    return LocalGrader(workers or os.cpu_count() or 1, allow_unsafe=allow_unsafe)
