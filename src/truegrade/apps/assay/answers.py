"""What programs answer on inputs, call by call; calls and values as text and back.

Programs on stdin are asked as if they were functions from the text of an input to the text of an output. Each
input has a process of its own, as under `strict`, whose preamble is offered here too. Programs are whole, inputs
are tuples of arguments, and the executor is the jail.
"""

from __future__ import annotations

import ast
import cmath
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec

from truegrade.datasets import executions
from truegrade.files import syntax
from truegrade.grading import functions, repairs
from truegrade.grading.contests.output_comparison import same_output
from truegrade.grading.contests.separate import PREAMBLE
from truegrade.grading.executor import Executor
from truegrade.grading.judgement import shown
from truegrade.grading.programs import assemble
from truegrade.records import Answer, Case, Reason
from truegrade.sandbox.encode import encode
from truegrade.sandbox.outcome import CallResult, Outcome

# ------------- Calls as text and back: plain values written as Python source that gives the same values again.


MAX_SHOWN = 2000
"""Characters of a value in a witness; calls are written whole, so that they can be made again."""

_SCALARS = frozenset({type(None), bool, int, float, complex, str, bytes})
_CONTAINERS = frozenset({list, tuple, set, frozenset})
_MAX_DEPTH = 100


def is_plain(value: Any, depth: int = 0) -> bool:
    """Whether a value is made of built-in scalars, lists, tuples, sets and dictionaries alone, exactly."""
    kind = type(value)
    if kind in _SCALARS:
        return True
    if depth > _MAX_DEPTH:
        return False
    if kind is dict:
        return all(is_plain(one, depth + 1) for pair in value.items() for one in pair)
    return kind in _CONTAINERS and all(is_plain(item, depth + 1) for item in value)


def written(value: Any) -> str:
    """A plain value as source: its ``repr``, with sets in an order that no hash seed decides.

    Infinite numbers and NaN are written ``float('inf')``, so that the text can be evaluated.

    Raises:
        ValueError: an integer has more digits than Python prints.
    """
    return executions.written(value, _leaf)


def _leaf(value: object) -> str:
    if type(value) is float and not math.isfinite(value):
        return f"float('{value}')"
    if type(value) is complex and not cmath.isfinite(value):
        return f"complex({_leaf(value.real)}, {_leaf(value.imag)})"
    return repr(value)


def shown_value(value: Any) -> str:
    """A value as a witness shows it: `written`, cut at `MAX_SHOWN` characters; never raises."""
    try:
        text = written(value)
    except (ValueError, RecursionError):
        return shown(value)
    return text if len(text) <= MAX_SHOWN else text[: MAX_SHOWN - 1] + "…"


def written_call(entry_point: str, arguments: Sequence[Any]) -> str:
    """The call as source, ``f(1, [2])``.

    Raises:
        ValueError: an argument cannot be written.
    """
    return f"{entry_point}({', '.join(map(written, arguments))})"


_Reader = Callable[..., Any]
_NAMED: dict[str, _Reader] = {"float": float, "complex": complex, "set": set, "frozenset": frozenset}


def read_call(text: str) -> tuple[Any, ...]:
    """The arguments of a call that `written_call` wrote; nothing is evaluated but literals.

    Raises:
        ValueError: the text is no such call.
    """
    try:
        call = syntax.parse(text.strip(), mode="eval").body
        if not isinstance(call, ast.Call) or call.keywords:
            raise ValueError("not a call with positional arguments")
        return tuple(syntax.literal_eval(_Named().visit(argument)) for argument in call.args)
    except (SyntaxError, TypeError, RecursionError, MemoryError) as error:
        raise ValueError(f"not a call of plain values: {error}") from None


