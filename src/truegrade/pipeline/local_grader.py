"""Grading on this machine: threads that ask, and one sandbox that runs the programs."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterable, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, as_completed, wait

from truegrade.errors import UserError
from truegrade.pipeline.verdicts import answer_of, limits_for, verdict_on
from truegrade.profiles import Profile
from truegrade.records import Completion, Problem, Verdict
from truegrade.sandbox import Sandbox


class LocalGrader:
    """A `truegrade.pipeline.graders.Grader` of threads; the sandbox starts nothing before a program has to run.

    Args:
        workers: programs run at once.
        allow_unsafe: run programs even where only resource limits protect this machine (level 1).
    """

    def __init__(self, workers: int, *, allow_unsafe: bool = False) -> None:
        self._workers, self._allow_unsafe = max(1, workers), allow_unsafe

    def close(self) -> None:
        """Nothing is held between two gradings."""

    def verdicts(
        self, completions: Iterable[Completion], problems: Mapping[str, Problem], profile: Profile
    ) -> Generator[Verdict, None, None]:
        """See `truegrade.pipeline.graders.Grader.verdicts`.

        Answers are taken out in this thread; ``workers`` threads judge those that need a program.
        """
        pool = ThreadPoolExecutor(self._workers, thread_name_prefix="grade")
        under_way: set[Future[Verdict]] = set()
        limits = limits_for(profile, problems.values())
        try:  # the sandbox closes first: that ends the programs which the threads wait for
            with Sandbox(limits, workers=self._workers, allow_unsafe=self._allow_unsafe) as sandbox:
                for completion in completions:
                    problem = problems[completion.problem_id]
                    answer = answer_of(completion, problem, profile)
                    if answer.value is not None and profile.executes(problem):
                        under_way.add(pool.submit(verdict_on, completion, problem, profile, sandbox, answer))
                    else:
                        yield verdict_on(completion, problem, profile, sandbox, answer)
                    if len(under_way) >= 4 * self._workers:
                        done, under_way = wait(under_way, return_when=FIRST_COMPLETED)
                        yield from (future.result() for future in done)
                yield from (future.result() for future in as_completed(under_way))
        finally:
            pool.shutdown(cancel_futures=True)


def open_local(address: str, workers: int | None, allow_unsafe: bool) -> LocalGrader:
    """``--executor local``, one worker a core unless told otherwise.

    Raises:
        UserError: an address was given.
    """
    if address:
        raise UserError(f"`executor` local:{address}: this machine has no address; write `executor` local")
    return LocalGrader(workers or os.cpu_count() or 1, allow_unsafe=allow_unsafe)
