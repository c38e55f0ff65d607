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

import builtins
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import BytesIO, StringIO, TextIOWrapper
from types import TracebackType
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
