"""Calls of a contest answer's method, as they run in the sandbox; no expected value is there.

The text of this file is sent to the sandbox; nothing here is called in our own process but by tests.
"""

import builtins
import json
import marshal
import sys
from types import CodeType, ModuleType
from typing import Any

_compiled: list[Any] = []


def answer(prepared: tuple[str, dict[str, Any]], code: str | bytes, *call: str) -> Any:
    """Call a program's function, or only compile the program.

    Args:
        prepared: of `called`.
        code: the program's source, which is then compiled, kept and returned as bytes; or such bytes; or none, for
            what was kept.
        call: but for a source, what else `called` takes.

    Raises:
        SyntaxError: the source has no code.
    """
    if isinstance(code, str):
        _compiled.append(compile(code, "<program>", "exec", dont_inherit=True))
        return marshal.dumps(_compiled[0])
    return called(prepared, marshal.loads(code) if code else _compiled[0], *call)


def called(
    prepared: tuple[str, dict[str, Any]], code: CodeType, preamble: str, function: str, arguments: str
) -> Any:
    """Run the program and call its method, of a fresh object of class Solution, or its function.

    Args:
        prepared: a text that the preamble may begin with, and the names that it and built-ins define: to run star
            imports in every process would take longer than most programs.
        code: of the program, which may use the preamble's names as it may built-ins; they are not its own.
        preamble: trusted imports.
        function: name of the method or function.
        arguments: JSON, one argument a line.

    Raises:
        NameError: the program defines neither.
    """
    known, offered = prepared
    if not preamble.startswith(known):
        known, offered = "", dict(vars(builtins))
    exec(compile(preamble[len(known) :], "<preamble>", "exec", dont_inherit=True), offered)
    del offered["__builtins__"]
    module = sys.modules["solution"] = ModuleType("solution")  # where dataclasses look their own module up
    module.__dict__["__builtins__"] = offered
    given = [json.loads(line) for line in arguments.strip("\n").split("\n")]
    exec(code, module.__dict__)
    kind = module.__dict__.get("Solution")
    if isinstance(kind, type) and hasattr(kind, function):
        return getattr(kind(), function)(*given)
    if function not in module.__dict__:
        raise NameError(f"the program defines no {function!r}, neither in a class Solution nor at its top level")
    return module.__dict__[function](*given)
