"""The world that `truegrade-micro` was trained in: repair programs, their bugs, and traces of list functions."""

from __future__ import annotations

import ast
import random
import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple

import msgspec

from truegrade.builders.mutation.operators import OPERATORS, MutationSite, sites
from truegrade.datasets.identity import identity
from truegrade.files import syntax

# ----------------------------------------------------------------------------------------------------------------
# The grammar of repair programs: what is accumulated, of which values, kept by which test, met on which walk.
# A program is one choice out of each table, and its name says which: ``sum_squared_even_backwards``. The name is
# the specification, as in QuixBugs. Placeholders: ``A`` and ``B`` accumulators, ``X`` the value at hand, ``V``
# the list, ``I`` its index, ``K`` the second parameter, ``T`` the transformed value.


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


# ------------------------------ Draw repair programs from the grammar, and the arguments they are called with.

Arguments = tuple[list[int], ...] | tuple[list[int], int]
"""Of one call: the list, and the second parameter where the program has one."""

_HELD_OUT = 5
"""One program in so many is kept out of training."""

_NEIGHBOUR_WALKS = ("tail", "inner")


class GeneratedProgram(msgspec.Struct, frozen=True):
    """A correct function of the grammar."""

    name: str
    source: str
    """As `ast.unparse` lays it out; no newline at the end."""
    words: str
    """The name's parts, said at more length."""
    second: bool
    """Whether it takes a second parameter."""

    @property
    def identity(self) -> str:
        """Hash of what it is, whatever its names; see `truegrade.datasets.identity`."""
        return identity(self.source)

    @property
    def seen(self) -> bool:
        """Whether training may show it; decided by the program itself, never by chance."""
        return int(self.identity[:8], 16) % _HELD_OUT != 0


class ProgramParts(NamedTuple):
    """A choice out of each table; the names of those that are not empty, joined, are the program's name."""

    aggregate: str
    transform: str
    kept: str
    """The filter: one of the table, or two joined by ``_and_`` or ``_or_``."""
    walk: str

    @property
    def fits(self) -> bool:
        """Whether these make a program: filters that look at a neighbour need a walk from the second element."""
        transforms = AGGREGATES[self.aggregate].transforms or not self.transform
        return transforms and (self.kept not in NEIGHBOURS or self.walk in _NEIGHBOUR_WALKS)


def draw_program(rng: random.Random) -> GeneratedProgram:
    """A program of the grammar; every aggregate and walk alike, plain filters as often as joined ones."""
    return program_of(draw_parts(rng), draw_names(rng))


def draw_parts(rng: random.Random) -> ProgramParts:
    """The choices of `draw_program`."""
    aggregate = rng.choice(list(AGGREGATES))
    kept = _draw_filter(rng)
    walk = rng.choice(_NEIGHBOUR_WALKS if kept in NEIGHBOURS else list(WALKS))
    transform = ""
    if AGGREGATES[aggregate].transforms and rng.random() < 0.6:
        transform = rng.choice(list(TRANSFORMS))
    return ProgramParts(aggregate, transform, kept, walk)


def program_of(parts: ProgramParts, names: Mapping[str, str]) -> GeneratedProgram:
    """The program of these choices, its variables named as `draw_names` has them."""
    name = "_".join(filter(None, parts))
    body = _lines(*parts)
    second = re.search(r"\bK\b", body) is not None
    signature = f"def {name}(V, K):" if second else f"def {name}(V):"
    source = re.sub(r"\b[VXIABK]\b", lambda found: names[found[0]], f"{signature}\n{_indented(body)}")
    return GeneratedProgram(name, ast.unparse(syntax.parse(source)), name.replace("_", " "), second)


def draw_arguments(program: GeneratedProgram, rng: random.Random) -> Arguments:
    """Arguments of one call: up to six integers from -9 to 9, and a second one from 1 to 6."""
    values = [rng.randint(-9, 9) for _ in range(rng.randint(0, 6))]
    if values and rng.random() < 0.3:
        values.insert(rng.randrange(len(values)), rng.choice(values))
    return (values, rng.randint(1, 6)) if program.second else (values,)


def draw_names(rng: random.Random) -> dict[str, str]:
    """Placeholder -> name of a variable."""
    return {
        "V": rng.choice(LIST_NAMES),
        "X": rng.choice(ITEM_NAMES),
        "I": rng.choice(INDEX_NAMES),
        "A": rng.choice(RESULT_NAMES),
        "B": rng.choice(SECOND_NAMES),
        "K": rng.choice(LIMIT_NAMES),
    }


def _draw_filter(rng: random.Random) -> str:
    """Half of them two plain ones joined."""
    if rng.random() < 0.5:
        return rng.choice(list(FILTERS))
    one, other = rng.sample(JOINED, 2)
    word = rng.choice(("and", "or"))
    return f"{one}_{word}_{other}"


def _test(kept: str) -> str:
    """The condition that a filter stands for."""
    if kept in FILTERS:
        return FILTERS[kept]
    one, word, other = kept.split("_")
    return f"{FILTERS[one]} {word} {FILTERS[other]}"


def _lines(aggregate: str, transform: str, kept: str, walk: str) -> str:
    """The function's body, placeholders in place."""
    how = AGGREGATES[aggregate]
    turn = re.sub(r"\bT\b", TRANSFORMS[transform], how.update)
    if test := _test(kept):
        turn = f"if {test}:\n{_indented(turn)}"
    opening, closing = WALKS[walk]
    loop = f"{opening}\n{_indented(turn)}" + (f"\n    {closing}" if closing else "")
    if walk:
        loop = re.sub(r"\bX\b", "V[I]", loop)
    return f"{how.start}\n{loop}\nreturn {how.result}"


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.split("\n"))


# ------------------- Bug classes: the mutation operators of `truegrade.builders.mutation`, and one of our own.


SEEN = ("relational", "arithmetic", "augmented", "number", "keyword", "unary")
"""Classes that training shows."""

UNSEEN = ("logical", "boundary", "variable")
"""Classes kept out of training; ``variable`` puts another variable of the function where one is read."""


class Bug(msgspec.Struct, frozen=True):
    """A program with one change."""

    source: str
    kind: str
    """Name of the bug class."""


def draw_bug(source: str, kinds: tuple[str, ...], rng: random.Random) -> Bug | None:
    """One change of one of the classes, every change alike; None if the program has no place for any."""
    tree = syntax.parse(source)
    bound = _bound(tree) if "variable" in kinds else set()
    changes = [
        (kind, site, other)
        for site in sites(tree)
        for kind in kinds
        for other in (_other_names(site, bound) if kind == "variable" else OPERATORS[kind](site))
    ]
    if not changes:
        return None
    kind, site, other = rng.choice(changes)
    with site.holding(other):
        return Bug(ast.unparse(ast.fix_missing_locations(tree)), kind)


def _bound(tree: ast.AST) -> set[str]:
    """The function's parameters and variables."""
    nodes = list(ast.walk(tree))
    bound = {node.arg for node in nodes if isinstance(node, ast.arg)}
    return bound | {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}


def _other_names(site: MutationSite, bound: set[str]) -> Iterator[ast.AST]:
    """The function's other variables, where one is read."""
    if not (isinstance(site.node, ast.Name) and isinstance(site.node.ctx, ast.Load)):
        return
    if site.node.id in bound:
        yield from (ast.Name(name, ast.Load()) for name in sorted(bound - {site.node.id}))
