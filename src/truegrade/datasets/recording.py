"""What a program returns, as the jail saw it: the one source of every recorded output."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from truegrade.datasets.literal_text import MAX_OUTPUT_CHARS, call_text, literal_text
from truegrade.grading.executor import Executor
from truegrade.sandbox.outcome import CallResult

# A call with keywords: executors pass arguments by position only.
_ADAPTER = "\n\ndef _truegrade_call(args, kwargs):\n    return {function}(*args, **kwargs)\n"
_SHOWN_CHARS = 120


class RecordedCase(msgspec.Struct, frozen=True):
    """The arguments of one call."""

    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = {}


class Returned(msgspec.Struct, frozen=True):
    """What one call gave: the literal it returned, or why there is none."""

    text: str | None
    why: str = ""
    """Empty if there is a literal."""


class RecordedCalls(msgspec.Struct, frozen=True):
    """The calls of one row and what they return, ready to be stored."""

    calls: tuple[str, ...]
    outputs: tuple[str, ...]

    @property
    def conditions(self) -> tuple[str, ...]:
        """``call == value`` of each case."""
        return tuple(f"{call} == {output}" for call, output in zip(self.calls, self.outputs, strict=True))


class NotRecorded(Exception):
    """A program that makes no item; the message says why."""


class Refused(msgspec.Struct, frozen=True):
    """What a builder reports instead of a row."""

    name: str
    """Of what was refused."""
    why: str
    """A sentence; what is particular to this one stands behind its first colon."""


def run_cases(
    executor: Executor,
    program: str,
    function: str,
    cases: Sequence[RecordedCase],
    max_chars: int = MAX_OUTPUT_CHARS,
) -> tuple[Returned, ...]:
    """Call the function with each case, in order, in one process; one answer per case, never an exception.

    Args:
        executor: where the program runs.
        program: source that defines ``function``.
        function: its name.
        cases: arguments, plain values only.
        max_chars: longest literal that is recorded.
    """
    given: list[Returned] = []

    def keep(_: int, result: CallResult) -> bool:
        if result.error is not None:
            given.append(Returned(None, f"raised {result.error[:_SHOWN_CHARS]}"))
        else:
            text = literal_text(result.value, max_chars)
            why = "" if text is not None else "returned something that is no literal, or is too long"
            given.append(Returned(text, why))
        return True

    adapted = program + _ADAPTER.format(function=function)
    outcome = executor.call(adapted, "_truegrade_call", [(case.args, case.kwargs) for case in cases], keep)
    missing = Returned(None, f"{outcome.status}: {outcome.detail[:_SHOWN_CHARS]}")
    return tuple(given) + (missing,) * (len(cases) - len(given))


def record(
    executor: Executor, witness: Executor, program: str, function: str, cases: Sequence[RecordedCase]
) -> RecordedCalls:
    """Record what a program returns, if it returns the same again.

    The witness runs the cases in reverse order, in another process. With another hash seed it betrays the order
    of a set, and in any case the clock, chance, and state that one call leaves to the next.

    Raises:
        NotRecorded: a call failed, returned no literal, or returned something else to the witness.
    """
    calls = [call_text(function, case.args, case.kwargs) for case in cases]
    first = run_cases(executor, program, function, cases)
    again = run_cases(witness, program, function, cases[::-1])[::-1]
    outputs = []
    for call, one, other in zip(calls, first, again, strict=True):
        if call is None:
            raise NotRecorded("an argument is no literal, or is too long")
        if one.text is None:
            raise NotRecorded(f"a call returns no literal: {call} {one.why}")
        if one.text != other.text:
            raise NotRecorded(f"it is not deterministic: {call} gives {one.text}, then {other.text or other.why}")
        outputs.append(one.text)
    return RecordedCalls(tuple(call for call in calls if call is not None), tuple(outputs))
