"""Which names tests and a reference share: the entry point, and what else only the solution can provide."""

from __future__ import annotations

import ast
import symtable
from collections.abc import Callable, Iterator
from typing import TypeVar

from truegrade.errors import UserError
from truegrade.extraction.parsing import quietly

Read = TypeVar("Read")


def entry_point(task_id: str, reference: str, tests: str) -> str:
    """The function that the tests call and the reference defines; the first, if there are several.

    Raises:
        UserError: the tests call no function of the reference, or one of the two is no Python.
    """
    defined = {
        node.name
        for node in _parse(task_id, reference).body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    for node in ast.walk(_parse(task_id, tests)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in defined:
            return node.func.id
    raise UserError(f"{task_id}: its tests call no function that its reference solution defines")


def names_only_solution_binds(task_id: str, reference: str, tests: str, entry_point: str) -> tuple[str, ...]:
    """Names that the tests need, besides the entry point, and that only the reference binds; sorted.

    A name that the tests bind themselves, or a builtin that the reference leaves alone, does not count.

    Raises:
        UserError: one of the two programs is no Python.
    """
    needed = unbound_names(task_id, tests) - {entry_point}
    return tuple(sorted(needed & _bound(_symbols(task_id, reference))))


def unbound_names(task_id: str, tests: str) -> set[str]:
    """Names that tests use and bind nowhere, built-in ones included.

    Raises:
        UserError: the tests are no Python.
    """
    tested = _symbols(task_id, tests)
    return set(_used(tested)) - _bound(tested)


def _symbols(task_id: str, program: str) -> symtable.SymbolTable:
    return _quietly(task_id, lambda: symtable.symtable(program, task_id, "exec"))


def _bound(module: symtable.SymbolTable) -> set[str]:
    """Names that a module assigns, defines or imports at its top level."""
    return {symbol.get_name() for symbol in module.get_symbols() if symbol.is_assigned() or symbol.is_imported()}


def _used(module: symtable.SymbolTable) -> Iterator[str]:
    """Names that a module reads, at its top level or from within functions."""
    yield from (symbol.get_name() for symbol in module.get_symbols() if symbol.is_referenced())
    for inner in module.get_children():
        yield from _used_globals(inner)


def _used_globals(scope: symtable.SymbolTable) -> Iterator[str]:
    yield from (symbol.get_name() for symbol in scope.get_symbols() if symbol.is_global())
    for inner in scope.get_children():
        yield from _used_globals(inner)


def _parse(task_id: str, program: str) -> ast.Module:
    return _quietly(task_id, lambda: ast.parse(program))


def _quietly(task_id: str, read: Callable[[], Read]) -> Read:
    """Read a program without warnings: MBPP has strings with invalid escapes, and they are no news."""
    try:
        with quietly():
            return read()
    except SyntaxError as error:
        raise UserError(f"{task_id}: its code is no Python: {error.msg} (line {error.lineno})") from None
