"""The end of a script: the interpreter's own, or one that shows no difference and costs a tenth.

At its end an interpreter takes every module apart, also those that were loaded before the fork, so a process
copies most of the pages that it shared until then, nine tenths of a short script's cost. What can be seen of it
is what finalizers do: a ``__del__`` that prints, a file over descriptor 1 that holds text, the ``finally`` of a
suspended generator. Where nothing of the sort is left, the process ends without it. A program that deceives this
look changes its own output and nothing else.
"""

from __future__ import annotations

import _warnings
import sys
from _io import BufferedReader, BytesIO, FileIO, StringIO, TextIOWrapper, _IOBase
from _thread import _count as count_threads
from _weakref import ReferenceType
from _weakrefset import WeakSet
from atexit import _ncallbacks as count_callbacks
from gc import get_objects
from os import _exit
from types import AsyncGeneratorType, BuiltinFunctionType, CoroutineType, FunctionType, GeneratorType

TYPE_CHECKING = False  # `typing` costs a spawned interpreter 8 ms
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any

_SUSPENDED = (_IOBase, GeneratorType, CoroutineType, AsyncGeneratorType)
_LOOKED_AT = (BufferedReader, BytesIO, FileIO, GeneratorType, StringIO, TextIOWrapper)
"""Of which each may be harmless, as `_may_act` says."""
_FILTERS = list(_warnings.filters)
"""Of warnings, before any program."""
MOST_CODE = 255


def leave(code: object) -> None:
    """End the process with this exit code, as `SystemExit` has it; returns if only the interpreter itself can."""
    number = 0 if code is None else code
    if type(number) is not int or not 0 <= number <= MOST_CODE:
        return
    try:
        if sys.stdout is not sys.__stdout__ or sys.stderr is not sys.__stderr__:
            return
        if count_callbacks() or count_threads() or may_act_when_freed(get_objects()):
            return
        threading: ModuleType | None = sys.modules.get("threading")
        if threading is not None and threading._threading_atexits:
            return
        print(end="", flush=True)
        print(end="", flush=True, file=sys.stderr)
    except BaseException:  # memory is short, or a stream is closed: the interpreter says what it makes of that
        return
    _exit(number)


def may_act_when_freed(left: list[object]) -> bool:
    """Whether something of what a program left may act when it is freed.

    Args:
        left: all that a collector knows of; what the zygote made is not among it.
    """
    kinds = set(map(type, left))
    if any(issubclass(kind, _SUSPENDED) or hasattr(kind, "__del__") for kind in kinds.difference(_LOOKED_AT)):
        return True
    told = {kind for kind in kinds if issubclass(kind, (type, ReferenceType, *_LOOKED_AT))}
    return any(type(one) in told and _may_act(one) for one in left)


def _may_act(one: Any) -> bool:
    """Whether this may, of one of the kinds that are looked at one by one."""
    kind = type(one)
    if issubclass(kind, type):
        return "__del__" in one.__dict__
    if issubclass(kind, ReferenceType):
        return one.__callback__ is not None and not _only_forgets(one.__callback__)
    if kind is GeneratorType:  # it goes on only where it would catch what ends it
        return one.gi_yieldfrom is not None or bool(one.gi_code.co_exceptiontable)
    if kind is TextIOWrapper:
        return type(one.buffer) is not BufferedReader or _may_act(one.buffer)
    if kind is BufferedReader and type(one.raw) is not FileIO:
        return True
    # That a file was not closed is said where a program has asked for such warnings.
    return bool(sys.modules.get("warnings", _warnings).filters != _FILTERS)


def _only_forgets(callback: object) -> bool:
    """Whether it takes what is freed out of a cache of `abc`, which `isinstance` fills, or out of a `WeakSet`.

    `threading` keeps its threads in one, and many a contest program runs in a thread with a larger stack.
    """
    if type(callback) is BuiltinFunctionType:
        return type(callback.__self__) is ReferenceType
    return type(callback) is FunctionType and callback.__code__ in WeakSet.__init__.__code__.co_consts
