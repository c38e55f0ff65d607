"""What programs answer on inputs, call by call, in how many steps, and whether two answers are the same one.

Programs on stdin are asked as if they were functions from the text of an input to the text of an output. Each
input has a process of its own, as under `strict`, whose preamble is offered here too.

Which inputs a reference answers in few steps is decided by steps and not by seconds, so that another machine, or
another load of this one, uses the same inputs.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec

from truegrade.assay.written_calls import read_call, shown_value, written_call
from truegrade.grading import oracles, suites
from truegrade.grading.contests.output_comparison import same_output
from truegrade.grading.contests.separate import PREAMBLE
from truegrade.grading.executor import Executor
from truegrade.grading.programs import assemble
from truegrade.records import Answer, Case, Reason
from truegrade.sandbox.encode import encode
from truegrade.sandbox.outcome import CallResult, Outcome

OUTPUT = "output"
"""Name of the comparison: two texts are the same by `truegrade.grading.contests.output_comparison`."""
EXIT_CODE = "exit code"
"""How the error of a run begins that ended with another exit code than 0, and with no exception."""
MOST_INPUT_CHARS = 20_000
"""Inputs of more are left out of an oracle, as a witness holds its input."""
MOST_TRACED_CHARS = 1_000
"""Of longer inputs no steps are counted: a right program may take many times those of the reference on them."""
_MOST_BYTES = 1 << 27


def ask_stdin(
    program: str,
    inputs: Sequence[Sequence[str]],
    on_result: Callable[[int, CallResult], bool],
    executor: Executor,
    *,
    cpu_s: float,
) -> Outcome:
    """Run a program on inputs in order, as `Executor.call` calls a function.

    Args:
        program: whole.
        inputs: each the text that is read, alone in its tuple.
        on_result: gets each number and output as it becomes known; False ends the run early. A run that ends with
            an exception or an exit code other than 0 counts as raising.
        executor: the jail.
        cpu_s: CPU seconds of one input.

    Returns:
        How the last input ended that was run, ``passed`` where it ended by itself; the CPU seconds are those of
        the input that took longest.
    """
    source = assemble(PREAMBLE, Answer(value=program, found=""))
    longest = 0.0
    for number, (text,) in enumerate(inputs):
        outcome = executor.script(source, text, cpu_s=cpu_s)
        longest = max(longest, outcome.cpu_s)
        if outcome.status == Reason.PASSED:
            result = CallResult(encode(outcome.stdout, _MOST_BYTES))
        elif outcome.status == Reason.RUNTIME_ERROR:
            result = CallResult(error=outcome.detail)
        else:
            return replace(outcome, cpu_s=longest)
        if not on_result(number, result):
            break
    return Outcome(status=Reason.PASSED, detail="", cpu_s=longest, wall_s=0.0)


def watched_stdin(program: str, text: str) -> tuple[str, str]:
    """Source and a call in it that runs a program on an input in such a way that its steps are counted."""
    source = assemble(PREAMBLE, Answer(value=program, found=""))
    return f"SOURCE = {source!r}\n{_WATCHED}", f"_truegrade_run({text!r})"


def inputs_of(given: Sequence[str]) -> tuple[tuple[Any, ...], ...]:
    """Texts as arguments, the shortest first, without those that are too long for a witness."""
    return tuple((text,) for text in sorted(given, key=len) if len(text) <= MOST_INPUT_CHARS)


_WATCHED = """
def _truegrade_run(text):
    import io
    import sys
    import threading

    class Nowhere(io.RawIOBase):
        def writable(self):
            return True

        def write(self, data):
            return len(data)

    sys.stdin = io.TextIOWrapper(io.BytesIO(text.encode("utf-8", "surrogateescape")), encoding="utf-8")
    sys.stdout = io.TextIOWrapper(io.BufferedWriter(Nowhere()), encoding="utf-8")
    before = threading.enumerate()
    threading.settrace(sys.gettrace())
    try:
        exec(compile(SOURCE, "<observed>", "exec", dont_inherit=True), {"__name__": "__main__"})
    except SystemExit:
        pass
    for thread in threading.enumerate():  # as an interpreter does before it ends
        if thread not in before and not thread.daemon:
            thread.join()
