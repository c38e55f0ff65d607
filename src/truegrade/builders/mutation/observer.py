"""Runs a program on its calls and watches which way it goes, as it happens inside the sandbox.

The text of this file is sent there with calls of `observe`; nothing here is called in our own process. It is
written against `sys.settrace`, which exists in every supported Python: `sys.monitoring`, from 3.12 on, is faster
but reports other events, and a mutant chosen on one machine could be another on the next.
"""

from __future__ import annotations

import random
import sys
from array import array
from collections.abc import Mapping, Sequence
from types import CodeType, FrameType
from typing import Any

FILE_NAME = "<observed>"
RECURSION_LIMIT = 1050
"""The usual 1000, and room for the frames of the watcher."""
MOST_TIMES = 20
"""Times that a line has run after which the value of its variable is no longer written down."""
MAX_VALUE_CHARS = 120
_PLAIN = (type(None), bool, int, float, complex, str, bytes, list, tuple, set, frozenset, dict)
_ENTRY, _EXIT = (0,), (-1,)


class Endless(BaseException):
    """The program took more steps than it may; not an Exception, so that few programs catch it."""


class LineRuns:
    """What is seen of one line of the program, in whatever frames it runs.

    Args:
        variable: whose value is written down each time that the line has run; empty for none.
    """

    def __init__(self, variable: str) -> None:
        self.variable = variable
        self.begun = self.ended = 0
        self.is_clear = True
        """Whether it always ended before it began again, and never by an exception."""
        self.values: list[str] = []
        """By time; empty where the value is no plain one, or is too long."""

    def begin(self) -> int:
        """Which time it is."""
        self.begun += 1
        return self.begun

    def end(self, time: int, event: str, frame: FrameType) -> None:
        """Write down the value."""
        self.ended += 1
        self.is_clear = self.is_clear and event != "exception" and time == self.ended
        if self.variable and self.ended <= MOST_TIMES:
            self.values.append(_written(frame.f_locals.get(self.variable, frame)))


def _written(value: Any) -> str:
    """The ``repr`` of a value of built-in type; empty for any other, and for one that is too long."""
    if type(value) not in _PLAIN or (hasattr(value, "__len__") and len(value) > MAX_VALUE_CHARS):
        return ""
    try:
        text = f"{{{', '.join(sorted(map(repr, value)))}}}" if type(value) is set and value else repr(value)
    except Exception:
        return ""
    return text if len(text) <= MAX_VALUE_CHARS else ""


