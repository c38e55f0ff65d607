"""The end of a script: the interpreter's own, or one that shows no difference and costs a quarter.

At its end an interpreter takes every module apart, also those that were loaded before the fork, so a process
copies most of the pages that it shared until then, four fifths of a short script's cost. What can be seen of it
is what finalizers do: a ``__del__`` that prints, a file over descriptor 1 that holds text, the ``finally`` of
a suspended generator. Where nothing of the sort is left, the process ends without it. A program that deceives this
look changes its own output and nothing else.
"""

from __future__ import annotations

import sys
from _io import _IOBase
from _thread import _count as count_threads
from _weakref import ReferenceType
from atexit import _ncallbacks as count_callbacks
from gc import get_objects
from os import _exit
from types import AsyncGeneratorType, BuiltinFunctionType, CoroutineType, GeneratorType

TYPE_CHECKING = False  # `typing` costs a spawned interpreter 8 ms
if TYPE_CHECKING:
    from types import ModuleType

_SUSPENDED = (_IOBase, GeneratorType, CoroutineType, AsyncGeneratorType)
MOST_CODE = 255


def leave(code: object) -> None:
    """End the process with this exit code, as `SystemExit` has it; returns if only the interpreter itself can."""
    number = 0 if code is None else code
    if type(number) is not int or not 0 <= number <= MOST_CODE:
        return
    try:
        if sys.stdout is not sys.__stdout__ or sys.stderr is not sys.__stderr__:
            return
        if count_callbacks() or count_threads() or _finalizers():
            return
        threading: ModuleType | None = sys.modules.get("threading")
        if threading is not None and threading._threading_atexits:
            return
        print(end="", flush=True)
        print(end="", flush=True, file=sys.stderr)
    except BaseException:  # memory is short, or a stream is closed: the interpreter says what it makes of that
        return
    _exit(number)


def _finalizers() -> bool:
    """Whether something that the program left may act when it is freed; what the zygote made is not listed."""
    left = get_objects()
    kinds = set(map(type, left))
    if any(issubclass(kind, _SUSPENDED) or hasattr(kind, "__del__") for kind in kinds):
        return True
    for one in left:
        if isinstance(one, type) and "__del__" in one.__dict__:
            return True
        if isinstance(one, ReferenceType) and one.__callback__ is not None and not _of_abc(one.__callback__):
            return True
    return False


def _of_abc(callback: object) -> bool:
    """Whether it takes a class out of the caches of `abc`, which `isinstance` fills: what it is bound to tells."""
    return type(callback) is BuiltinFunctionType and type(callback.__self__) is ReferenceType
