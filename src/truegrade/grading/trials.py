"""Tests that are run one by one, each with an outcome of its own: the verdict on all of them, and their number."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec

from truegrade.grading.executor import Executor
from truegrade.grading.judgement import Judgement, TestCount, shortened
from truegrade.records import Reason
from truegrade.sandbox.outcome import Outcome

Failure = tuple[Reason, str]
Trial = tuple[Outcome, Failure | None]
"""A test's run, and why it failed or None."""

_START_S = 1.0
"""Wall seconds beyond a test's own: a program that sleeps through its limit is ended, a delayed one is not."""


_FILE = """import runpy, sys
with open({name!r}, "w", encoding="utf-8", newline="") as file:
    file.write(sys.stdin.read())
try:
    runpy.run_path({name!r}, run_name="__main__")
except SystemExit:
    raise
except BaseException:
    sys.excepthook(*sys.exc_info())
    sys.exit(1)
"""


class ScriptTest(msgspec.Struct, frozen=True, kw_only=True):
    """A script, and when it passes."""

    source: str
    stdin: str = ""
    expected: str | None = None
    """None where exit code 0 is enough."""


def as_file(program: str, name: str) -> ScriptTest:
    """A program that is run as a file of this name, as an interpreter of its own would run it.

    It comes by standard input, so that no frame above it holds its text.
    """
    return ScriptTest(source=_FILE.format(name=name), stdin=program)


def first_failure(trials: Iterable[Trial], count: int, *, marks: tuple[str, ...] = ()) -> Judgement:
    """Run tests until one fails; what is reported is the sum over those that were run."""
    cpu_s = wall_s = 0.0
    time_sensitive = False
    failure: Failure = Reason.PASSED, f"{count} tests"
    for number, (outcome, wrong) in enumerate(trials, 1):
        cpu_s += outcome.cpu_s
        wall_s += outcome.wall_s
        time_sensitive |= outcome.time_sensitive
        if wrong is not None:
            failure = wrong[0], f"test {number} of {count}: {wrong[1]}"
            break
    return Judgement(
        reason=failure[0], detail=failure[1], cpu_s=cpu_s, wall_s=wall_s, time_sensitive=time_sensitive,
        marks=marks,
    )  # fmt: skip


def passed_of(trials: Iterable[Trial], *, late_loses_all: bool = False) -> TestCount | None:
    """How many tests pass, of all that are run.

    Args:
        trials: the tests.
        late_loses_all: whether one that is out of time takes the others with it.

    Returns:
        None where there is none.
    """
    failures = [wrong for _, wrong in trials]
    if not failures:
        return None
    late = late_loses_all and any(wrong is not None and wrong[0] is Reason.TIME_LIMIT for wrong in failures)
    return TestCount(0 if late else failures.count(None), len(failures))


def script_trials(
    tests: Sequence[ScriptTest], same: Callable[[str, str], bool], executor: Executor, *, cpu_s: float
) -> Iterator[Trial]:
    """Run each script: exit code 0, and what it printed is the same as what is expected.

    Args:
        tests: the scripts.
        same: whether two outputs are the same, the printed one first; a module's function.
        executor: runs them.
        cpu_s: CPU seconds of each, and of wall time a little more.
    """
    for test in tests:
        outcome = executor.script(test.source, test.stdin, cpu_s=cpu_s, wall_s=cpu_s + _START_S)
        yield outcome, _wrong(outcome, test, same, executor)


def _wrong(
    outcome: Outcome, test: ScriptTest, same: Callable[[str, str], bool], executor: Executor
) -> Failure | None:
    if outcome.status != Reason.PASSED:
        return Reason(outcome.status), outcome.detail
    if test.expected is None:
        return None
    try:
        if executor.decide(same, outcome.stdout, test.expected):
            return None
    except ValueError as error:
        return Reason.OUTPUT_LIMIT, f"printed {error}"
    words = f"printed {shortened(outcome.stdout)!r}, expected {shortened(test.expected)!r}"
    return Reason.WRONG_ANSWER, words
