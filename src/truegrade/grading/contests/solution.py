"""Calls of a contest answer's method, as they run in the sandbox, each in a fork; no expected value is there.

The text of this file is sent to the sandbox; nothing here is called in our own process but by tests.
"""

import builtins
import json
import sys
from collections.abc import Callable
from types import CodeType, ModuleType
from typing import Any

_SMALL_CHARS = 1 << 14
"""Of arguments that are read ahead of the fork, which copies what it uses of them: a list of 150,000 numbers takes
19 ms of CPU so, and 17 where the fork reads it."""
_prepared: list[tuple[CodeType, dict[str, Any]]] = []
"""The program, and the names that are lent to it."""


def prepare(lent: tuple[str, dict[str, Any]], source: str, preamble: str) -> None:
    """Compile a program and run its preamble; nothing of the program runs.

    Args:
        lent: a text that the preamble may begin with, and the names that it and built-ins define: to run star
            imports in every process would take longer than most programs.
        source: of the program, which may use the preamble's names as it may built-ins; they are not its own.
        preamble: trusted imports.

    Raises:
        SyntaxError: the source has no code.
    """
    known, names = lent
    if not preamble.startswith(known):
        known, names = "", dict(vars(builtins))
    code = compile(source, "<program>", "exec", dont_inherit=True)
    exec(compile(preamble[len(known) :], "<preamble>", "exec", dont_inherit=True), names)
    del names["__builtins__"]
    _prepared.append((code, names))


def call(function: str, arguments: str) -> Callable[[], Any]:
    """What runs the program and calls its method, of a fresh object of class Solution, or its function.

    Args:
        function: name of the method or function.
        arguments: JSON, one argument a line.

    Returns:
        It; raises NameError if the program defines neither, and whatever the program raises.
    """
    code, names = _prepared[0]
    module = sys.modules["solution"] = ModuleType("solution")  # where dataclasses look their own module up
    space = module.__dict__
    space["__builtins__"] = names
    known = _read(arguments) if len(arguments) <= _SMALL_CHARS else None

    def run() -> Any:
        given = _read(arguments) if known is None else known
        exec(code, space)
        kind = space.get("Solution")
        if isinstance(kind, type) and hasattr(kind, function):
            return getattr(kind(), function)(*given)
        if function not in space:
            raise NameError(
                f"the program defines no {function!r}, neither in a class Solution nor at its top level"
            )
        return space[function](*given)

    return run


def _read(arguments: str) -> list[Any]:
    return [json.loads(line) for line in arguments.strip("\n").split("\n")]
