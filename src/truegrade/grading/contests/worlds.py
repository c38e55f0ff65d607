"""What a program sees of standard input, output and `open` while a published grader calls it.

The graders replace six things with stacked patches. They apply from the bottom up, so ``readline``, ``readlines``
and ``read`` are set on the *old* ``sys.stdin``, and only then is it replaced. A program that imported ``stdin``
before sees the one, a program that says ``sys.stdin`` the other. Sources:

``whole``     LiveCodeBench/LiveCodeBench@28fef95 ``lcb_runner/evaluation/testing_util.py`` ``MockStdinWithBuffer``
``iterated``  NVIDIA-NeMo/Gym@07d6b0d ``resources_servers/code_gen/lcb_integration/testing_util.py``
``string``    the same as the first @b95a71c; modelscope/evalscope@a2ecf3e8 and the lm-eval fork @af0ac9f7; the
              rewards of verl, rLLM and SkyRL
``encoded``   modelscope/evalscope@fde259d2 ``evalscope/benchmarks/live_code_bench/testing_util.py``

Names of classes are the originals' where an exception's text shows them.
"""

import ast
import builtins
import json
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from io import BytesIO, StringIO, TextIOWrapper
from types import FrameType, TracebackType
from typing import Any


class MockBuffer:
    """Bytes that are read whole every time, or their first line every time."""

    def __init__(self, inputs: str) -> None:
        self.inputs = inputs.encode("utf-8")

    def read(self, *args: Any) -> bytes:
        """All of it, whatever was read before."""
        return self.inputs

    def readline(self, *args: Any) -> bytes:
        """The first line."""
        return self.inputs.partition(b"\n")[0] + b"\n"


class MockStdinWithBuffer:
    """A text that `readline` advances in and `read` and `readlines` do not; no iterator."""

    def __init__(self, inputs: str) -> None:
        self.inputs = inputs
        self._stringio = StringIO(inputs)
        self.buffer = MockBuffer(inputs)

    def read(self, *args: Any) -> str:
        """All of it, whatever was read before."""
        return self.inputs

    def readline(self, *args: Any) -> str:
        """The next line."""
        return self._stringio.readline(*args)

    def readlines(self, *args: Any) -> list[str]:
        """All lines, without their ends; a text that ends with a newline has an empty last one."""
        return self.inputs.split("\n")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stringio, name)


class MockStdinThatIterates(MockStdinWithBuffer):
    """The same, and its lines one after another."""

    def __iter__(self) -> "MockStdinThatIterates":
        return self

    def __next__(self) -> str:
        return next(self._stringio)


_WORLDS: dict[str, Callable[[str], Any]] = {
    "whole": MockStdinWithBuffer,
    "iterated": MockStdinThatIterates,
    "string": StringIO,
    "encoded": lambda inputs: TextIOWrapper(BytesIO(inputs.encode("utf-8")), encoding="utf-8"),
}


class Capturing(list[str]):
    """Collects what is printed inside a with statement, as its one item."""

    def __enter__(self) -> "Capturing":
        self._stdout, self._stringio = sys.stdout, StringIO()
        # Closing is not refused but fails, as in the original: there it takes an argument.
        self._stringio.close = lambda x: 1  # type: ignore[method-assign,misc,assignment]
        sys.stdout = self._stringio
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.append(self._stringio.getvalue())
        del self._stringio
        sys.stdout = self._stdout


def call_method(method: Callable[[], object], inputs: str, world: str) -> None:
    """Call a function that reads this input; leaving by SystemExit is returning."""
    lines = iter(inputs.split("\n"))
    old, new = sys.stdin, _WORLDS[world](inputs)
    with (
        _attribute(old, "read", lambda *args: inputs),
        _attribute(old, "readlines", lambda *args: inputs.split("\n")),
        _attribute(old, "readline", lambda *args: next(lines)),
        _attribute(sys, "stdin", new),
        _attribute(builtins, "open", _opener(inputs)),
    ):
        try:
            method()
        except SystemExit:
            return


def _opener(inputs: str) -> Callable[..., Any]:
    """An `open` every file of which is this input; few programs get at it: the preamble copies the real one."""

    def opened(*args: Any, **kwargs: Any) -> Any:
        from unittest.mock import mock_open

        return mock_open(read_data=inputs)(*args, **kwargs)

    return opened


@contextmanager
def _attribute(target: Any, name: str, value: Any) -> Iterator[None]:
    """Set an attribute for a while; one that was the class's is uncovered again."""
    own = name in vars(target)
    saved = getattr(target, name)
    setattr(target, name, value)
    try:
        yield
    finally:
        if own:
            setattr(target, name, saved)
        else:
            delattr(target, name)


# ----------------------------------------------------------------------------------------------------------------
# The alarm of the published graders, and how it is made to count the program's time and not the machine's.
# Theirs is one SIGALRM after so many seconds of wall time, whose handler raises; a program can catch the
# exception, cancel the alarm or ignore the signal. Ours is the same, but time in which a runnable thread of the
# program waited for a core does not count: when the alarm goes off too early by that measure, it is set again for
# the rest.

