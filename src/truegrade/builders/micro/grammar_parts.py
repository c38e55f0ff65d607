"""The grammar of repair programs: what is accumulated, of which values, kept by which test, met on which walk.

A program is one choice out of each table, and its name says which: ``sum_squared_even_backwards``. The name is
the specification, as in QuixBugs. Placeholders: ``A`` and ``B`` accumulators, ``X`` the value at hand, ``V`` the
list, ``I`` its index, ``K`` the second parameter, ``T`` the transformed value.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import msgspec


class Aggregate(msgspec.Struct, frozen=True):
    """How values become the result."""

    start: str
    update: str
    result: str = "A"
    transforms: bool = True
    """Whether the value matters, so that it can be transformed first."""


AGGREGATES: Mapping[str, Aggregate] = MappingProxyType(
    {
        "sum": Aggregate("A = 0", "A += T"),
        "count": Aggregate("A = 0", "A += 1", transforms=False),
        "product": Aggregate("A = 1", "A *= T"),
        "list": Aggregate("A = []", "A.append(T)"),
        "reversed": Aggregate("A = []", "A = [T] + A"),
        "largest": Aggregate("A = None", "if A is None or T > A:\n    A = T"),
        "smallest": Aggregate("A = None", "if A is None or T < A:\n    A = T"),
        "first": Aggregate("A = None", "if A is None:\n    A = T"),
        "last": Aggregate("A = None", "A = T"),
        "distinct": Aggregate("A = []", "if T not in A:\n    A.append(T)"),
        "running": Aggregate("A = []\nB = 0", "B += T\nA.append(B)"),
        "mean": Aggregate("A = 0\nB = 0", "A += T\nB += 1", "A // B if B > 0 else 0"),
        "difference": Aggregate("A = 0", "A = T - A"),
        "horner": Aggregate("A = 0", "A = A * 2 + T"),
        "any": Aggregate("A = False", "A = True", transforms=False),
        "none": Aggregate("A = True", "A = False", transforms=False),
        "share": Aggregate("A = 0", "A += 1", "A * 100 // len(V) if len(V) > 0 else 0", transforms=False),
        "twice": Aggregate("A = []", "A.append(T)\nA.append(T)"),
    }
)

TRANSFORMS: Mapping[str, str] = MappingProxyType(
    {
        "": "X",
        "squared": "X * X",
        "doubled": "X * 2",
        "negated": "-X",
        "halved": "X // 2",
        "next": "X + 1",
        "previous": "X - 1",
        "mod": "X % K",
        "plus": "X + K",
        "minus": "X - K",
        "capped": "min(X, K)",
        "floored": "max(X, K)",
        "distance": "abs(X - K)",
    }
)

FILTERS: Mapping[str, str] = MappingProxyType(
    {
        "": "",
        "even": "X % 2 == 0",
        "odd": "X % 2 == 1",
        "positive": "X > 0",
        "negative": "X < 0",
        "nonzero": "X != 0",
        "below": "X < K",
        "above": "X > K",
        "upto": "X <= K",
        "from": "X >= K",
        "not": "X != K",
        "multiple": "X % K == 0",
        "between": "X > 0 and X < K",
        "outside": "X < 0 or X > K",
        "rising": "X > V[I - 1]",
        "falling": "X < V[I - 1]",
        "repeated": "X == V[I - 1]",
    }
)

JOINED = ("even", "odd", "positive", "negative", "nonzero", "below", "above", "upto", "from", "not", "multiple")
"""Filters that two by two, with ``and`` or ``or``, make further ones."""

NEIGHBOURS = frozenset({"rising", "falling", "repeated"})
"""Filters that look at the element before: they need a walk that begins at the second."""

WALKS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "": ("for X in V:", ""),
        "indexed": ("for I in range(len(V)):", ""),
        "tail": ("for I in range(1, len(V)):", ""),
        "butlast": ("for I in range(len(V) - 1):", ""),
        "inner": ("for I in range(1, len(V) - 1):", ""),
        "backwards": ("for I in range(len(V) - 1, -1, -1):", ""),
        "step": ("for I in range(0, len(V), 2):", ""),
        "while": ("I = 0\nwhile I < len(V):", "I += 1"),
        "down": ("I = len(V) - 1\nwhile I >= 0:", "I -= 1"),
        "leap": ("I = 0\nwhile I < len(V):", "I += 2"),
    }
)
"""Lines that open the loop, and what ends each turn; walks with an index read ``V[I]`` for ``X``."""

LIST_NAMES = ("values", "numbers", "items", "data", "arr", "xs", "seq", "nums")
ITEM_NAMES = ("x", "value", "item", "n", "element", "v", "num")
INDEX_NAMES = ("i", "j", "index", "pos", "p")
RESULT_NAMES = ("total", "result", "acc", "out", "res", "r", "answer")
SECOND_NAMES = ("current", "extra", "s", "part", "inner")
LIMIT_NAMES = ("k", "limit", "bound", "m", "threshold", "d")
