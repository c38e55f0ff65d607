"""The test executor: candidates against self-made tests, in the jail.

Programs and tests are both model-written, so both run inside one jailed process: the tests of an agent are no
secret, and whatever a candidate or a test does to them decides nothing but which candidate the agent hands in.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from truegrade.agents.steps import AgentTrial, Candidate
from truegrade.grading.executor import Executor
from truegrade.records import Reason

CPU_S = 3.0
"""CPU seconds of one program with one test (huangd1999/AgentCoder@dddd1b9 ``src/test_executor_humaneval.py``)."""

NOT_RUN = "not_run"


def try_candidate(
    index: int,
    tests: Sequence[str],
    assemble: Callable[[str], str],
    executor: Executor,
    *,
    time_limits: int | None = None,
) -> Candidate:
    """Run every test on one candidate.

    Args:
        index: of the candidate in its round.
        tests: source of each.
        assemble: makes the program to run of a test.
        executor: runs it.
        time_limits: after so many tests that used up their time the others are not run; None runs all.

    Raises:
        SandboxError: the machinery failed.
    """
    trials: list[AgentTrial] = []
    for test in tests:
        if time_limits is not None and sum(t.status == Reason.TIME_LIMIT for t in trials) >= time_limits:
            trials.append(AgentTrial(test=test, status=NOT_RUN, detail=f"{time_limits} others used up their time"))
            continue
        outcome = executor.inside(assemble(test), cpu_s=CPU_S)
        trials.append(AgentTrial(test=test, status=outcome.status, detail=outcome.detail, cpu_s=outcome.cpu_s))
    return Candidate(index=index, trials=tuple(trials))


def best_of(candidates: Sequence[Candidate]) -> Candidate:
    """The first that passes most tests.

    Raises:
        ValueError: there is none.
    """
    return max(candidates, key=lambda candidate: (candidate.passed, -candidate.index))
