"""Which programs hold syntax that the originals of their set do not, or hold it nested deeper.

A mutant can look like its original and still be of a kind that nothing else in the set is: ``a[:]`` where all
others write ``a[1:]``, ``!=`` where all compare by ``==``. A model that fails there need not have recognised an
original. Familiar is what the originals of the same data set have: nothing is known about what a model was
trained on.

Elements are counted by kind. A kind is the type of a syntax node, with

- the operator of arithmetic, logic and comparison: ``BinOp FloorDiv``, ``Compare NotEq``;
- of a slice, and of `range` with several arguments, which bounds are given and the value of literal ones:
  ``[1:]``, ``[0:]``, ``[:]`` and ``[_:]`` are four kinds;
- of a call by name, the name and the number of arguments where the program does not define it: ``Call max/2``;
- of a literal, its type: ``Constant int``.

An element is unfamiliar where fewer than `RARE` of the originals hold one of its kind that is nested at least as
deep, counted in levels of nodes below it.
"""

from __future__ import annotations

import ast
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Mapping

import msgspec

from truegrade.extraction.parsing import quietly

RARE = 0.01
"""Share of the originals; at least one of them must hold an element."""

_NOT_COUNTED = (ast.expr_context, ast.operator, ast.cmpop, ast.boolop, ast.unaryop, ast.Module)


class ProgramShape(msgspec.Struct, frozen=True):
    """A program's syntax: what it holds, and how much of it."""

    elements: Mapping[str, int]
    """Kind -> levels below the deepest element of that kind."""
    length: int
    """Nodes of the syntax tree."""
    depth: int
    """Levels of the syntax tree."""


def shape(code: str) -> ProgramShape | None:
    """The shape of a program; None of a text that is no program, or one too deep to be walked."""
    try:
        with quietly():
            tree = ast.parse(code)
        reading = _Reading({name for node in ast.walk(tree) for name in _defined(node)})
        levels = reading.read(tree)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return ProgramShape(reading.elements, reading.length, levels)


class Familiar:
    """What the originals of a data set hold."""

    def __init__(self, originals: Iterable[str]) -> None:
        """Read the originals, each program given once; texts that are no programs are left out."""
        shapes = [found for found in map(shape, originals) if found is not None]
        self._least = max(1.0, RARE * len(shapes))
        self._levels: dict[str, list[int]] = defaultdict(list)
        for found in shapes:
            for kind, levels in found.elements.items():
                self._levels[kind].append(levels)
        for known in self._levels.values():
            known.sort()

    def lacks(self, found: ProgramShape) -> tuple[str, ...]:
        """The kinds of a program's unfamiliar elements, sorted."""
        return tuple(sorted(kind for kind, levels in found.elements.items() if self._is_rare(kind, levels)))

    def _is_rare(self, kind: str, levels: int) -> bool:
        known = self._levels.get(kind, [])
        return len(known) - bisect_left(known, levels) < self._least


class _Reading:
    """One walk through a tree."""

    def __init__(self, defined: set[str]) -> None:
        self._defined = defined
        self.elements: dict[str, int] = {}
        self.length = 0

    def read(self, node: ast.AST) -> int:
        """Levels of the tree; what it holds is noted."""
        below = [self.read(child) for child in ast.iter_child_nodes(node) if not isinstance(child, _NOT_COUNTED)]
        levels = max(below, default=0)
        if isinstance(node, _NOT_COUNTED):
            return levels
        self.length += 1
        kind = self._kind(node)
        self.elements[kind] = max(self.elements.get(kind, 0), levels)
        return levels + 1

    def _kind(self, node: ast.AST) -> str:
        match node:
            case ast.BinOp(op=op) | ast.UnaryOp(op=op) | ast.BoolOp(op=op) | ast.AugAssign(op=op):
                told = type(op).__name__
            case ast.Compare(ops=ops):
                told = " ".join(type(op).__name__ for op in ops)
            case ast.Slice(lower=lower, upper=upper, step=step):
                told = f"{_bound(lower)}:{_bound(upper)}:{_bound(step)}"
            case ast.Call(func=ast.Name(id="range"), args=[_, _, *_] as bounds):
                told = f"range({', '.join(map(_bound, bounds))})"
            case ast.Call(func=ast.Name(id=called), args=arguments) if called not in self._defined:
                told = f"{called}/{len(arguments)}"
            case ast.Constant(value=value):
                told = type(value).__name__
            case _:
                told = ""
        return f"{type(node).__name__} {told}".rstrip()


def _bound(node: ast.expr | None) -> str:
    """A literal as it is written, nothing where there is nothing, else a mark."""
    if node is None:
        return ""
    return repr(node.value) if isinstance(node, ast.Constant) else "_"


def _defined(node: ast.AST) -> Iterable[str]:
    match node:
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.arg(arg=name):
            yield name
        case ast.Name(id=name, ctx=ast.Store()):
            yield name
