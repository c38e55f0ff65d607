"""What programs answer on inputs, call by call, and whether two answers are the same one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from truegrade.assay.written_calls import shown_value
from truegrade.grading import oracles, suites
from truegrade.grading.executor import Executor
from truegrade.records import Case, Reason
from truegrade.sandbox.outcome import CallResult

Arguments = tuple[Any, ...]

MOST_LATE = 20
"""Calls that may take too long before the ones behind them get a tenth of the time."""
TIMES_CALL = 30
"""The same holds once a process has used this many times the CPU seconds of a call: every program that is labelled
takes as long as the reference on all inputs."""
MOST_STOPS = 3
"""Calls that may end a reference's process; what stands behind the last of them is not asked."""
_RUN_CPU_S = 150.0
"""CPU seconds of one process: the backstop."""


class AnswerRule(msgspec.Struct, frozen=True, kw_only=True):
    """How answers are asked for and compared."""

    entry_point: str
    comparator: str
    atol: float = 0.0

    @property
    def asked(self) -> str:
        """Name of the function that is called; the entry point keeps its own, by which it may call itself."""
        return "_truegrade_listed" if self.comparator == "list" else self.entry_point

    def adapted(self, program: str) -> tuple[str, str]:
        """The program with what makes its answers plain values, and the function to call."""
        if self.comparator == "list":
            program = f"{program}\n\n{_LISTED.replace('ENTRY_POINT', self.entry_point)}"
        return program, self.asked

    def same(self, expected: CallResult, got: CallResult, arguments: Arguments, executor: Executor) -> bool:
        """Whether two answers of references, neither of them an exception, are the same one."""
        try:
            return self.difference(expected, got, arguments, executor) is None
        except ValueError:  # they are too large to be compared
            return False

    def difference(
        self, expected: CallResult, got: CallResult, arguments: Arguments, executor: Executor
    ) -> tuple[str, str] | None:
        """Both answers as text, where they differ.

        Raises:
            ValueError: the answer takes too much memory or time to compare.
        """
        if got.same_as(expected):
            return None
        found: tuple[str, str] | None = executor.decide(_difference, got, expected, arguments, self)
        return found


_LISTED = """def _truegrade_listed(*args):
    return list(ENTRY_POINT(*args))
"""
"""For problems whose answers are generators, which equal nothing once they are carried over."""

_TIMED = """

class _TruegradeLate(BaseException):
    pass


def _truegrade_ring(*_):
    raise _TruegradeLate("takes too long")


def _truegrade_timed(*args):
    global _truegrade_left
    import signal
    import time
    signal.signal(signal.SIGVTALRM, _truegrade_ring)
    in_time = _truegrade_left > 0 and time.process_time() < TIMES_CALL * CALL_CPU_S
    signal.setitimer(signal.ITIMER_VIRTUAL, CALL_CPU_S if in_time else CALL_CPU_S / 10)
    try:
        return ASKED(*args)
    except _TruegradeLate:
        _truegrade_left -= 1
        raise
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)


_truegrade_left = MOST_LATE
"""
"""Has a reference give a call up that takes long, without the process and the calls behind it."""


def _difference(got: Any, expected: Any, arguments: Arguments, rule: AnswerRule) -> tuple[str, str] | None:
    if rule.comparator in suites.COMPARATORS:
        same = suites.matches(rule.comparator, Case(arguments=arguments, expected=expected), got)
    else:
        same = oracles.compare(rule.comparator, arguments, expected, got, rule.atol)
    return None if same else (shown_value(expected), shown_value(got))


@dataclass
class ReferenceAnswers:
    """What one program answered; an input is in at most one of the two."""

    results: dict[int, CallResult] = field(default_factory=dict)
    """Number of the input to its answer, which may be an exception."""
    stopped: dict[int, str] = field(default_factory=dict)
    """Number of the input to why there is no answer."""
    cpu_s: float = 0.0


def answers_of(
    program: str, rule: AnswerRule, inputs: Sequence[Arguments], executor: Executor, *, call_cpu_s: float
) -> ReferenceAnswers:
    """Ask a reference every input, going on in another process behind one that ends it.

    Args:
        program: whole.
        rule: how it is asked.
        inputs: argument tuples.
        executor: the jail.
        call_cpu_s: CPU seconds of one call; one that takes more counts as raising.
    """
    answers, (program, asked) = ReferenceAnswers(), rule.adapted(program)
    timed = _TIMED.replace("ASKED", asked).replace("CALL_CPU_S", str(call_cpu_s))
    program += timed.replace("MOST_LATE", str(MOST_LATE)).replace("TIMES_CALL", str(TIMES_CALL))
    first = 0
    while first < len(inputs):
        arrived: list[CallResult] = []

        def keep(_: int, result: CallResult, arrived: list[CallResult] = arrived) -> bool:
            arrived.append(result)
            return True

        outcome = executor.call(program, "_truegrade_timed", inputs[first:], keep, cpu_s=_RUN_CPU_S)
        answers.cpu_s += outcome.cpu_s
        answers.results.update(enumerate(arrived, first))
        first += len(arrived)
        if first >= len(inputs) or (outcome.status == Reason.TIME_LIMIT and arrived):
            continue  # the calls before it may have used the time up: it is asked first in the next process
        answers.stopped[first] = f"{outcome.status}: {outcome.detail}"
        first += 1
        if len(answers.stopped) >= MOST_STOPS:
            answers.stopped.update(dict.fromkeys(range(first, len(inputs)), "not asked"))
            break
    return answers
