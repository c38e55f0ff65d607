"""Arguments that are no literals and still plain: ``'ab'.upper()``, ``dict(a=1)``, ``lambda x: x < 2``.

Twelve of CRUXEval's 800 own inputs are written so. Only syntax decides, and nothing is evaluated here: the
expression runs where the program runs. Refused is what could forge a result instead of being an input: attributes
other than the methods of plain values (a generator's ``gi_frame`` leads to the builtins), builtins that make types
or reach the interpreter, assignment, and calls beside a name of the program, whose state they could change.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator

from truegrade.extraction.equalities import parse_call
from truegrade.extraction.parsing import Fault, Parser

MAX_CHARS = 2_000

_PLAIN = frozenset(
    {
        *("bool", "bytes", "complex", "dict", "float", "frozenset", "int", "list", "set", "slice", "str", "tuple"),
        *(
            "abs",
            "chr",
            "divmod",
            "enumerate",
            "filter",
            "len",
            "map",
            "max",
            "min",
            "ord",
            "pow",
            "range",
            "repr",
        ),
        *("reversed", "round", "sorted", "sum", "zip"),
    }
)
"""Builtins that make plain values of plain values."""
_METHODS = frozenset(
    name
    for kind in (str, bytes, int, float, complex, list, tuple, set, frozenset, dict, range, slice)
    for name in dir(kind)
    if not name.startswith("_")
)
_ALLOWED = (
    *(ast.Constant, ast.List, ast.Tuple, ast.Set, ast.Dict, ast.JoinedStr, ast.FormattedValue),
    *(ast.UnaryOp, ast.BinOp, ast.BoolOp, ast.Compare, ast.IfExp, ast.Subscript, ast.Slice),
    *(ast.Call, ast.keyword, ast.Attribute, ast.Name, ast.Lambda, ast.arguments, ast.arg),
    *(ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.comprehension),
    *(ast.operator, ast.unaryop, ast.boolop, ast.cmpop, ast.expr_context),
)


def computed_arguments(text: str, program: str = "") -> str | None:
    """The argument text in Python's own layout; None unless every argument is a plain expression.

    Args:
        text: what stands between the parentheses of a call.
        program: the program that is called; names that it binds at its top level may be used.
    """
    call = parse_call("f", text) if len(text) <= MAX_CHARS else None
    if call is None or not isinstance(call.func, ast.Name):
        return None
    parts: list[ast.AST] = [*call.args, *call.keywords]
    nodes = [node for part in parts for node in ast.walk(part)]
    local = {node.arg for node in nodes if isinstance(node, ast.arg)}
    local |= {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    if not all(_plain(node, local) for node in nodes):
        return None
    free = {node.id for node in nodes if isinstance(node, ast.Name)} - local - _PLAIN
    calls = any(isinstance(node, ast.Call | ast.Attribute) for node in nodes)
    if free and (calls or not free <= set(_bound(program))):
        return None
    return ", ".join(map(ast.unparse, parts))


def _plain(node: ast.AST, local: set[str]) -> bool:
    if not isinstance(node, _ALLOWED):
        return False
    if isinstance(node, ast.keyword):
        return node.arg is not None
    if isinstance(node, ast.Attribute):
        return node.attr in _METHODS
    if isinstance(node, ast.Name):
        return node.id in local | _PLAIN or not (hasattr(builtins, node.id) or node.id.startswith("_"))
    return True


def _bound(program: str) -> Iterator[str]:
    """Names that a program assigns at its top level."""
    tree = Parser().module(program)
    for statement in [] if isinstance(tree, Fault) else tree.body:
        if isinstance(statement, ast.Assign | ast.AnnAssign):
            for node in ast.walk(statement):
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                    yield node.id
