"""Runs a program on its calls and watches which way it goes, as it happens inside the sandbox.

The text of this file is sent there with calls of `observe`; nothing here is called in our own process. It is
written against `sys.settrace`, which exists in every supported Python: `sys.monitoring`, from 3.12 on, is faster
but reports other events, and a mutant chosen on one machine could be another on the next.
"""

from __future__ import annotations

import random
import sys
from array import array
from collections.abc import Sequence
from types import CodeType, FrameType
from typing import Any

FILE_NAME = "<observed>"
RECURSION_LIMIT = 1050
"""The usual 1000, and room for the frames of the watcher."""
_ENTRY, _EXIT = (0,), (-1,)


class Endless(BaseException):
    """The program took more steps than it may; not an Exception, so that few programs catch it."""


class FrameWatcher:
    """Collects the places that the program's own frames visit, and how they follow each other in a frame.

    Args:
        expressions: places are expressions, ``(line, column, end line, end column)``; else lines.
        max_steps: events after which the program is endless.
    """

    def __init__(self, expressions: bool, max_steps: int) -> None:
        self.expressions, self.max_steps = expressions, max_steps
        self.steps = self.events = 0
        self.places: set[tuple[int, ...]] = set()
        self.arcs: set[tuple[tuple[int, ...], tuple[int, ...]]] = set()
        self._positions: dict[CodeType, list[tuple[int, ...]]] = {}

    def __call__(self, frame: FrameType, event: str, _: Any) -> Any:
        """Begin to watch a frame, if it is the program's."""
        if frame.f_code.co_filename != FILE_NAME:
            return None
        previous: tuple[int, ...] = _ENTRY

        def local(frame: FrameType, event: str, _: Any) -> Any:
            nonlocal previous
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

    Returns:
        Per call: kind (``value``, ``raised``, ``endless``, ``unwritable``), the ``repr`` or the reason, steps,
        numbers of a place, and C integers as bytes, which travel faster than a value for each: the places one
        behind the other, and the arcs as pairs of indices of places, -1 for a frame's entry and -2 for its exit.
    """
    cases = []
    for call in calls:
        cases.append(_case(source, call, preamble, traced, max_steps, max_chars, chance))
        if cases[-1][0] != "value":
            break
    return tuple(cases)


def _case(
    source: str, call: str, preamble: str, traced: str, max_steps: int, max_chars: int, chance: int
) -> tuple[Any, ...]:
    watcher = FrameWatcher(traced == "expressions", max_steps)
    random.seed(chance)
    sys.setrecursionlimit(RECURSION_LIMIT)
    sys.stdout = sys.stderr = Sink()
    try:
        kind, text = _value(source, call, preamble, watcher if traced else None, max_chars)
    except Endless:
        kind, text = "endless", f"more than {max_steps} steps"
    except BaseException as error:
        kind, text = "raised", type(error).__name__
    finally:
        sys.settrace(None)
        sys.stdout, sys.stderr = sys.__stdout__, sys.__stderr__
    if watcher.events > max_steps:  # the program caught what was to end it
        kind = "endless"
    return kind, text, watcher.steps, *_packed(sorted(watcher.places), watcher.arcs)


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
