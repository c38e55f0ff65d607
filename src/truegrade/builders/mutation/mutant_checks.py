"""Whether a row can be mutated at all."""

from __future__ import annotations

import ast

import msgspec

from truegrade.builders.mutation.mutant_sources import NotAProgram, parse
from truegrade.datasets.executions import ExecutionRow, Texts
from truegrade.extraction.parsing import Fault, parse_expression


class Flaw(msgspec.Struct, frozen=True):
    """What is wrong with a row, and in which field."""

    field: str
    problem: str


def flaw_of(row: ExecutionRow) -> Flaw | None:
    """The first thing that is wrong with a row; None if its program can be run on its cases."""
    try:
        tree = parse(row.code)
    except NotAProgram as error:
        return Flaw("code", f"{error}; correct it or leave the row out")
    if not _defines(tree, row.function_name):
        return Flaw("function_name", f"the program does not define {row.function_name!r}")
    inputs, outputs = texts(row.input), texts(row.output)
    if not inputs:
        return Flaw("input", "there is no case; give at least one call")
    if len(inputs) != len(outputs):
        return Flaw("output", f"there are {len(inputs)} inputs but {len(outputs)} outputs")
    for call in calls_of(row):
        if isinstance(parse_expression(call), Fault):
            return Flaw("input", f"{call[:80]!r} is no call")
    return None


def texts(value: Texts) -> tuple[str, ...]:
    """One text per case."""
    return (value,) if isinstance(value, str) else value


def like(model: Texts, values: tuple[str, ...]) -> Texts:
    """Values in the form of another field: one text where that is one text."""
    return values[0] if isinstance(model, str) else values


def calls_of(row: ExecutionRow) -> tuple[str, ...]:
    """The call of each case, also where only its arguments are stored."""
    opening = f"{row.function_name}("
    return tuple(
        text if text.startswith(opening) and text.endswith(")") else f"{opening}{text})"
        for text in texts(row.input)
    )


def _defines(tree: ast.Module, name: str) -> bool:
    """Whether a name is bound somewhere in the program: by ``def``, ``class``, assignment or import."""
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=bound) | ast.AsyncFunctionDef(name=bound) | ast.ClassDef(name=bound):
                found = bound
            case ast.Name(id=bound, ctx=ast.Store()):
                found = bound
            case ast.alias():
                found = node.asname or node.name
            case _:
                continue
        if found in {name, "*"}:
            return True
    return False