class FrameWatcher:
    """Collects the places that the program's own frames visit, and how they follow each other in a frame.

    Args:
        expressions: places are expressions, ``(line, column, end line, end column)``; else lines.
        max_steps: events after which the program is endless.
        lines: of which to see more, each with its variable; not with ``expressions``.
    """

    def __init__(self, expressions: bool, max_steps: int, lines: Mapping[int, str]) -> None:
        self.expressions, self.max_steps = expressions, max_steps
        self.lines = {line: LineRuns(variable) for line, variable in lines.items()}
        self.steps = self.events = 0
        self.places: set[tuple[int, ...]] = set()
        self.arcs: set[tuple[tuple[int, ...], tuple[int, ...]]] = set()
        self._positions: dict[CodeType, list[tuple[int, ...]]] = {}

    def __call__(self, frame: FrameType, event: str, _: Any) -> Any:
        """Begin to watch a frame, if it is the program's."""
        if frame.f_code.co_filename != FILE_NAME:
            return None
        previous: tuple[int, ...] = _ENTRY
        time = 0

        def local(frame: FrameType, event: str, _: Any) -> Any:
            nonlocal previous, time
            if self.lines:
                if previous[0] in self.lines:
                    self.lines[previous[0]].end(time, event, frame)
                if event == "line" and frame.f_lineno in self.lines:
                    time = self.lines[frame.f_lineno].begin()
            here = self._place(frame, event)
            if here is not None:
                self.places.add(here)
            elif event == "return":
                here = _EXIT
            if here is not None:
                self.arcs.add((previous, here))
                previous = here
            return local

        frame.f_trace = local  # since Python 3.13 a frame without one does not report instructions
        frame.f_trace_opcodes = self.expressions
        return local

    def _place(self, frame: FrameType, event: str) -> tuple[int, ...] | None:
        """Count an event; where it is, if it is of the kind that is watched.

        Raises:
            Endless: it is one too many.
        """
        self.events += 1
        self.steps += event == "line"
        if self.events > self.max_steps:
            raise Endless
        if not self.expressions:
            return (frame.f_lineno,) if event == "line" else None
        return self._expression(frame) if event == "opcode" else None

    def _expression(self, frame: FrameType) -> tuple[int, ...] | None:
        """The part of the source that the next instruction belongs to."""
        code = frame.f_code
        if code not in self._positions:
            self._positions[code] = [
                () if None in found else tuple(int(found[part] or 0) for part in (0, 2, 1, 3))
                for found in code.co_positions()
            ]
        return self._positions[code][frame.f_lasti // 2] or None


class Sink:
    """Where the program's printing goes."""

    def write(self, text: str) -> int:
        """Drop it."""
        return len(text)

    def flush(self) -> None:
        """Nothing is held."""


def observe(
    source: str,
    calls: Sequence[str],
    preamble: str,
    traced: str,
    max_steps: int,
    max_chars: int,
    chance: int,
    lines: Mapping[int, str],
) -> tuple[tuple[Any, ...], ...]:
    """Run the program afresh for each call, until one fails.

    Args:
        source: the program.
        calls: expressions to evaluate in it.
        preamble: source run before it, in the same namespace.
        traced: ``lines``, ``expressions``, or empty to leave the program alone.
        max_steps: events after which a traced program is endless.
        max_chars: longest ``repr``.
        chance: seed of `random`, so that programs that use it can be told.
        lines: of which to see more, each with the name of its variable; empty for a line that is only counted.

    Returns:
        Per call: kind (``value``, ``raised``, ``endless``, ``unwritable``), the ``repr`` or the reason, steps,
        numbers of a place, and C integers as bytes, which travel faster than a value for each: the places one
        behind the other, and the arcs as pairs of indices of places, -1 for a frame's entry and -2 for its exit.
        Last, for each of ``lines`` that is clear (`LineRuns`): its number, how often it ran, and the values.
    """
    cases = []
    for call in calls:
        watcher = FrameWatcher(traced == "expressions", max_steps, lines)
        cases.append(_case(source, call, preamble, traced, max_chars, chance, watcher))
        if cases[-1][0] != "value":
            break
    return tuple(cases)


def _case(
    source: str, call: str, preamble: str, traced: str, max_chars: int, chance: int, watcher: FrameWatcher
) -> tuple[Any, ...]:
    random.seed(chance)
    sys.setrecursionlimit(RECURSION_LIMIT)
    sys.stdout = sys.stderr = Sink()
    try:
        kind, text = _value(source, call, preamble, watcher if traced else None, max_chars)
    except Endless:
        kind, text = "endless", f"more than {watcher.max_steps} steps"
    except BaseException as error:
        kind, text = "raised", type(error).__name__
    finally:
        sys.settrace(None)
        sys.stdout, sys.stderr = sys.__stdout__, sys.__stderr__
    if watcher.events > watcher.max_steps:  # the program caught what was to end it
        kind = "endless"
    seen = [(line, runs.begun, runs.values) for line, runs in watcher.lines.items() if runs.is_clear]
    return kind, text, watcher.steps, *_packed(sorted(watcher.places), watcher.arcs), seen


def _packed(
    places: list[tuple[int, ...]], arcs: set[tuple[tuple[int, ...], tuple[int, ...]]]
) -> tuple[int, bytes, bytes]:
    """Numbers of a place, the places and the arcs, as `observe` gives them."""
    index = {_ENTRY: -1, _EXIT: -2} | {place: number for number, place in enumerate(places)}
    flat = array("i", [number for place in places for number in place])
    pairs = array("i", [index[end] for arc in sorted(arcs) for end in arc])
    return len(places[0]) if places else 1, flat.tobytes(), pairs.tobytes()


def _value(source: str, call: str, preamble: str, watcher: FrameWatcher | None, max_chars: int) -> tuple[str, str]:
    """Run program and call; only what the call does is watched."""
    namespace: dict[str, Any] = {"__name__": "program"}
    exec(compile(preamble, "<preamble>", "exec", dont_inherit=True), namespace)
    exec(compile(source, FILE_NAME, "exec", dont_inherit=True), namespace)
    asked = compile(call, "<call>", "eval", dont_inherit=True)
    if watcher is not None:
        # Python 3.12 reports instructions only if some frame has asked for them before tracing begins.
        sys._getframe().f_trace_opcodes = watcher.expressions
        sys.settrace(watcher)
    value = eval(asked, namespace)
    sys.settrace(None)
    try:
        text = repr(value)
    except Exception as error:
        return "unwritable", type(error).__name__
    return ("value", text) if len(text) <= max_chars else ("unwritable", f"longer than {max_chars} characters")
