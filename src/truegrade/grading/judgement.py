"""What a grading gives, before it becomes a Verdict."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Sized
from fractions import Fraction
from itertools import chain
from typing import Any, cast

import msgspec

from truegrade.records import Reason
from truegrade.sandbox.outcome import Outcome

_SHOWN = 200


class Judgement(msgspec.Struct, frozen=True, kw_only=True):
    """Why an answer passed or failed, and what running it cost."""

    reason: Reason
    detail: str = ""
    """One line for a person."""
    cpu_s: float | None = None
    """CPU seconds of the candidate; None where nothing was executed."""
    wall_s: float | None = None
    time_sensitive: bool = False
    marks: tuple[str, ...] = ()
    harness: dict[str, Any] | None = None
    """What the harness that is followed would itself have written of this sample, where that is more."""

    @property
    def passed(self) -> bool:
        """Whether the answer is right."""
        return self.reason is Reason.PASSED


class TestCount(msgspec.Struct, frozen=True):
    """How many tests a wrong answer passes."""

    passed: int
    tests: int
    """At least 1."""


def from_outcome(outcome: Outcome, *, marks: tuple[str, ...] = ()) -> Judgement:
    """Take over what an executor says."""
    return Judgement(
        reason=Reason(outcome.status),
        detail=outcome.detail,
        cpu_s=outcome.cpu_s,
        wall_s=outcome.wall_s,
        time_sensitive=outcome.time_sensitive,
        marks=marks,
    )


def shown(value: object) -> str:
    """A value as a detail shows it: the first 200 characters of its ``repr``, of which no more than that is made.

    Never raises, whatever is in the value; see `_pieces`.
    """
    return _first(_pieces(value, 0))


def shown_call(function: str, arguments: Sequence[object]) -> str:
    """A call of a function as a detail shows it."""
    parts = (chain(", " * (number > 0), _pieces(one, 0)) for number, one in enumerate(arguments))
    return f"{function}({_first(chain.from_iterable(parts))})"


def _first(parts: Iterable[str]) -> str:
    kept: list[str] = []
    room = _SHOWN + 1
    for part in parts:
        kept.append(part[:room])
        room -= len(part)
        if room <= 0:
            break
    return shortened("".join(kept))


def _pieces(value: object, depth: int) -> Iterator[str]:
    """The parts of a value's ``repr``; of integers too long to print, their length, of iterators that they are."""
    kind = type(value)
    if kind in _BRACKETS and value:
        opening, closing = _BRACKETS[kind]
        yield opening
        for number, item in enumerate(cast("Iterable[object]", value)):
            yield ", " if number else ""
            yield from _pieces(item, depth + 1) if depth < _SHOWN else ("...",)
            if isinstance(value, dict):
                yield ": "
                yield from _pieces(value[item], depth + 1) if depth < _SHOWN else ("...",)
        yield ",)" if closing == ")" and len(cast("Sized", value)) == 1 else closing
    elif isinstance(value, str | bytes | bytearray):
        # Of the slice alone: the repr of the whole can be a hundred megabytes, of which 200 characters are shown.
        yield repr(value[: _SHOWN + 1])
    elif isinstance(value, int) and value.bit_length() > _PRINTED_BITS:
        yield f"<integer of {value.bit_length()} bits>"
    elif isinstance(value, range):
        ends = [value.start, value.stop] + [value.step] * (value.step != 1)
        yield f"range({', '.join(map(shown, ends))})"
    elif isinstance(value, Fraction):
        yield f"Fraction({shown(value.numerator)}, {shown(value.denominator)})"
    elif hasattr(kind, "__next__"):
        # Its repr tells where it lies in memory, which differs from run to run.
        yield "an iterator"
    else:
        try:
            yield " ".join(repr(value).splitlines())  # an array's rows
        except Exception as error:
            yield f"<{kind.__name__}: {type(error).__name__}>"


_PRINTED_BITS = 14_000
"""Python prints no integer of more than 4,300 digits."""
_BRACKETS: dict[object, tuple[str, str]] = {
    list: ("[", "]"),
    tuple: ("(", ")"),
    set: ("{", "}"),
    frozenset: ("frozenset({", "})"),
    dict: ("{", "}"),
}


def shortened(text: str) -> str:
    """A value as a detail shows it: its first 200 characters."""
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"
