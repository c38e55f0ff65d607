"""The mutation operators: what one node can become.

The first five are those of arXiv 2504.05518, Table 1, as quoted by akshsgaur/code-reasoning-repro@6c43fa8; the
others are places that its tool leaves untouched. A number changes both ways, and a bool is not a number.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from truegrade.builders.mutation.sites import MutationSite

Operator = Callable[[MutationSite], Iterator[ast.AST]]
"""Gives the nodes that may stand at a site instead; none if the operator has nothing to do there."""

_Kinds = Mapping[type[Any], tuple[type[Any], ...]]

_ARITHMETIC: _Kinds = {
    ast.Add: (ast.Sub,),
    ast.Sub: (ast.Add,),
    ast.Mult: (ast.FloorDiv, ast.Add),
    ast.Div: (ast.Mult, ast.FloorDiv),
    ast.FloorDiv: (ast.Mult, ast.Mod),
    ast.Mod: (ast.FloorDiv,),
}
_POWER: _Kinds = {ast.Pow: (ast.Mult,)}
_BITWISE: _Kinds = {
    ast.BitAnd: (ast.BitOr,),
    ast.BitOr: (ast.BitAnd,),
    ast.BitXor: (ast.BitAnd, ast.BitOr),
    ast.LShift: (ast.RShift,),
    ast.RShift: (ast.LShift,),
}
_RELATIONAL: _Kinds = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
}
_MEMBERSHIP: _Kinds = {
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
}
_LOGICAL: _Kinds = {ast.And: (ast.Or,), ast.Or: (ast.And,)}


def changed(node: ast.AST, **fields: object) -> ast.AST:
    """A copy of a node with other fields; its children are shared."""
    other = copy.copy(node)
    for name, value in fields.items():
        setattr(other, name, value)
    return other


def is_number(node: object) -> bool:
    """Whether a node is an int or float literal."""
    return isinstance(node, ast.Constant) and type(node.value) in {int, float}


def number(value: float) -> ast.expr:
    """The literal of a number; a negative one is a minus before a constant, as Python parses it."""
    return ast.UnaryOp(ast.USub(), ast.Constant(-value)) if value < 0 else ast.Constant(value)


def _binary(kinds: _Kinds) -> Operator:
    def operator(site: MutationSite) -> Iterator[ast.AST]:
        if isinstance(site.node, ast.BinOp):
            for kind in kinds.get(type(site.node.op), ()):
                yield changed(site.node, op=kind())

    return operator


def _comparison(kinds: _Kinds) -> Operator:
    def operator(site: MutationSite) -> Iterator[ast.AST]:
        if isinstance(site.node, ast.Compare):
            ops = site.node.ops
            for place, op in enumerate(ops):
                for kind in kinds.get(type(op), ()):
                    yield changed(site.node, ops=[*ops[:place], kind(), *ops[place + 1 :]])

    return operator


def logical(site: MutationSite) -> Iterator[ast.AST]:
    """``and`` becomes ``or`` and the reverse."""
    if isinstance(site.node, ast.BoolOp):
        for kind in _LOGICAL[type(site.node.op)]:
            yield changed(site.node, op=kind())


def keyword(site: MutationSite) -> Iterator[ast.AST]:
    """``continue`` becomes ``break``, ``True`` becomes ``False``, and the reverse."""
    match site.node:
        case ast.Continue():
            yield ast.Break()
        case ast.Break():
            yield ast.Continue()
        case ast.Constant(value=bool(value)):
            yield ast.Constant(not value)


def numeric(site: MutationSite) -> Iterator[ast.AST]:
    """``n`` becomes ``n + 1`` and ``n - 1``; a literal with a minus is one number."""
    match site.node:
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as size) as inner):
            value, literal = -size, is_number(inner)
        case ast.Constant(value=int() | float() as value):
            literal = is_number(site.node) and not _has_minus(site)
        case _:
            return
    if literal:
        yield from (number(value + 1), number(value - 1))


def _has_minus(site: MutationSite) -> bool:
    return isinstance(site.parent, ast.UnaryOp) and isinstance(site.parent.op, ast.USub)


def augmented(site: MutationSite) -> Iterator[ast.AST]:
    """``+=`` becomes ``-=``, and so on for all that stands before an ``=``."""
    if isinstance(site.node, ast.AugAssign):
        for kinds in (_ARITHMETIC, _POWER, _BITWISE):
            for kind in kinds.get(type(site.node.op), ()):
                yield changed(site.node, op=kind())


def unary(site: MutationSite) -> Iterator[ast.AST]:
    """``not x``, ``-x`` and ``~x`` become ``x``."""
    if isinstance(site.node, ast.UnaryOp) and not isinstance(site.node.op, ast.UAdd):
        yield site.node.operand


def slices(site: MutationSite) -> Iterator[ast.AST]:
    """A bound or step of a slice goes; a bound moves inwards by one; a step changes its sign.

    Literal bounds are moved by the operator ``number``.
    """
    if not isinstance(site.node, ast.Slice):
        return
    for name, sign in (("lower", ast.Add()), ("upper", ast.Sub())):
        bound = getattr(site.node, name)
        if bound is not None:
            yield changed(site.node, **{name: None})
            if not _is_literal_number(bound):
                yield changed(site.node, **{name: ast.BinOp(bound, sign, ast.Constant(1))})
    step = site.node.step
    if step is not None:
        yield changed(site.node, step=None)
        yield changed(site.node, step=_negated(step))


def boundary(site: MutationSite) -> Iterator[ast.AST]:
    """A ``range`` begins one later, or ends one later or earlier; literal arguments are left to ``number``."""
    match site.node:
        case ast.Call(func=ast.Name(id="range"), args=[ast.expr() as stop], keywords=[]):
            yield changed(site.node, args=[ast.Constant(1), stop])
            yield from _moved(site.node, [stop], 0, (ast.Add(), ast.Sub()))
        case ast.Call(func=ast.Name(id="range"), args=[start, stop, *step], keywords=[]):
            yield from _moved(site.node, [start, stop, *step], 0, (ast.Add(),))
            yield from _moved(site.node, [start, stop, *step], 1, (ast.Add(), ast.Sub()))


def _moved(call: ast.AST, args: list[ast.expr], place: int, signs: tuple[ast.operator, ...]) -> Iterator[ast.AST]:
    """The call with one argument moved by one."""
    if not _is_literal_number(args[place]) and not isinstance(args[place], ast.Starred):
        for sign in signs:
            moved = ast.BinOp(args[place], sign, ast.Constant(1))
            yield changed(call, args=[*args[:place], moved, *args[place + 1 :]])


def _negated(node: ast.expr) -> ast.expr:
    match node:
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return operand
    return ast.UnaryOp(ast.USub(), node)


def _is_literal_number(node: ast.expr) -> bool:
    return is_number(node.operand if isinstance(node, ast.UnaryOp) else node)


OPERATORS: dict[str, Operator] = {
    "arithmetic": _binary(_ARITHMETIC),
    "relational": _comparison(_RELATIONAL),
    "logical": logical,
    "keyword": keyword,
    "number": numeric,
    "augmented": augmented,
    "unary": unary,
    "slice": slices,
    "membership": _comparison(_MEMBERSHIP),
    "power": _binary(_POWER),
    "bitwise": _binary(_BITWISE),
    "boundary": boundary,
}
"""By name, in the order in which they are tried."""
