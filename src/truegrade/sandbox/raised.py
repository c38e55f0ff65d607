"""Exceptions of a program, made again where the tests run.

An exception crosses as names and plain data (`truegrade.sandbox.child.describe`), and nothing of them is believed:
it becomes one of a built-in type, one that the tests know by that name, or a new type of its name.
"""

from __future__ import annotations

import builtins
import sys

TYPE_CHECKING = False  # `typing` costs a spawned interpreter 8 ms
if TYPE_CHECKING:
    from typing import Any

_EXCEPTIONS = {
    name: kind
    for name, kind in vars(builtins).items()
    if isinstance(kind, type) and issubclass(kind, BaseException)
}


def rebuild(name: Any, base: Any, args: Any, text: Any, namespace: dict[str, Any]) -> BaseException:
    """The program's exception as one of a built-in type, or of a new type of its name below one.

    Args:
        name, base, args, text: as the program says.
        namespace: of the tests: an exception of this name that stands in it, or in a module in it, is the one.
    """
    kind = _EXCEPTIONS.get(base) if type(base) is str else None
    if kind is None or type(name) is not str or type(args) is not tuple or type(text) is not str:
        return RuntimeError("the program described its exception in no known form")
    if issubclass(kind, StopIteration | StopAsyncIteration | GeneratorExit):
        kind = RuntimeError  # these end loops: `all(map(f, inputs))` would take them for the end of the inputs
    if issubclass(kind, UnicodeError) and any(type(one) is int and one < 0 for one in args):
        return RuntimeError(text)  # CPython 3.11 reads memory there when it words them
    try:
        named = kind if name == kind.__name__ else _exception_in(namespace, name) or type(name, (kind,), {})
        error: BaseException = named(*args)
    except Exception:  # types that take no such arguments, e.g. ExceptionGroup of objects that do not travel
        error = RuntimeError(text)
    return error


def _exception_in(namespace: dict[str, Any], name: str) -> type[Exception] | None:
    module = type(sys)
    for held in list(namespace.values()):
        found = vars(held).get(name) if type(held) is module else held
        if isinstance(found, type) and issubclass(found, Exception) and found.__name__ == name:
            return None if any(map(_steers_tests, found.__mro__)) else found
    return None


def _steers_tests(kind: type) -> bool:
    """Whether raising it says to those who run tests what to do with one, as `unittest.SkipTest` does."""
    return kind.__module__.partition(".")[0] in {"unittest", "pytest", "_pytest"}
