"""Programs of the list language: written as Python and as s-expressions, and read back from Python.

One table serves both ways: an operation's Python is a template to fill in and a pattern to match.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterable, Mapping
from functools import cache

import msgspec

from truegrade.builders.dsl_list.operations import PARAMETER, VARIABLES, Operation, Type


class Term(msgspec.Struct, frozen=True):
    """An operation applied to its arguments."""

    operation: Operation
    arguments: tuple[Term, ...] = ()

    @property
    def depth(self) -> int:
        """Levels of the tree; a terminal has one."""
        return 1 + max((argument.depth for argument in self.arguments), default=0)

    @property
    def size(self) -> int:
        """Operations in the tree."""
        return 1 + sum(argument.size for argument in self.arguments)

    def operations(self) -> Iterable[Operation]:
        """Every operation of the tree, from the top."""
        yield self.operation
        for argument in self.arguments:
            yield from argument.operations()

    def __str__(self) -> str:
        if not self.arguments:
            return self.operation.name
        written = []
        for place, argument in zip(self.operation.arguments, self.arguments, strict=True):
            variables = " ".join(VARIABLES[: place.binders])
            written.append(f"(lambda ({variables}) {argument})" if place.binders else str(argument))
        return f"({self.operation.name} {' '.join(written)})"


def source(term: Term, name: str) -> str:
    """The Python function that a term is; ends with a newline.

    The layout is that of `ast.unparse`, so that a mutant cannot be told from its original by parentheses.
    """
    imports = "".join(f"{line}\n" for line in sorted({used.imports for used in term.operations()} - {""}))
    return f"{imports}def {name}({PARAMETER}):\n    return {ast.unparse(expression(term))}\n"


def expression(term: Term) -> ast.expr:
    """The Python expression that a term is."""
    arguments = {f"_{index}": expression(argument) for index, argument in enumerate(term.arguments)}
    filled: ast.expr = _Fill(arguments).visit(copy.deepcopy(_template(term.operation.python)))
    return filled


def read_program(code: str, operations: Mapping[str, Operation]) -> Term | None:
    """The term that a function of one parameter with one ``return`` is; None if the language lacks it."""
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError):
        return None
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    if len(functions) != 1 or len(functions[0].args.args) != 1:
        return None
    returned = functions[0].body[-1]
    if not isinstance(returned, ast.Return) or returned.value is None:
        return None
    named = _Rename({functions[0].args.args[0].arg: PARAMETER}).visit(returned.value)
    readings = (_read(named, wanted, 0, operations) for wanted in (Type.LIST, Type.BOOL, Type.INT))
    return next((term for term in readings if term is not None), None)


def _read(node: ast.AST, wanted: Type, scope: int, operations: Mapping[str, Operation]) -> Term | None:
    """The term of type ``wanted`` that an expression is; the first operation that fits."""
    for operation in operations.values():
        if operation.result is not wanted or operation.binders > scope:
            continue
        found: dict[str, ast.AST] = {}
        if not _match(_template(operation.python), node, found):
            continue
        arguments = [
            _read(found[f"_{index}"], place.type, max(scope, place.binders), operations)
            for index, place in enumerate(operation.arguments)
        ]
        if None not in arguments:
            return Term(operation, tuple(argument for argument in arguments if argument is not None))
    return None


def _match(pattern: object, node: object, found: dict[str, ast.AST]) -> bool:
    """Whether a tree is the pattern with its places filled; ``found`` gets what fills them."""
    if isinstance(pattern, ast.Name) and pattern.id.startswith("_") and isinstance(node, ast.AST):
        earlier = found.setdefault(pattern.id, node)
        return earlier is node or ast.dump(earlier) == ast.dump(node)
    if type(pattern) is not type(node):
        return False
    if isinstance(pattern, ast.AST):
        fields = (field for field in pattern._fields if field not in {"ctx", "kind", "type_comment"})
        return all(_match(getattr(pattern, name), getattr(node, name, None), found) for name in fields)
    if isinstance(pattern, list) and isinstance(node, list):
        return len(pattern) == len(node) and all(
            _match(one, other, found) for one, other in zip(pattern, node, strict=True)
        )
    return pattern == node


@cache
def _template(python: str) -> ast.expr:
    return ast.parse(python, mode="eval").body


class _Fill(ast.NodeTransformer):
    """Puts expressions into the places of a template."""

    def __init__(self, arguments: Mapping[str, ast.expr]) -> None:
        self._arguments = arguments

    def visit_Name(self, node: ast.Name) -> ast.AST:
        """The argument that belongs here, or the name itself."""
        # a copy for each place: `ast.unparse` remembers by node whether it needs parentheses
        return copy.deepcopy(self._arguments[node.id]) if node.id in self._arguments else node


class _Rename(ast.NodeTransformer):
    """Gives the parameter and the variables of lambdas the names of the language."""

    def __init__(self, names: dict[str, str]) -> None:
        self._names = names

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        """A lambda over ``x``, ``y``."""
        inner = dict(zip((arg.arg for arg in node.args.args), VARIABLES, strict=False))
        node.args.args = [ast.arg(arg=inner.get(arg.arg, arg.arg)) for arg in node.args.args]
        node.body = _Rename(self._names | inner).visit(node.body)
        return node

    def visit_Name(self, node: ast.Name) -> ast.AST:
        """The name of the language."""
        return ast.Name(id=self._names.get(node.id, node.id), ctx=node.ctx)
