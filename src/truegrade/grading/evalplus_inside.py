"""EvalPlus' check of one program, as it runs beside that program in the sandbox.

The text of this file is sent there with a call of `check`; nothing here is called in our own process but by tests.
Program and expected outputs share a process on purpose: a profile owes the published verdict, also where an output
that is equal to everything passes. Rules: evalplus/evalplus@26d6d00 ``evalplus/eval/__init__.py``
``unsafe_execute``, ``_special_oracle.py``, ``utils.py``.
"""

from __future__ import annotations

import copy
import io
import math
import pickle
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import CodeType, FrameType
from typing import Any

WALL_FACTOR = 3.0
"""A call may take this many times its CPU limit in wall time: the backstop against sleeping."""
_RTOL = 1e-07
_FLOAT_ATOL = 1e-06


class WrongAnswer(Exception):
    """An output is not right."""


class TimeLimit(Exception):
    """A call took too long. A program's own ``except Exception`` catches it, as in EvalPlus."""


class _NoInput(io.StringIO):
    """Keeps what is written and refuses to be read."""

    def _refuse(self, *args: Any) -> Any:
        raise OSError

    read = readline = readlines = _refuse

    def readable(self) -> bool:
        return False


@contextmanager
def _swallowed_io() -> Iterator[None]:
    saved = sys.stdin, sys.stdout, sys.stderr
    sys.stdin = sys.stdout = sys.stderr = _NoInput()
    try:
        yield
    finally:
        sys.stdin, sys.stdout, sys.stderr = saved


@contextmanager
def _limited(seconds: float) -> Iterator[None]:
    signal.signal(signal.SIGPROF, _give_up)
    signal.signal(signal.SIGALRM, _give_up)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    signal.setitimer(signal.ITIMER_REAL, seconds * WALL_FACTOR)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)


def _give_up(number: int, frame: FrameType | None) -> None:
    raise TimeLimit("a call took too long")


def check(
    given: int,
    program: str,
    entry_point: str,
    comparator: str,
    atol: float,
    limits_s: Sequence[float],
    reference: str = "",
    absent: Sequence[int] = (),
) -> None:
    """Run the program and call it on every input; raise at the first that is not right.

    Args:
        given: descriptor of a file with the inputs, pickled, and then each expected output; closed before the
            program runs.
        program: the candidate.
        entry_point: the function to call; without it, KeyError.
        comparator: a name of `truegrade.grading.functions`.
        atol: absolute tolerance of the task.
        limits_s: CPU seconds for each call.
        reference: source of the reference, where it has to make some of the outputs.
        absent: indices of these outputs.

    Raises:
        WrongAnswer: an output is not right.
        TimeLimit: a call took too long.
    """
    with io.BufferedReader(io.FileIO(given)) as file:  # `open` is disabled already
        inputs = pickle.load(file)
        outputs = [pickle.load(file) for _ in inputs]
    if absent:
        known: dict[str, Any] = {}
        exec(_compiled(reference), known)
        for index in absent:
            outputs[index] = known[entry_point](*copy.deepcopy(inputs[index]))
    scope: dict[str, Any] = {}
    with _swallowed_io():
        exec(_compiled(program), scope)
        function = scope[entry_point]
    for index, (arguments, expected) in enumerate(zip(inputs, outputs, strict=True)):
        with _limited(limits_s[index]), _swallowed_io():
            got = function(*arguments)
        right = _matches(comparator, arguments, expected, got, atol)
        if comparator == "root":
            if not right:
                raise WrongAnswer(f"input {index}")
            continue
        if atol == 0 and _is_floats(expected):
            atol = _FLOAT_ATOL  # and stays so for all later inputs
        if not right and atol != 0:
            right = _is_close(expected, got, atol)
        if not right:
            raise WrongAnswer(f"input {index}: {got!r:.100}, not {expected!r:.100}")


def _compiled(source: str) -> CodeType:
    """The code of a text, to which what this file imports from ``__future__`` does not apply."""
    return compile(source, "<string>", "exec", dont_inherit=True)


def _matches(comparator: str, arguments: Sequence[Any], expected: Any, got: Any, atol: float) -> Any:
    """The exact comparison or the task's own; an output that cannot be compared fails either way."""
    equal = got == expected
    match comparator:
        case "root":
            right = abs(_polynomial(arguments[0], got)) <= atol
        case "always":
            right = True
        case "equal_or_zero":
            right = equal or got == 0
        case "surface_area":
            right = equal or abs(got - _surface_area(*arguments)) <= atol
        case "digit_distance":
            right = equal or got == _digit_distance(*arguments)
        case "set_equal":
            right = set(got) == set(expected)
        case "not_none":
            right = got == expected if isinstance(got, bool) else expected == (got is not None)
        case _:
            right = equal
    return right


def _is_floats(value: Any) -> bool:
    if isinstance(value, list | tuple) and value:
        return all(isinstance(item, float) for item in value)
    return isinstance(value, float)


def _is_close(expected: Any, got: Any, atol: float) -> bool:
    import numpy as np

    if type(got) is not type(expected):
        return False
    if isinstance(expected, list | tuple) and len(got) != len(expected):
        return False
    return bool(np.allclose(got, expected, rtol=_RTOL, atol=atol))


def _polynomial(coefficients: Sequence[float], x: float) -> float:
    return sum([factor * math.pow(x, power) for power, factor in enumerate(coefficients)])


def _surface_area(base_edge: float, height: float) -> int:
    slant = math.sqrt((base_edge / 2) ** 2 + height**2)
    return round(base_edge**2 + 4 * (base_edge * slant) / 2)


def _digit_distance(one: int, other: int) -> int:
    width = max(len(str(one)), len(str(other)))
    digits = zip(str(one).zfill(width), str(other).zfill(width), strict=True)
    return sum(abs(int(a) - int(b)) for a, b in digits)