"""
"""The name of the file is that of `truegrade.builders.mutation.observer`, which counts the steps of such code."""


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
_STDIN_CPU_S = 0.5
"""Of a program on stdin at least, for which an interpreter has to start."""


class AnswerRule(msgspec.Struct, frozen=True, kw_only=True):
    """How answers are asked for and compared."""

    entry_point: str
    """Empty for a program on stdin: its argument is the text that it reads, its value the one that it prints."""
    comparator: str = "equal"
    """Of `truegrade.grading.oracles.COMPARATORS`, or of `truegrade.grading.suites.COMPARATORS`, or ``output`` for
    programs on stdin."""
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

    def ask(
        self,
        program: str,
        inputs: Sequence[Arguments],
        on_result: Callable[[int, CallResult], bool],
        executor: Executor,
        *,
        cpu_s: float = _RUN_CPU_S,
        call_cpu_s: float | None = None,
    ) -> Outcome:
        """Ask a program inputs, in one process; of a program on stdin each in its own, which ``cpu_s`` is for.

        Args:
            program: whole.
            inputs: argument tuples.
            on_result: as `Executor.call` has it.
            executor: the jail.
            cpu_s: CPU seconds of a process.
            call_cpu_s: CPU seconds of one call, of a program that is trusted; what takes more counts as raising,
                and ends the run of a program on stdin.
        """
        if not self.entry_point:
            cpu_s = cpu_s if call_cpu_s is None else max(call_cpu_s, _STDIN_CPU_S)
            return ask_stdin(program, inputs, on_result, executor, cpu_s=cpu_s)
        program, asked = self.adapted(program)
        if call_cpu_s is not None:
            timed = _TIMED.replace("ASKED", asked).replace("CALL_CPU_S", str(call_cpu_s))
            program += timed.replace("MOST_LATE", str(MOST_LATE)).replace("TIMES_CALL", str(TIMES_CALL))
            asked = "_truegrade_timed"
        return executor.call(program, asked, inputs, on_result, cpu_s=cpu_s)

    def written(self, arguments: Arguments) -> str:
        """An input as a witness has it.

        Raises:
            ValueError: it cannot be written.
        """
        return written_call(self.entry_point, arguments) if self.entry_point else str(arguments[0])

    def read(self, call: str) -> Arguments:
        """The input of a witness.

        Raises:
            ValueError: the text is none.
        """
        return read_call(call) if self.entry_point else (call,)

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
    if rule.comparator == OUTPUT:
        same = same_output(got, expected)
    elif rule.comparator in suites.COMPARATORS:
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

    @property
    def given(self) -> dict[int, CallResult]:
        """Those that are no exceptions."""
        return {number: one for number, one in self.results.items() if one.error is None}


def answers_of(
    program: str,
    rule: AnswerRule,
    inputs: Sequence[Arguments],
    executor: Executor,
    *,
    call_cpu_s: float,
    numbers: Sequence[int] | None = None,
) -> ReferenceAnswers:
    """Ask a reference inputs, going on in another process behind one that ends it.

    Args:
        program: whole.
        rule: how it is asked.
        inputs: argument tuples.
        executor: the jail.
        call_cpu_s: CPU seconds of one call; one that takes more counts as raising.
        numbers: of the inputs to ask, in this order; every one where it is None.
    """
    order = range(len(inputs)) if numbers is None else numbers
    answers, first = ReferenceAnswers(), 0
    while first < len(order):
        arrived: list[CallResult] = []

        def keep(_: int, result: CallResult, arrived: list[CallResult] = arrived) -> bool:
            arrived.append(result)
            return True

        asked = [inputs[number] for number in order[first:]]
        outcome = rule.ask(program, asked, keep, executor, call_cpu_s=call_cpu_s)
        answers.cpu_s += outcome.cpu_s
        answers.results.update(zip(order[first:], arrived, strict=False))
        first += len(arrived)
        if first >= len(order) or (outcome.status == Reason.TIME_LIMIT and arrived):
            continue  # the calls before it may have used the time up: it is asked first in the next process
        answers.stopped[order[first]] = f"{outcome.status}: {outcome.detail}"
        first += 1
        if len(answers.stopped) >= MOST_STOPS:
            answers.stopped.update(dict.fromkeys(order[first:], "not asked"))
            break
    return answers


CALL_STEPS, ALL_STEPS = 50_000, 500_000
"""Lines that a reference may execute for one input, and for all inputs of one source together."""
_MOST_ITEMS = 50_000
"""Of a value: dozens of programs are to send it and have it compared."""
_LONG_CPU_S, _CPU_S = 0.1, 60.0
"""CPU seconds of one input, and of all: for calls that take long without executing lines, many times what lines
take."""
_COUNTED = '''

class _TruegradeLate(BaseException):
    pass


def _truegrade_counted(*args):
    """Lines executed; -1 where they are too many or the call raises, -2 where no more are to be counted."""
    import sys
    import time
    global _truegrade_all
    if _truegrade_all > MOST_IN_ALL:
        return -2
    steps = 0

    def local(frame, event, arg):
        nonlocal steps
        if event == "line":
            steps += 1
            if steps > MOST_A_CALL:
                raise _TruegradeLate
        return local

    began = time.process_time()
    sys.settrace(lambda frame, event, arg: local)
    try:
        value = ASKED(*args)
        large = isinstance(value, (list, tuple, set, dict, str)) and len(value) > MOST_ITEMS
        if large or time.process_time() - began > LONG_CPU_S:  # in C, where no lines are counted
            raise _TruegradeLate
    except _TruegradeLate:
        steps = -max(steps, MOST_IN_ALL // 10)
    except BaseException:
        steps = -steps
    finally:
        sys.settrace(None)
        _truegrade_all += abs(steps)
    return steps if steps > 0 else -1


_truegrade_all = 0
'''


def affordable(
    reference: str, rule: AnswerRule, inputs: Sequence[Arguments], executor: Executor
) -> list[Arguments]:
    """The inputs that a reference answers within its steps, in their order.

    Where all of them together take too many, those are kept that come first in an order drawn by lot.

    Args:
        reference: whole program, trusted.
        rule: how it is asked; not for programs on stdin.
        inputs: argument tuples.
        executor: the jail.
    """
    order = random.Random(0).sample(range(len(inputs)), len(inputs))
    kept: list[int] = []

    def keep(place: int, result: CallResult) -> bool:
        steps = result.whole if result.error is None else -1
        if steps >= 0:
            kept.append(order[place])
        return bool(steps != -2)

    program, asked = rule.adapted(reference)
    counted = _COUNTED.replace("ASKED", asked)
    counted = counted.replace("MOST_A_CALL", str(CALL_STEPS)).replace("MOST_IN_ALL", str(ALL_STEPS))
    counted = counted.replace("LONG_CPU_S", str(_LONG_CPU_S)).replace("MOST_ITEMS", str(_MOST_ITEMS))
    executor.call(program + counted, "_truegrade_counted", [inputs[each] for each in order], keep, cpu_s=_CPU_S)
    return [inputs[each] for each in sorted(kept)]