_SHORTEST_S = 0.01
_NANOSECOND = 1e-9


class TimeoutException(Exception):
    """Time is up. Its name is how graders recognise it, and a program may catch it."""


class Alarm:
    """Sets the alarm, handles it, and remembers the longest time between a setting and the next.

    Args:
        whole_seconds: set it with ``signal.alarm``, which cuts fractions, rather than ``signal.setitimer``.
        announced: print a line, into whatever is standard output, when it goes off.
        deadly: end the process when it goes off, as where no handler was set.
    """

    def __init__(self, *, whole_seconds: bool, announced: bool, deadly: bool = False) -> None:
        self._whole_seconds, self._announced, self._deadly = whole_seconds, announced, deadly
        self._limit_s = self._started = self._waited = self._due = 0.0
        self._born = _now()
        self.longest_s = 0.0
        self.fired = False

    def set(self, seconds: float) -> None:
        """Let it go off after so many seconds; 0 cancels it."""
        if self._limit_s:
            self.longest_s = max(self.longest_s, self._used_s())
        self._limit_s = seconds
        if seconds:
            self._started, self._waited, self._due = _now(), _waited_s(), _now() + seconds
        if self._whole_seconds:
            signal.alarm(int(seconds))
        else:
            signal.setitimer(signal.ITIMER_REAL, seconds)

    def handle(self, number: int, frame: FrameType | None) -> None:
        """Raise TimeoutException, unless the program has spent part of the time waiting for a core."""
        left_s = self._limit_s - self._used_s()
        # One that comes before it is due was set by the program itself.
        if _now() >= self._due - _SHORTEST_S and left_s > _SHORTEST_S:
            self._due = _now() + left_s
            _set_timer(_REAL, left_s)
            return
        self.fired = True
        if self._deadly:
            _set_handler(number, _DEFAULT)
            _raise(number)
        if self._announced:
            print("timeout occured: alarm went off")  # part of what the program printed
        raise TimeoutException

    @property
    def total_s(self) -> float:
        """Seconds since the beginning."""
        return _now() - self._born - _waited_s()

    def _used_s(self) -> float:
        return _now() - self._started - max(0.0, _waited_s() - self._waited)


def _waited_s() -> float:
    """Seconds for which threads of this process have been runnable without running; 0 where nobody counts."""
    waited = 0
    try:
        for task in _list("/proc/self/task"):
            fd = _open(f"/proc/self/task/{task}/schedstat", os.O_RDONLY)
            try:
                waited += int(_read(fd, 100).split()[1])
            finally:
                _close(fd)
    except (OSError, ValueError, LookupError):
        return 0.0
    return waited * _NANOSECOND


# Bound now: a program may replace them where they come from, and must not move its own clock by it.
_now: Callable[[], float] = time.monotonic
_list, _open, _read, _close = os.listdir, os.open, os.read, os.close
_set_timer, _REAL = signal.setitimer, signal.ITIMER_REAL
_set_handler, _raise, _DEFAULT = signal.signal, signal.raise_signal, signal.SIG_DFL


# ----------------------------------------------------------------------------------------------------------------
# What the in-process graders of contests share: what they do with a program's text, and what is told of it.
# Rules: LiveCodeBench/LiveCodeBench@28fef95 ``lcb_runner/evaluation/testing_util.py``. The text of this file is
# sent to the sandbox.


class Observed:
    """What the program did, told to the one outside who did not see it.

    Args:
        budget: characters that may be told.
    """

    def __init__(self, budget: int) -> None:
        self.outputs: list[str | None] = []
        self._budget = budget
        self.syntax = False

    def add(self, text: str) -> None:
        """Keep one output; None stands for one too many."""
        self._budget -= len(text)
        self.outputs.append(text if self._budget >= 0 else None)


def clean_if_name(code: str) -> str:
    """The program with a main block that ends it replaced by that block's body; an else is lost."""
    with suppress(Exception):
        *before, last = ast.parse(code).body
        if isinstance(last, ast.If) and ast.unparse(last.test).strip() == "__name__ == '__main__'":
            return ast.unparse(before) + "\n" + ast.unparse(last.body)  # type: ignore[arg-type]
    return code


def as_text(value: Any) -> str:
    """A returned value as JSON, quickly; nothing, which is no JSON, if it is none."""
    try:
        return json.dumps(value)
    except Exception:
        return ""


def allclose(got: list[float], expected: list[float]) -> bool:
    """What `numpy.allclose` says of as many numbers: within 1e-8 and 1e-5 of the expected one, or equal.

    Where numpy is loaded it is numpy's, which a program may have replaced.
    """
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        return bool(numpy.allclose(got, expected))
    pairs = zip(got, expected, strict=True)
    return all(one == two or abs(one - two) <= 1e-8 + 1e-5 * abs(two) < float("inf") for one, two in pairs)
