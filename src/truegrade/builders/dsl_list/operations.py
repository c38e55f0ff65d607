"""The operations of the list language: name, types and the Python that each one is.

``published`` has the operations of DSL-List (DreamCoder's list language as DeepSynth carries it; the Python of
each is described in akshsgaur/code-reasoning-repro@6c43fa8 src/datasets/dsl/neural_pcfg.py), with lists of
integers for its polymorphic ones: lists of lists only give programs that wrap and unwrap. ``extended`` adds
folds, slices, zips and the like, since strong models answer nearly all of the published language.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType

import msgspec


class Type(StrEnum):
    """Type of an expression."""

    INT = "int"
    BOOL = "bool"
    LIST = "list[int]"


class Argument(msgspec.Struct, frozen=True):
    """A place for an expression. ``binders`` integer variables, ``x`` and then ``y``, may be used in it."""

    type: Type
    binders: int = 0


class Operation(msgspec.Struct, frozen=True):
    """A production of the grammar."""

    name: str
    result: Type
    arguments: tuple[Argument, ...] = ()
    python: str = ""
    """An expression; ``_0``, ``_1``, ... stand for the arguments."""
    imports: str = ""
    """A statement that the expression needs."""
    binders: int = 0
    """How many variables must be bound around it: 1 for ``x``, 2 for ``y``."""


PARAMETER = "a1"
VARIABLES = ("x", "y")
CONSTANTS = range(6)

_INT, _BOOL, _LIST = Argument(Type.INT), Argument(Type.BOOL), Argument(Type.LIST)
_OF_X, _TEST_OF_X, _OF_X_Y = Argument(Type.INT, 1), Argument(Type.BOOL, 1), Argument(Type.INT, 2)

_TERMINALS = (
    Operation(PARAMETER, Type.LIST, (), PARAMETER),
    Operation("empty", Type.LIST, (), "[]"),
    *(Operation(str(number), Type.INT, (), str(number)) for number in CONSTANTS),
    *(Operation(name, Type.INT, (), name, binders=count) for count, name in enumerate(VARIABLES, 1)),
)
_PUBLISHED = (
    *_TERMINALS,
    Operation("append", Type.LIST, (_INT, _LIST), "_1 + [_0]"),
    Operation("cons", Type.LIST, (_INT, _LIST), "[_0] + _1"),
    Operation("car", Type.INT, (_LIST,), "_0[0]"),
    Operation("cdr", Type.LIST, (_LIST,), "_0[1:]"),
    Operation("length", Type.INT, (_LIST,), "len(_0)"),
    Operation("index", Type.INT, (_INT, _LIST), "_1[_0]"),
    Operation("+", Type.INT, (_INT, _INT), "_0 + _1"),
    Operation("-", Type.INT, (_INT, _INT), "_0 - _1"),
    Operation("*", Type.INT, (_INT, _INT), "_0 * _1"),
    # before `mod` and `eq?`: read from Python, the three together are one `is-mod`
    Operation("is-mod", Type.BOOL, (_INT, _INT), "_1 % _0 == 0"),
    Operation("mod", Type.INT, (_INT, _INT), "_0 % _1"),
    Operation("max", Type.INT, (_INT, _INT), "max(_0, _1)"),
    Operation("min", Type.INT, (_INT, _INT), "min(_0, _1)"),
    Operation("gt?", Type.BOOL, (_INT, _INT), "_0 > _1"),
    Operation("le?", Type.BOOL, (_INT, _INT), "_0 <= _1"),
    Operation("eq?", Type.BOOL, (_INT, _INT), "_0 == _1"),
    Operation("not", Type.BOOL, (_BOOL,), "not _0"),
    Operation("if", Type.LIST, (_BOOL, _LIST, _LIST), "_1 if _0 else _2"),
    Operation("if-int", Type.INT, (_BOOL, _INT, _INT), "_1 if _0 else _2"),
    Operation("range", Type.LIST, (_INT,), "list(range(_0))"),
    Operation("map", Type.LIST, (_OF_X, _LIST), "list(map(lambda x: _0, _1))"),
    Operation("filter", Type.LIST, (_TEST_OF_X, _LIST), "list(filter(lambda x: _0, _1))"),
    Operation("is-prime", Type.BOOL, (_INT,), "_0 >= 2 and all(_0 % i for i in range(2, _0))"),
    Operation("is-square", Type.BOOL, (_INT,), "any(i * i == _0 for i in range(_0 + 1))"),
)
_EXTENDED = (
    *_PUBLISHED,
    Operation("sum", Type.INT, (_LIST,), "sum(_0)"),
    Operation("sort", Type.LIST, (_LIST,), "sorted(_0)"),
    Operation("reverse", Type.LIST, (_LIST,), "_0[::-1]"),
    Operation("take", Type.LIST, (_INT, _LIST), "_1[:_0]"),
    Operation("drop", Type.LIST, (_INT, _LIST), "_1[_0:]"),
    Operation("slice", Type.LIST, (_INT, _INT, _LIST), "_2[_0:_1]"),
    Operation("every", Type.LIST, (_INT, _LIST), "_1[::_0]"),
    Operation("last", Type.INT, (_LIST,), "_0[-1]"),
    Operation("concat", Type.LIST, (_LIST, _LIST), "_0 + _1"),
    Operation("largest", Type.INT, (_LIST,), "max(_0)"),
    Operation("smallest", Type.INT, (_LIST,), "min(_0)"),
    Operation("count", Type.INT, (_INT, _LIST), "_1.count(_0)"),
    Operation("unique", Type.LIST, (_LIST,), "list(dict.fromkeys(_0))"),
    Operation("member?", Type.BOOL, (_INT, _LIST), "_0 in _1"),
    Operation("abs", Type.INT, (_INT,), "abs(_0)"),
    Operation("div", Type.INT, (_INT, _INT), "_0 // _1"),
    Operation("and", Type.BOOL, (_BOOL, _BOOL), "_0 and _1"),
    Operation("or", Type.BOOL, (_BOOL, _BOOL), "_0 or _1"),
    Operation("zip", Type.LIST, (_OF_X_Y, _LIST, _LIST), "list(map(lambda x, y: _0, _1, _2))"),
    Operation(
        "fold",
        Type.INT,
        (_OF_X_Y, _INT, _LIST),
        "reduce(lambda x, y: _0, _2, _1)",
        imports="from functools import reduce",
    ),
)

GRAMMARS: Mapping[str, Mapping[str, Operation]] = MappingProxyType(
    {
        name: MappingProxyType({operation.name: operation for operation in operations})
        for name, operations in {"published": _PUBLISHED, "extended": _EXTENDED}.items()
    }
)
"""Operations by name, by grammar."""
