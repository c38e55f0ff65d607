"""Which programs are not worth asking about: rules on the tree of the Python expression.

The rules of akshsgaur/code-reasoning-repro@6c43fa8 src/datasets/dsl/neural_pcfg.py: every parameter is used; no
``len([])``; nothing mapped over, filtered or taken out of ``[]``; no equal sides of a comparison, operands of a
boolean operator, branches of a conditional or summands; no integer literal left of a comparison; no negative
literal but as an index. And some of ours: a lambda uses all its variables and is not the identity, a variable
enters every condition, and nothing is subtracted from, divided by or compared by ``max`` and ``min`` with
itself.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from truegrade.builders.dsl_list.operations import PARAMETER, VARIABLES


def degenerate(tree: ast.expr) -> str | None:
    """The first rule that an expression breaks, in a few words; None if it breaks none."""
    if PARAMETER not in _names(tree):
        return "the parameter is not used"
    return next((broken for node in ast.walk(tree) for broken in _broken(node)), None)


def _broken(node: ast.AST) -> Iterator[str]:
    yield from _equal_parts(node)
    match node:
        case ast.Compare(left=ast.Constant(value=value)) if type(value) is int:
            yield "an integer stands left of a comparison"
        case ast.IfExp(test=test) if not _names(test) & {PARAMETER, *VARIABLES}:
            yield "a condition is constant"
        case ast.Call(func=ast.Name(id="len" | "map" | "filter"), args=[*_, ast.List(elts=[])]):
            yield "a function of the empty list"
        case ast.Subscript(value=ast.List(elts=[])):
            yield "something is taken out of the empty list"
        case ast.Lambda(body=ast.Name()):
            yield "a lambda gives back a variable"
        case ast.Lambda(args=arguments, body=body) if {each.arg for each in arguments.args} - _names(body):
            yield "a lambda does not use its variable"
    yield from _negative_literals(node)


def _equal_parts(node: ast.AST) -> Iterator[str]:
    """Parts that ought to differ and do not; a number times itself is a square and may stay."""
    parts: list[ast.expr] = []
    match node:
        case ast.Compare(left=left, comparators=others):
            parts = [left, *others]
        case ast.BoolOp(values=values):
            parts = values
        case ast.IfExp(body=body, orelse=orelse):
            parts = [body, orelse]
        case ast.BinOp(op=operator, left=left, right=right) if not isinstance(operator, ast.Mult):
            parts = [left, right]
        case ast.Call(func=ast.Name(id="max" | "min"), args=arguments):
            parts = arguments
    if len({ast.dump(part) for part in parts}) < len(parts):
        yield f"equal parts of a {type(node).__name__}"


def _negative_literals(node: ast.AST) -> Iterator[str]:
    """A negative literal anywhere but directly as an index."""
    for field, child in ast.iter_fields(node):
        children = child if isinstance(child, list) else [child]
        negative = any(
            isinstance(each, ast.UnaryOp)
            and isinstance(each.op, ast.USub)
            and isinstance(each.operand, ast.Constant)
            for each in children
        )
        if negative and not (isinstance(node, ast.Subscript) and field == "slice"):
            yield "a negative literal outside an index"


def _names(tree: ast.AST) -> set[str]:
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