class _Named(ast.NodeTransformer):
    """Replaces ``float('inf')``, ``frozenset({1})`` and the like by what they stand for."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """A constructor of a plain value becomes a constant, which `ast.literal_eval` takes whatever it holds."""
        if not isinstance(node.func, ast.Name) or node.func.id not in _NAMED or node.keywords:
            raise ValueError("not a plain value")
        values = [syntax.literal_eval(self.visit(argument)) for argument in node.args]
        return ast.Constant(_NAMED[node.func.id](*values))


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
        on_result: gets each number and output as it becomes known; False ends the run early. A run that ends with
            an exception or an exit code other than 0 counts as raising.
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
TOO_LONG, TOO_LARGE = "takes too long", "returns too much"
"""How the errors of calls end that were given up."""
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
    """Of `truegrade.grading.functions.COMPARATORS`, or of `truegrade.grading.repairs.COMPARATORS`, or ``output``
    for programs on stdin."""
    atol: float = 0.0
    ahead: str = ""
    """Code that stands before every answer and in none, as what loads a repository's package."""

    @property
    def asked(self) -> str:
        """Name of the function that is called; the entry point keeps its own, by which it may call itself."""
        return "_truegrade_listed" if self.comparator == "list" else self.entry_point

    def adapted(self, program: str) -> tuple[str, str]:
        """The program with what makes its answers plain values, and the function to call."""
        if self.ahead not in program:  # of a reply it stands there
            program = assemble(self.ahead, Answer(value=program, found=""))
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
        most_size: int = 0,
    ) -> Outcome:
        """Ask a program inputs, in one process; of a program on stdin each in its own, which ``cpu_s`` is for.

        Args:
            on_result: as `Executor.call` has it.
            cpu_s: CPU seconds of a process.
            call_cpu_s: CPU seconds of one call, of a program that is trusted; what takes more counts as raising,
                and ends the run of a program on stdin.
            most_size: of the value of one such call of a function, in items and characters, nested ones too; a
                larger one counts as raising, and so does every value behind `MOST_LATE` times as much; 0 for any.
        """
        if not self.entry_point:
            cpu_s = cpu_s if call_cpu_s is None else max(call_cpu_s, _STDIN_CPU_S)
            return ask_stdin(program, inputs, on_result, executor, cpu_s=cpu_s)
        program, asked = self.adapted(program)
        if call_cpu_s is not None:
            timed = _TIMED.replace("ASKED", asked).replace("CALL_CPU_S", str(call_cpu_s))
            timed = timed.replace("MOST_LATE", str(MOST_LATE)).replace("TIMES_CALL", str(TIMES_CALL))
            timed = timed.replace("TOO_LONG", repr(TOO_LONG)).replace("TOO_LARGE", repr(TOO_LARGE))
            program += SIZE + timed.replace("MOST_SIZE", str(most_size))
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

SIZE = """

def _truegrade_size(value, most):
    size, left = 1, [value]
    while left and size <= most:
        value = left.pop()
        if isinstance(value, (str, bytes)):
            size += len(value)
        elif isinstance(value, dict):
            size += 2 * len(value)
            left += *value, *value.values()
        elif isinstance(value, (list, tuple, set, frozenset)):
            size += len(value)
            left += value
    return size
"""
"""Items and characters of a value, nested ones too, counted until there are more than the most. A part that stands
in it several times counts each time, as it is sent: a value of thirty lists may hold a billion items."""

_TIMED = """

class _TruegradeLate(BaseException):
    pass


def _truegrade_ring(*_):
    raise _TruegradeLate(TOO_LONG)


def _truegrade_timed(*args):
    global _truegrade_left, _truegrade_held
    import signal
    import time
    signal.signal(signal.SIGVTALRM, _truegrade_ring)
    in_time = _truegrade_left > 0 and time.process_time() < TIMES_CALL * CALL_CPU_S
    signal.setitimer(signal.ITIMER_VIRTUAL, CALL_CPU_S if in_time else CALL_CPU_S / 10)
    try:
        value = ASKED(*args)
        if MOST_SIZE:
            size = _truegrade_size(value, MOST_SIZE)
            if size > MOST_SIZE or _truegrade_held + size > MOST_LATE * MOST_SIZE:
                raise _TruegradeLate(TOO_LARGE)
            _truegrade_held += size
        return value
    except _TruegradeLate:
        _truegrade_left -= 1
        raise
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)


_truegrade_left, _truegrade_held = MOST_LATE, 0
"""
"""Has a program give a call up that takes long or returns much, without the process and the calls behind it."""


def _difference(got: Any, expected: Any, arguments: Arguments, rule: AnswerRule) -> tuple[str, str] | None:
    if rule.comparator == OUTPUT:
        same = same_output(got, expected)
    elif rule.comparator in repairs.COMPARATORS:
        same = repairs.matches(rule.comparator, Case(arguments=arguments, expected=expected), got)
    else:
        same = functions.compare(rule.comparator, arguments, expected, got, rule.atol)
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
    most_size: int = 0,
) -> ReferenceAnswers:
    """Ask a program inputs, going on in another process behind one that ends it.

    Args:
        call_cpu_s: CPU seconds of one call; one that takes more counts as raising.
        numbers: of the inputs to ask, in this order; every one where it is None.
        most_size: of one value, as `AnswerRule.ask` has it.
    """
    order = range(len(inputs)) if numbers is None else numbers
    answers, first = ReferenceAnswers(), 0
    while first < len(order):
        arrived: list[CallResult] = []

        def keep(_: int, result: CallResult, arrived: list[CallResult] = arrived) -> bool:
            arrived.append(result)
            return True

        asked = [inputs[number] for number in order[first:]]
        outcome = rule.ask(program, asked, keep, executor, call_cpu_s=call_cpu_s, most_size=most_size)
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
