"""The mutants of the published tool, with its order and its defects.

Rules: akshsgaur/code-reasoning-repro@6561a25 ``src/datasets/leetcode/simple_mutator.py``. Five categories in a
fixed order, at most 100 mutants in each, numbered as they are met; a number grows by one where its place is even
and shrinks where it is odd; a bool counts as a number too, so that ``True`` becomes 2. The copy for DSL-List turns
``*`` into ``/``, not into ``//`` as here. Left out, unlike there: annotations and f-strings.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import islice

from truegrade.builders.mutation.operators import changed, keyword, logical, number
from truegrade.builders.mutation.sites import MutationSite, sites

CATEGORIES = ("arithmetic", "relational", "logical", "keyword", "number")
MOST_OF_A_CATEGORY = 100

_ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
}
_RELATIONAL: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
}


def published_changes(tree: ast.Module) -> Iterator[tuple[str, MutationSite, ast.AST]]:
    """Category, site and new node of each mutant, in the order in which the tool tries them."""
    for category in CATEGORIES:
        for site, new in islice(_numbered(category, tree), MOST_OF_A_CATEGORY):
            yield category, site, new


def _numbered(category: str, tree: ast.Module) -> Iterator[tuple[MutationSite, ast.AST]]:
    place = 0
    for site in sites(tree):
        for new in _changes(category, site, place):
            place += 1
            yield site, new


def _changes(category: str, site: MutationSite, place: int) -> Iterator[ast.AST]:
    """What the tool makes of a node that is the ``place``-th of its category."""
    match category, site.node:
        case "arithmetic", ast.BinOp(op=op) if type(op) in _ARITHMETIC:
            yield changed(site.node, op=_ARITHMETIC[type(op)]())
        case "relational", ast.Compare(ops=ops):
            for index, compared in enumerate(ops):
                if type(compared) in _RELATIONAL:
                    new = _RELATIONAL[type(compared)]()
                    yield changed(site.node, ops=[*ops[:index], new, *ops[index + 1 :]])
        case "logical", ast.BoolOp():
            yield from logical(site)
        case "keyword", _:
            yield from keyword(site)
        case "number", ast.Constant(value=int() | float() as value):
            yield number(value + 1 if place % 2 == 0 else value - 1)
