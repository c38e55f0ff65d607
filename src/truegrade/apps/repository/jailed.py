"""The texts that run a repository's tests in the jail, and what all of them have in common.

Nothing here needs pytest, which those texts import where they run.
"""

from __future__ import annotations

import base64
import inspect
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from importlib.resources import files


def runner_source(module: str) -> str:
    """The text of a module of this package that runs in the jail, with the functions below."""
    text = files("truegrade.apps.repository").joinpath(f"{module}.py").read_text(encoding="utf-8")
    shared = "\n\n".join(inspect.getsource(one) for one in _SHARED)
    return f"{text}\n\n{_IMPORTS}\n{shared}\n\nmain()\n"


def last_line(words: object) -> str:
    """What pytest says of a failure in its first line that is marked so, else in the last that is not indented."""
    lines = [line for line in str(words).splitlines() if line.strip()]
    flush = [line for line in lines if not line[0].isspace()]
    told = [line for line in lines if line.startswith("E  ")][:1] or flush[-1:] or lines[-1:]
    return " ".join(" ".join(told)[:640].removeprefix("E").split())[:160]


def lay_out(root: str, files: dict[str, str]) -> None:
    """Write the files, given in base 85."""
    for path, content in files.items():
        place = os.path.join(root, path)  # noqa: PTH118
        os.makedirs(os.path.dirname(place), exist_ok=True)  # noqa: PTH103, PTH120
        with open(place, "wb") as file:  # noqa: PTH123
            file.write(base64.b85decode(content))


def main_arguments(root: str, tests: list[str]) -> Iterator[list[str]]:
    """Arguments of pytest with the tree's own configuration, and without: it may ask for what is not installed."""
    bare = [
        "-q",
        "-p",
        "no:cacheprovider",
        "--continue-on-collection-errors",
        "-o",
        "addopts=",
        "-o",
        "required_plugins=",
        *tests,
    ]
    yield from (bare, [*bare, "-c", os.devnull, "--rootdir", root])


def go_on_in_fork() -> Callable[[], bool]:
    """Go on in another fork, which gets a function that says whether this process lives; here end as it does."""
    asked, ask = os.pipe()
    heard, answer = os.pipe()
    signal.signal(signal.SIGCHLD, end_reading)
    with suppress(InterruptedError):
        if not os.fork():
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            os.close(asked)
            os.close(answer)
            return partial(is_answered, ask, heard)
        while True:
            os.read(asked, 1)
            os.write(answer, b".")
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    status = os.wait()[1]
    if os.WIFSIGNALED(status):
        with suppress(OSError):  # of SIGKILL, which has no handler
            signal.signal(os.WTERMSIG(status), signal.SIG_DFL)
        os.kill(os.getpid(), os.WTERMSIG(status))
    os._exit(1)


def end_reading(number: int, frame: object) -> None:
    """Leave a call that waits: the fork has ended."""
    raise InterruptedError


def is_answered(ask: int, heard: int) -> bool:
    """Whether the process at the other end of two pipes lives."""
    try:
        return bool(os.write(ask, b".") and os.read(heard, 1))
    except OSError:  # nobody is at the other end
        return False


_IMPORTS = """\
import base64
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
"""
_SHARED = (lay_out, main_arguments, last_line, go_on_in_fork, is_answered, end_reading)
