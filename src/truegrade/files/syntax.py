"""Python's parser, for one thread at a time.

CPython 3.11 counts how deep it is in a syntax tree in a place that all threads share. Where a collection of
garbage lets another thread parse meanwhile, either may end by ``SystemError: AST constructor recursion depth
mismatch`` (seen on 3.11.2 and 3.11.7, and not on 3.12.1 and 3.13.0). So whatever makes a tree, or compiles one, in
a process that may have other threads does it here; what runs in a jailed process, which has one, need not.
"""

from __future__ import annotations

import ast
import os
import threading
from collections.abc import Callable
from typing import Any, Literal, TypeVar, overload

T = TypeVar("T")


class _Turn:
    """Whose turn it is. A forked process, in which nobody else is left to give theirs up, begins anew."""

    def __init__(self) -> None:
        self._begin()
        os.register_at_fork(after_in_child=self._begin)

    def _begin(self) -> None:
        self._lock = threading.RLock()  # a collection of garbage may parse while its thread does

    def take(self, make: Callable[..., T], *given: Any, **more: Any) -> T:
        with self._lock:
            return make(*given, **more)


_turn = _Turn()


@overload
def parse(source: str | bytes, mode: Literal["exec"] = "exec") -> ast.Module: ...
@overload
def parse(source: str | bytes, mode: Literal["eval"]) -> ast.Expression: ...
def parse(source: str | bytes, mode: str = "exec") -> Any:
    """What `ast.parse` makes of a source, and its errors."""
    return _turn.take(ast.parse, source, mode=mode)


def literal_eval(source: str | ast.AST) -> Any:
    """What `ast.literal_eval` makes of a source, or of the tree of one, and its errors."""
    return _turn.take(ast.literal_eval, source)


def compiled(source: str | ast.AST, filename: str, mode: str, flags: int = 0, optimize: int = -1) -> Any:
    """What `compile` makes of a source or of a tree, without the caller's own ``__future__``, and its errors."""
    return _turn.take(compile, source, filename, mode, flags, dont_inherit=True, optimize=optimize)
