"""Which values a parameter takes: read from its annotation, its default value, or what is done with it."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping

import msgspec

from truegrade.builders.shapes import (
    DictShape,
    ExactShape,
    ListShape,
    NumberShape,
    RecordShape,
    Shape,
    TextShape,
    UnionShape,
)
from truegrade.datasets.executions import NotRecorded
from truegrade.extraction.literals import evaluate, is_literal
from truegrade.extraction.parsing import Fault, parse_expression

_LISTS = {"list", "sequence", "iterable", "iterator", "collection", "mutablesequence", "reversible", "container"}
_SETS = {"set", "abstractset", "frozenset"}
_MAPPINGS = {"dict", "mapping", "mutablemapping"}
ANY, INT, STR, NONE = UnionShape(()), NumberShape(int), TextShape(), ExactShape((None,))
BYTES = TextShape(kind=bytes)
_SIMPLE: dict[str, Shape] = {
    **{kind.__name__: NumberShape(kind) for kind in (int, float, complex, bool)}, "str": STR, "bytes": BYTES,
}  # fmt: skip
_SERIES = UnionShape((ListShape(list, INT), STR, ListShape(list, STR), ListShape(list, ListShape(list, INT))))
_OPEN: dict[str, Shape] = {
    "Any": ANY, "object": ANY, "Hashable": ANY, "AnyStr": STR, "LiteralString": STR, "StrPath": STR,
    "PathLike": STR, "SupportsInt": INT, "SupportsIndex": INT, "Number": INT, "Sized": _SERIES,
}  # fmt: skip
"""Annotations that name no type of literals, and are filled with some."""
_TYPE_VARIABLE = re.compile(r"_?[A-Z]{1,2}\d?(_co|_contra)?")
_LIKE_A_SERIES = re.compile(r"Iter|Sized|GetItem|Sequence|Reversible")
_MAX_ALIASES = 5


class Parameter(msgspec.Struct, frozen=True):
    """A parameter of a function, and what may be given for it."""

    name: str
    shape: Shape | None
    """None: nothing is given, its default value stands."""
    optional: bool = False
    keyword: bool = False
    """It is given by its name only."""
    many: bool = False
    """It takes any number of arguments, ``*name``."""


Aliases = Mapping[str, ast.expr]


def parameters_of(
    function: ast.FunctionDef, stub: ast.FunctionDef | None = None, aliases: Aliases | None = None
) -> tuple[Parameter, ...]:
    """The parameters that arguments can be drawn for, in their order.

    Args:
        function: as it stands in the module.
        stub: as it stands in the ``.pyi`` beside it; its annotations count where the function has none.
        aliases: what the module's names for types stand for.

    Raises:
        NotRecorded: the function takes no argument, or needs one that no literal can fill.
    """
    arguments = function.args
    annotations = _annotations(stub) | _annotations(function)
    positional = [*arguments.posonlyargs, *arguments.args]
    missing = len(positional) - len(arguments.defaults)
    defaults = [None] * missing + arguments.defaults
    found = []
    for argument, default in [
        *zip(positional, defaults, strict=True),
        *zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True),
        *([(arguments.vararg, None)] if arguments.vararg else []),
    ]:
        many = argument is arguments.vararg
        annotation = annotations.get(argument.arg)
        shape = _shape(function, argument.arg, annotation, default, aliases or {})
        if shape is None and default is None and not many:
            needed = "" if annotation is None else f": {argument.arg}: {ast.unparse(annotation)}"
            raise NotRecorded(f"it needs an argument that no literal can be{needed}")
        keyword = argument in arguments.kwonlyargs
        found.append(Parameter(argument.arg, shape, optional=default is not None, keyword=keyword, many=many))
    if all(parameter.shape is None for parameter in found):
        raise NotRecorded("it takes no argument that a literal could be")
    return tuple(found)


def _annotations(function: ast.FunctionDef | None) -> dict[str, ast.expr]:
    nodes = ast.walk(function.args) if function is not None else ()
    return {node.arg: node.annotation for node in nodes if isinstance(node, ast.arg) and node.annotation}


def _shape(
    function: ast.FunctionDef, name: str, annotation: ast.expr | None, default: ast.expr | None, aliases: Aliases
) -> Shape | None:
    if annotation is not None:
        return shape_of(annotation, aliases)
    if function.args.vararg is not None and function.args.vararg.arg == name:
        return ANY
    if default is not None:
        return _of_default(default) or _of_use(function, name)
    return _of_use(function, name) or ANY


def shape_of(annotation: ast.expr, aliases: Aliases | None = None, depth: int = _MAX_ALIASES) -> Shape | None:
    """The shape that an annotation names; None for one that literals cannot fill."""
    shape: Shape | None = None
    known = aliases or {}
    match annotation:
        case ast.Constant(value=None):
            shape = NONE
        case ast.Constant(value=str(text)):
            quoted = parse_expression(text)
            shape = None if isinstance(quoted, Fault) else shape_of(quoted, known, depth)
        case ast.Name(id=name) | ast.Attribute(attr=name):
            shape = _bare(name)
            if shape is None and name in known and depth:
                shape = shape_of(known[name], known, depth - 1)
        case ast.Call(func=ast.Name(id="NewType") | ast.Attribute(attr="NewType"), args=[_, base]):
            shape = shape_of(base, known, depth)
        case ast.Call(func=ast.Name(id="TypeVar") | ast.Attribute(attr="TypeVar"), args=[_, *choices]):
            shape = _either(choices, known, depth) if choices else ANY
        case ast.BinOp(op=ast.BitOr(), left=left, right=right):
            shape = _either([left, right], known, depth)
        case ast.Subscript(value=ast.Name(id=name) | ast.Attribute(attr=name), slice=inside):
            shape = _generic(name, inside.elts if isinstance(inside, ast.Tuple) else [inside], known, depth)
    return shape


def _bare(name: str) -> Shape | None:
    plain = name.lower()  # `List` of typing, `Sequence` of either module
    if name in _SIMPLE:
        return _SIMPLE[name]
    if plain in _LISTS | _SETS:
        return ListShape(list if plain in _LISTS else set, INT)
    if plain in _MAPPINGS:
        return DictShape(STR, INT)
    return _OPEN.get(name) or (ANY if _TYPE_VARIABLE.fullmatch(name) else None)


def _generic(name: str, inside: list[ast.expr], aliases: Aliases, depth: int) -> Shape | None:
    if name == "Literal":
        return ExactShape(tuple(map(evaluate, inside))) if all(map(is_literal, inside)) else None
    if name == "Union":
        return _either(inside, aliases, depth)
    if name == "Optional":
        return _either([*inside, ast.Constant(value=None)], aliases, depth)
    if name == "PathLike":
        return STR
    endless = name.lower() == "tuple" and len(inside) == 2 and isinstance(inside[1], ast.Constant)
    shapes = [shape_of(each, aliases, depth) for each in inside[: 1 if endless else None]]
    known = [shape for shape in shapes if shape is not None]
    if endless and known:
        return ListShape(tuple, known[0])
    return _container(name, known) if len(known) == len(shapes) else _series(name, known)


def _container(name: str, inside: list[Shape]) -> Shape | None:
    plain = name.lower()
    if plain == "tuple":
        return RecordShape(tuple, tuple(inside))
    if plain in _LISTS and len(inside) == 1:
        return ListShape(list, inside[0])
    if plain in _SETS and len(inside) == 1 and _is_hashable(inside[0]):
        return ListShape(set, inside[0])
    if plain in _MAPPINGS and len(inside) == 2 and _is_hashable(inside[0]):
        return DictShape(inside[0], inside[1])
    return _series(name, inside)


def _is_hashable(shape: Shape) -> bool:
    """Whether values drawn from it may be items of a set."""
    return isinstance(shape, RecordShape | ExactShape) or shape in (ANY, INT, STR, NumberShape(bool))


def _series(name: str, inside: list[Shape]) -> Shape | None:
    """A protocol by whose name a list fits it; what it holds is named last."""
    return ListShape(list, inside[-1]) if inside and _LIKE_A_SERIES.search(name) else None


def _either(choices: list[ast.expr], aliases: Aliases, depth: int) -> Shape | None:
    """The members of a union that literals can fill."""
    shapes = [shape_of(choice, aliases, depth) for choice in choices]
    known = tuple(shape for shape in shapes if shape is not None)
    return UnionShape(known) if known else None


def _of_default(default: ast.expr) -> Shape | None:
    """The type of a default value other than None."""
    if not is_literal(default):
        return None
    value = evaluate(default)
    return _bare(type(value).__name__) if value is not None else None


def _of_use(function: ast.FunctionDef, name: str) -> Shape | None:
    """What has every method called on the parameter, else what is done with it: counted, walked, compared."""
    nodes = list(ast.walk(function))
    used = {
        node.attr
        for node in nodes
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == name
    }
    fitting = [kind for kind in (str, list, dict, int, set) if used and used <= set(dir(kind))]
    if used:
        shapes = tuple(shape for kind in fitting if (shape := _bare(kind.__name__)) is not None)
        return UnionShape(shapes) if len(shapes) > 1 else next(iter(shapes), None)
    hints = [hint for node in nodes if (hint := _hint(node, name)) is not None]
    return max(hints, key=hints.count) if hints else None


def _hint(node: ast.AST, name: str) -> Shape | None:
    """What one expression says of a parameter."""

    def mentioned(tree: ast.AST) -> bool:
        return isinstance(tree, ast.Name) and tree.id == name

    match node:
        case ast.BinOp(left=left, right=right, op=op) if mentioned(left) or mentioned(right):
            other = right if mentioned(left) else left
            text = isinstance(other, ast.Constant) and isinstance(other.value, str)
            unclear = text or (isinstance(op, ast.Add | ast.Mod) and not is_literal(other))
            return None if unclear else INT
        case ast.Compare(left=left, comparators=[other]) if mentioned(left) and is_literal(other):
            value = evaluate(other)
            return _bare(type(value).__name__) if type(value) in {int, float, str} else None
        case ast.Call(func=ast.Name(id="range" | "abs" | "bin" | "chr"), args=args) if any(map(mentioned, args)):
            return INT
        case ast.Call(
            func=ast.Name(id="len" | "sorted" | "enumerate" | "iter" | "zip" | "list" | "tuple"), args=args
        ):
            return _SERIES if any(map(mentioned, args)) else None
        case ast.For(iter=each) | ast.comprehension(iter=each) | ast.Subscript(value=each) if mentioned(each):
            return _SERIES
    return None
