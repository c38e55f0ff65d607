"""When two programs are the same: equal but for layout, names, annotations and docstrings.

Which programs hold syntax that the originals of their set do not, or hold it nested deeper.

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
import builtins
import symtable
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import TypeVar

import msgspec

from truegrade.extraction.parsing import quietly
from truegrade.files import syntax
from truegrade.records import sha256_json

# ----------------------------------------------------------------------------------------------------------------
# The names that a program reads and does not bind: what must be imported, or defined elsewhere, for it to run.


_BUILTINS = frozenset(dir(builtins))


def free_names(program: str) -> tuple[str, ...]:
    """Names read but bound nowhere in the program, built-ins excepted; sorted.

    Raises:
        SyntaxError: the text is no program.
    """
    top = symtable.symtable(program, "<program>", "exec")
    bound = {symbol.get_name() for symbol in top.get_symbols() if symbol.is_assigned() or symbol.is_imported()}
    read = {name for table in _tables(top) for name in _global_reads(table)}
    return tuple(sorted(read - bound - _BUILTINS))


def _tables(table: symtable.SymbolTable) -> Iterator[symtable.SymbolTable]:
    yield table
    for child in table.get_children():
        yield from _tables(child)


def _global_reads(table: symtable.SymbolTable) -> Iterator[str]:
    at_top = table.get_type() == "module"
    for symbol in table.get_symbols():
        # In a function that is named ``top``, `symtable` takes what is bound for global as well.
        if symbol.is_referenced() and (at_top or (symbol.is_global() and not symbol.is_local())):
            yield symbol.get_name()


# --------------------------- Programs without their docstrings, which often hold the very answers as examples.


Node = TypeVar("Node", bound=ast.AST)


def without_docstrings(tree: Node) -> Node:
    """The tree with every function's and class's docstring taken out; the tree given is changed."""
    inside: list[ast.AST] = [tree]
    while inside:
        node = inside.pop()
        # No definition stands in an expression, of which most of a tree consists.
        inside += [one for one in ast.iter_child_nodes(node) if not isinstance(one, ast.expr)]
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Module):
            continue
        if ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:] or ([] if isinstance(node, ast.Module) else [ast.Pass()])
    return tree


@lru_cache(4096)  # what decides about a program asks for it again and again
def identity(program: str) -> str:
    """A hash that equal programs share.

    Names that the program itself binds (functions, parameters, variables) are numbered in the order of their
    appearance; names that it only reads, such as built-ins, stay.

    Raises:
        SyntaxError: the text is no program.
    """
    tree = without_docstrings(syntax.parse(program))
    bound = {name: f"_{number}" for number, name in enumerate(dict.fromkeys(_bound_names(tree)))}
    return sha256_json(_spelled(_Plain(bound).visit(tree)))


def _spelled(node: object, named: Callable[[str], str] = str) -> str:
    """The tree as ``ast.dump`` of CPython 3.11 writes it, under every version.

    Identities are compared with those of other machines and years: they decide which programs no model was trained
    on. ``ast.dump`` writes ``type_params=[]`` since 3.12 and leaves empty lists out since 3.13.

    Args:
        node: of the tree.
        named: gives every identifier its name; those of modules to import and constants are none.
    """
    if isinstance(node, list):
        return f"[{', '.join(_spelled(each, named) for each in node)}]"
    if not isinstance(node, ast.AST):
        return repr(named(node) if isinstance(node, str) else node)
    written = []
    for name in node._fields:
        value = getattr(node, name, None)
        left_out = value is None and getattr(type(node), name, ...) is None
        if not (left_out or (name == "type_params" and not value)):
            fixed = isinstance(node, ast.Constant) or (type(node), name) in _MODULES
            written.append(f"{name}={_spelled(value, str if fixed else named)}")
    return f"{type(node).__name__}({', '.join(written)})"


_MODULES = frozenset({(ast.ImportFrom, "module"), (ast.alias, "name")})
"""Fields that name what lies outside the program."""


@lru_cache(maxsize=8192)
def name_free_identity(source: str) -> str:
    """Hash that programs share which differ in the names that they give, layout, annotations and docstrings apart.

    `program_identity` leaves out the names of functions, parameters and variables. Here also those of attributes,
    caught exceptions, imports, and matched values are numbered in the order of their appearance. What the program
    only reads, such as built-ins, methods of built-in types and what its imports hold, keeps its name.
    Text that does not parse has the hash of `program_identity`.
    """
    text = without_notes(source)
    try:
        with quietly():
            tree = without_docstrings(syntax.parse(text))
            given = set(_given_names(tree))
            plain = _Plain({name: name for name in given}).visit(tree)
            numbers: dict[str, str] = {}

            def named(name: str) -> str:
                return numbers.setdefault(name, f"_{len(numbers)}") if name in given else name

            return sha256_json(["name-free", _spelled(plain, named)])
    except (SyntaxError, ValueError, RecursionError):
        return program_identity(source)


def _given_names(tree: ast.AST) -> Iterator[str]:
    """Every name that the program gives to something of its own."""
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case (
                ast.arg(arg=name) | ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store())
            ):
                yield name
            case (
                ast.ExceptHandler(name=str(name))
                | ast.alias(asname=str(name))
                | ast.MatchAs(name=str(name))
                | ast.MatchStar(name=str(name))
                | ast.MatchMapping(rest=str(name))
            ):
                yield name


def _bound_names(tree: ast.AST) -> list[str]:
    """Every name the program binds, in the order of the tree, imports excepted: they keep their meaning."""
    names = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            if isinstance(node.ctx, ast.Store):
                names.append(node.id)
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.append(node.name)
        elif isinstance(node, ast.arg):
            names.append(node.arg)
    return names


class _Plain(ast.NodeTransformer):
    """Rewrites a tree into the form in which equal programs are equal."""

    def __init__(self, bound: dict[str, str]) -> None:
        self._bound = bound

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """Without name and annotations."""
        node.name, node.returns = self._bound[node.name], None
        return self.generic_visit(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        """Without its name."""
        node.name = self._bound[node.name]
        return self.generic_visit(node)

    def visit_arg(self, node: ast.arg) -> ast.AST:
        """Without name and annotation."""
        return ast.arg(arg=self._bound[node.arg])

    def visit_keyword(self, node: ast.keyword) -> ast.AST:
        """A keyword argument follows its parameter."""
        if node.arg is not None:
            node.arg = self._bound.get(node.arg, node.arg)
        return self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        """An assignment without its annotation."""
        if node.value is None:
            return ast.Pass()
        return self.generic_visit(ast.Assign(targets=[node.target], value=node.value))

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.AST:
        """Without the empty texts that early releases of Python 3.12 leave between the parts."""
        node.values = [part for part in node.values if not (isinstance(part, ast.Constant) and part.value == "")]
        return self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        """The number of a bound name."""
        return ast.Name(id=self._bound.get(node.id, node.id), ctx=node.ctx)


def without_notes(source: str) -> str:
    """The program without strings at module level, and without blank lines around it.

    QuixBugs keeps the specification behind each buggy program and alternative solutions behind 15 correct ones,
    one of them wrong (sieve.py), in such strings. Text that is no program is returned as it is.
    """
    notes = {number for first, last in _note_lines(source) for number in range(first, last + 1)}
    lines = source.splitlines()
    return "\n".join(line for number, line in enumerate(lines, 1) if number not in notes).strip("\n").rstrip()


def notes_of(source: str) -> str:
    """The strings at module level, as they stand; a blank line between two of them."""
    lines = source.splitlines()
    return "\n\n".join("\n".join(lines[first - 1 : last]) for first, last in _note_lines(source))


@lru_cache(maxsize=8192)
def program_identity(source: str) -> str:
    """Hash that equal programs share, notes left out; of the bare text where it does not parse."""
    text = without_notes(source)
    try:
        with quietly():
            return identity(text)
    except (SyntaxError, ValueError, RecursionError):
        return sha256_json(text.strip())


def _note_lines(source: str) -> list[tuple[int, int]]:
    """First and last line, from 1, of each string that is a statement of the module."""
    try:
        with quietly():
            body = syntax.parse(source).body
    except (SyntaxError, ValueError, RecursionError):
        return []
    return [
        (node.lineno, node.end_lineno or node.lineno)
        for node in body
        if isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    ]


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
            tree = syntax.parse(code)
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
