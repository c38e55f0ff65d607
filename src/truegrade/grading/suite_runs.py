"""One run of a suite of unit tests in the jail, and what it reports."""

from __future__ import annotations

import marshal
import re
import time
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Protocol, TypeVar

import msgspec

from truegrade.grading import suite_runner
from truegrade.grading.executor import Executor
from truegrade.grading.suite_assertions import SuiteSource
from truegrade.grading.suite_runner import LETTERS, MARK, OUTCOMES, REFUSED
from truegrade.records import Reason, SuiteTask
from truegrade.sandbox.outcome import Outcome

MOST_TESTS, MOST_WATCHED = 200, 360
"""Those behind them are counted as one, and are not watched: a report has few characters."""
WATCH = "suite_watch"
"""Name in the namespace of the tests; what is found there tells nothing of what should become of them."""
CLOCK_RUNS = 3
"""Of one program, for a suite that compares what its tests and the program read from the clock."""
_CLOCK = re.compile(r"\b(?:now|today|utcnow|time|localtime|gmtime|ctime|strftime|monotonic|perf_counter|sleep)\(")
_REPORT = re.compile(rf"AssertionError: {MARK} ([\w+/]*);([\w+/]*);(.*)")


class SuiteRun(msgspec.Struct, frozen=True, kw_only=True):
    """What one run reported, or how it ended without a report."""

    outcome: Outcome
    tests: str = ""
    """A letter of `suite_runner.OUTCOMES` for each test of the source, one for all others; empty: no report."""
    seen: tuple[int, ...] = ()
    """Of each watched assertion, what was seen: `suite_runner.HELD` and others."""
    words: str = ""
    """The first failure: test, exception, message."""

    @property
    def reason(self) -> Reason:
        """What the run alone says of the program."""
        if not self.tests:
            refused = self.outcome.detail.startswith(f"AssertionError: {REFUSED}")
            ended = Reason.RUNTIME_ERROR if self.outcome.status == Reason.PASSED else Reason(self.outcome.status)
            return Reason.SYNTAX_ERROR if refused else ended
        if "E" in self.tests:
            return Reason.MEMORY_LIMIT if ": MemoryError" in self.words else Reason.RUNTIME_ERROR
        return Reason.WRONG_ANSWER if "F" in self.tests or "P" not in self.tests else Reason.PASSED

    @property
    def detail(self) -> str:
        """One line for a person."""
        if self.tests:
            return self.words or ("" if "P" in self.tests else "no test was run")
        if self.outcome.status == Reason.PASSED:
            return "the process ended without a report of the tests"
        return self.outcome.detail.removeprefix(f"AssertionError: {REFUSED} ")


class _Judged(Protocol):
    @property
    def reason(self) -> Reason:
        """What a run says of the program."""


_Run = TypeVar("_Run", bound=_Judged)


def clock_runs(task: SuiteTask) -> int:
    """At most so often a suite is run: once, but where its tests and its reference read the clock, or wait."""
    return CLOCK_RUNS if _CLOCK.search(task.tests) and _CLOCK.search(task.reference) else 1


def apart_from_the_clock(run: Callable[[], _Run], most: int) -> _Run:
    """The first of at most so many runs that passes, or during which no second of the clock ended; else the last.

    A right program fails where the second ends between the tests' look at the clock and its own, or where a busy
    machine delays it.
    """
    for _ in range(most - 1):
        second = int(time.time())
        judged = run()
        if judged.reason not in (Reason.WRONG_ANSWER, Reason.RUNTIME_ERROR) or int(time.time()) == second:
            return judged
    return run()


def run_suite(
    task: SuiteTask,
    source: SuiteSource,
    program: str,
    executor: Executor,
    *,
    tests: str | bytes,
    broad: Sequence[int] = (),
    watched: int = 0,
    cpu_s: float | None = None,
) -> SuiteRun:
    """Run the tests of a task beside a program and in its process: once, unless they hang on the clock.

    Args:
        task: whose suite it is.
        source: that suite.
        program: complete.
        executor: runs it.
        tests: source, or what `SuiteSource.compiled` made of it.
        broad: watched assertions from which any exception may come.
        watched: how many are.
        cpu_s: limit.
    """
    job: dict[str, Any] = {
        "program": program,
        "tests": tests,
        "module": task.module,
        "files": task.files,
        "names": source.names[:MOST_TESTS],
        "classes": source.classes,
        "broad": list(broad),
        "watched": watched,
        "watch_name": WATCH,
        "framework": task.framework,
    }
    preload = (task.framework, *task.packages)
    runner = f"import marshal\nexec(marshal.loads({code_of(str(suite_runner.__file__))!r}))"

    def run() -> SuiteRun:
        outcome = executor.inside(f"{runner}\nrun_suite({job!r})\n", preload=preload, cpu_s=cpu_s)
        return read_report(outcome, len(source.names[:MOST_TESTS]) + 1, watched)

    # Nothing is run again in control runs, which fail on purpose.
    return apart_from_the_clock(run, 1 if watched else clock_runs(task))


def read_report(outcome: Outcome, tests: int, watched: int) -> SuiteRun:
    """What the runner said, if it came to say something of this form."""
    found = _REPORT.fullmatch(outcome.detail)
    if outcome.status != Reason.RUNTIME_ERROR or found is None:
        return SuiteRun(outcome=outcome)
    letters = unpacked(found[1], 5, 2, tests)
    seen = unpacked(found[2], 5, 2, watched)
    if letters is None or seen is None:
        return SuiteRun(outcome=outcome)
    return SuiteRun(
        outcome=outcome, tests="".join(OUTCOMES[one] for one in letters), seen=tuple(seen), words=found[3]
    )


def unpacked(text: str, base: int, each: int, count: int) -> list[int] | None:
    """What `suite_runner.packed` has packed; None where it is not that."""
    digits: list[int] = []
    for letter in text:
        number = LETTERS.find(letter)
        if number < 0:
            return None
        for _ in range(min(each, count - len(digits))):
            digits.append(number % base)
            number //= base
    return digits if len(digits) == count else None


@cache
def code_of(path: str) -> bytes:
    """A module, compiled and marshalled for the interpreter that runs this, as every process of the jail does.

    Compiling the runner there took a third of a run of a small suite.
    """
    return marshal.dumps(compile(Path(path).read_text("utf-8"), Path(path).stem, "exec", dont_inherit=True))
