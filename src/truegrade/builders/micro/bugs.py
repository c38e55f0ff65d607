"""Bug classes: the mutation operators of `truegrade.builders.mutation`, and one of our own."""

from __future__ import annotations

import ast
import random
from collections.abc import Iterator

import msgspec

from truegrade.builders.mutation.operators import OPERATORS
from truegrade.builders.mutation.sites import MutationSite, sites

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
    tree = ast.parse(source)
    bound = _bound(tree)
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
