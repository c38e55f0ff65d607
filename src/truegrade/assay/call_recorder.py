"""Records the calls that tests make of a function, as it happens inside the sandbox.

The text of this file is sent there with a call of `recorded_calls`; nothing here is called in our own process.
"""

from __future__ import annotations

import copy
import inspect
import random
import sys
from typing import Any


def recorded_calls(program: str, tests: str, entry_point: str) -> tuple[list[tuple[Any, ...]], str]:
    """The arguments of each call, and how the tests ended.

    Args:
        program: source that defines ``entry_point``.
        tests: source that runs behind it, in the same namespace.
        entry_point: name of the function that is called.

    Returns:
        Positional arguments, copied before the function could change them; and the exception that ended the tests,
        ``TypeName: message``, or an empty text.
    """
    random.seed(0)
    namespace: dict[str, Any] = {"__name__": "program"}
    # The encoder of answers looks the classes of values up; a module of that name has to exist.
    sys.modules["program"] = type(sys)("program")
    exec(compile(program, "<program>", "exec", dont_inherit=True), namespace)
    function, calls, depth = namespace[entry_point], [], 0

    def recording(*args: Any, **kwargs: Any) -> Any:
        nonlocal depth
        if depth == 0:  # a recursive function reaches this wrapper by its own name
            calls.append(copy.deepcopy(_positional(function, args, kwargs)))
        depth += 1
        try:
            return function(*args, **kwargs)
        finally:
            depth -= 1

    namespace[entry_point] = recording
    try:
        exec(compile(tests, "<tests>", "exec", dont_inherit=True), namespace)
    except Exception as error:
        return calls, f"{type(error).__name__}: {error}"
    return calls, ""


def _positional(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
    """All arguments by position.

    Raises:
        TypeError: some can only be given by name.
    """
    if not kwargs:
        return args
    bound = inspect.signature(function).bind(*args, **kwargs)
    if bound.kwargs:
        raise TypeError("the tests pass arguments by name")
    return bound.args
