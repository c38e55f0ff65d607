"""The mutation operators and the places that they change; those by default, and wider ones.

The first five are those of arXiv 2504.05518, Table 1, as quoted by akshsgaur/code-reasoning-repro@6c43fa8; the
others are places that its tool leaves untouched. A number changes both ways, and a bool is not a number.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import msgspec

# ----------------------------------- Where a program can be changed: every node, with its place in its parent.

_ANNOTATIONS = {"annotation", "returns"}
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


class MutationSite(msgspec.Struct, frozen=True):
    """A node and where it hangs."""

    parent: ast.AST
    field: str
    index: int | None
    """Place in a list, None where the field holds the node itself."""
    node: ast.AST
    function: ast.AST | None = None
    """The function around it whose variables it sees; None at the level of the module or a class."""

    @contextmanager
    def holding(self, other: ast.AST) -> Iterator[None]:
        """The tree with another node at this place, for as long as the context lasts."""
        self.put(other)
        try:
            yield
        finally:
            self.put(self.node)

    def put(self, node: ast.AST) -> None:
        """Leave another node at this place."""
        if self.index is None:
            setattr(self.parent, self.field, node)
        else:
            getattr(self.parent, self.field)[self.index] = node


def sites(tree: ast.AST) -> Iterator[MutationSite]:
    """Every site, parents before children, in the order of the syntax tree.

    Left out: annotations, which mean nothing to an execution, and the inside of f-strings, whose positions are
    wrong before Python 3.12.
    """
    found: list[MutationSite] = []
    _note_sites(tree, None, found)
    return iter(found)


def _note_sites(tree: ast.AST, function: ast.AST | None, found: list[MutationSite]) -> None:
    """Into one list: through generators, every site would pass as many of them as it is deep."""
    if isinstance(tree, (*_FUNCTIONS, ast.ClassDef)):
        function = tree if isinstance(tree, _FUNCTIONS) else None
    for field, value in ast.iter_fields(tree):
        if field in _ANNOTATIONS:
            continue
        children = enumerate(value) if isinstance(value, list) else [(None, value)]
        for index, child in children:
            if isinstance(child, ast.AST) and not isinstance(child, ast.JoinedStr):
                found.append(MutationSite(tree, field, index, child, function))
                _note_sites(child, function, found)


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


# ------------------ Mutation operators on statements, calls and names: what the default operators leave alone.
# Kept apart from `truegrade.builders.mutation.operators.OPERATORS`, so that a file mutated by default stays the
# same byte for byte. The ideas, not the code, are those of mutpy/mutpy@5c8b3ca
# ``mutpy/operators/{misc,logical,loop,exception}.py`` (statement deletion, constant replacement, conditional
# operator insertion, zero and one iteration of a loop, exception handler deletion), boxed/mutmut@523a19c
# ``src/mutmut/mutation/mutators.py`` (argument removal, swaps of string methods) and
# sixty-north/cosmic-ray@952fe4d ``src/cosmic_ray/operators/`` (``variable_replacer``,
# ``zero_iteration_for_loop``).

_PAIRS = (
    *(("lower", "upper"), ("lstrip", "rstrip"), ("find", "rfind"), ("index", "rindex")),
    *(("ljust", "rjust"), ("partition", "rpartition"), ("removeprefix", "removesuffix")),
    *(("startswith", "endswith"), ("isupper", "islower"), ("append", "extend"), ("keys", "values")),
)
_LIKE = {one: other for pair in _PAIRS for one, other in (pair, pair[::-1])}
_LIKE |= {"strip": "lstrip", "capitalize": "title", "title": "capitalize"}

_KEPT = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom, ast.Global, ast.Nonlocal)
_BODIES = {"body", "orelse", "finalbody"}
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_OTHER_NAMES = 2
"""By which a variable is replaced: the next that its function binds."""


def delete_statement(site: MutationSite) -> Iterator[ast.AST]:
    """A statement becomes ``pass``. Definitions, imports, docstrings and declarations stay."""
    node = site.node
    if not isinstance(node, ast.stmt) or site.field not in _BODIES or isinstance(node, (*_KEPT, ast.Pass)):
        return
    is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    is_declaration = isinstance(node, ast.AnnAssign) and node.value is None
    if not is_text and not is_declaration:
        yield ast.Pass()


def negate_condition(site: MutationSite) -> Iterator[ast.AST]:
    """The condition ``a`` becomes ``not a``; the operator ``unary`` does the reverse."""
    is_condition = site.field == "test" or (isinstance(site.parent, ast.comprehension) and site.field == "ifs")
    if is_condition and isinstance(site.node, ast.expr) and not isinstance(site.node, ast.UnaryOp | ast.Constant):
        yield ast.UnaryOp(ast.Not(), site.node)


def return_none(site: MutationSite) -> Iterator[ast.AST]:
    """``return a`` becomes ``return None``."""
    if isinstance(site.parent, ast.Return) and not _is_none(site.node):
        yield ast.Constant(None)


def delete_handler(site: MutationSite) -> Iterator[ast.AST]:
    """What an exception handler does goes: it raises what it caught."""
    if isinstance(site.node, ast.ExceptHandler) and not isinstance(site.node.body[0], ast.Raise):
        yield changed(site.node, body=[ast.Raise()])


def zero_iterations(site: MutationSite) -> Iterator[ast.AST]:
    """A ``for`` has nothing to go over, and the condition of a ``while`` is false."""
    if isinstance(site.parent, ast.For) and site.field == "iter":
        yield ast.List([], ast.Load())
    if isinstance(site.parent, ast.While) and site.field == "test":
        yield ast.Constant(False)


def one_iteration(site: MutationSite) -> Iterator[ast.AST]:
    """The body of a loop ends in ``break``."""
    leaves = ast.Break | ast.Return | ast.Raise | ast.Continue
    if isinstance(site.node, ast.For | ast.While) and not isinstance(site.node.body[-1], leaves):
        yield changed(site.node, body=[*site.node.body, ast.Break()])


def remove_argument(site: MutationSite) -> Iterator[ast.AST]:
    """A call loses one of its arguments."""
    if isinstance(site.node, ast.Call):
        args, keywords = site.node.args, site.node.keywords
        for place in range(len(args)):
            yield changed(site.node, args=[*args[:place], *args[place + 1 :]])
        for place in range(len(keywords)):
            yield changed(site.node, keywords=[*keywords[:place], *keywords[place + 1 :]])


def swap_method(site: MutationSite) -> Iterator[ast.AST]:
    """A method becomes one that is easily taken for it: ``lower`` and ``upper``, ``find`` and ``rfind``."""
    if isinstance(site.parent, ast.Call) and site.field == "func" and isinstance(site.node, ast.Attribute):
        other = _LIKE.get(site.node.attr)
        if other is not None:
            yield changed(site.node, attr=other)


def change_text(site: MutationSite) -> Iterator[ast.AST]:
    """A text becomes empty, and gets other letters around it; docstrings stay."""
    match site.node:
        case ast.Constant(value=str(text)) if not isinstance(site.parent, ast.Expr):
            if text:
                yield ast.Constant("")
            yield ast.Constant(f"XX{text}XX")
            if text != text.swapcase():
                yield ast.Constant(text.swapcase())


def change_default(site: MutationSite) -> Iterator[ast.AST]:
    """The default of a parameter becomes ``None``, and ``None`` becomes 0; numbers are left to ``number``."""
    is_default = isinstance(site.parent, ast.arguments) and site.field in {"defaults", "kw_defaults"}
    if is_default and not is_number(site.node):
        yield ast.Constant(0 if _is_none(site.node) else None)


def replace_variable(site: MutationSite) -> Iterator[ast.AST]:
    """A variable is read in place of another of the same function: the two that are bound next."""
    match site.node:
        case ast.Name(id=name, ctx=ast.Load()) if site.function is not None:
            bound = _bound_in(site.function)
            if name in bound:
                place = bound.index(name)
                for other in (bound[place + 1 :] + bound[:place])[:_OTHER_NAMES]:
                    yield ast.Name(other, ast.Load())


def _bound_in(function: ast.AST) -> list[str]:
    """Parameters and variables of a function, each once, in order; not those of functions within it."""
    names: dict[str, None] = {}
    pending: list[ast.AST] = list(ast.iter_child_nodes(function))
    while pending:
        node = pending.pop(0)
        match node:
            case ast.arg(arg=name) if name not in {"self", "cls"}:
                names[name] = None
            case ast.Name(id=name, ctx=ast.Store()):
                names[name] = None
        if not isinstance(node, (*_SCOPES, *_COMPREHENSIONS)):
            pending[:0] = ast.iter_child_nodes(node)
    return list(names)


def _is_none(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


WIDER_OPERATORS: dict[str, Operator] = {
    "delete-statement": delete_statement,
    "negate-condition": negate_condition,
    "return-none": return_none,
    "delete-handler": delete_handler,
    "zero-iterations": zero_iterations,
    "one-iteration": one_iteration,
    "remove-argument": remove_argument,
    "swap-method": swap_method,
    "text": change_text,
    "default-argument": change_default,
    "replace-variable": replace_variable,
}
"""By name; used where they are named."""
