"""A loop over a range, written as a function that calls itself on the two halves of it.

The depth is the logarithm of the number of rounds, so that no limit on recursion is met.
"""

from __future__ import annotations

import ast

from truegrade.assay.probes.rewriting_parts import movable, within
from truegrade.builders.mutation.preserving.names import all_names, fresh, is_builtin

_BARRED = (
    *(ast.Break, ast.Continue, ast.Return, ast.Yield, ast.YieldFrom, ast.Await, ast.AsyncFor, ast.AsyncWith),
    *(ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda, ast.Import, ast.ImportFrom, ast.Delete),
    *(ast.Try, ast.TryStar, ast.With, ast.Match, ast.NamedExpr, ast.Global, ast.Nonlocal),
)
"""What a body must not hold: it leaves the loop, or binds names in another way than by assignment."""


def recursion_for_loop(tree: ast.Module, entry_point: str) -> str | None:
    """The first loop of the entry point over a ``range``, whose body only assigns and calls, becomes recursion."""
    entry = movable(tree, entry_point)
    if entry is None or not is_builtin(tree, "range") or not is_builtin(tree, "len"):
        return None
    if any(isinstance(node, ast.Global | ast.Nonlocal) for node in within(entry.body)):
        return None
    body = _holding(entry.body)
    if body is None:
        return None
    place = next(place for place, node in enumerate(body) if _is_plain_loop(node))
    loop = body[place]
    assert isinstance(loop, ast.For)
    body[place : place + 1] = _written(loop, all_names(tree))
    return ast.unparse(ast.fix_missing_locations(tree))


def _holding(body: list[ast.stmt]) -> list[ast.stmt] | None:
    """The list of statements that holds the first plain loop: of the function itself, or of a branch in it.

    Loops within loops are left alone, since a function would be made in each round.
    """
    for node in body:
        if _is_plain_loop(node):
            return body
        if isinstance(node, ast.If):
            found = _holding(node.body) or _holding(node.orelse)
            if found is not None:
                return found
    return None


def _is_plain_loop(node: ast.stmt) -> bool:
    match node:
        case ast.For(target=ast.Name(), iter=ast.Call(func=ast.Name(id="range"), args=[*args], keywords=[])):
            if any(isinstance(argument, ast.Starred) for argument in args) or node.orelse:
                return False
            return not any(isinstance(part, _BARRED) for part in within(node.body))
    return False


def _written(loop: ast.For, taken: set[str]) -> list[ast.stmt]:
    """The function and its first call. The variables of the loop stay those of the function around it."""
    assert isinstance(loop.target, ast.Name)
    target = loop.target.id
    part, rounds, low, high, middle = (fresh(base, taken) for base in ("part", "rounds", "low", "high", "middle"))
    bound = {target} | {
        node.id for node in within(loop.body) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
    shell = ast.parse(
        f"""
{rounds} = 0
if False:
    {" = ".join(sorted(bound))} = None
def {part}({low}, {high}):
    nonlocal {", ".join(sorted(bound))}
    if {high} - {low} == 1:
        {target} = {rounds}[{low}]
    elif {high} > {low}:
        {middle} = ({low} + {high}) // 2
        {part}({low}, {middle})
        {part}({middle}, {high})
{part}(0, len({rounds}))
"""
    ).body
    start, function = shell[0], shell[2]
    assert isinstance(start, ast.Assign)
    assert isinstance(function, ast.FunctionDef)
    start.value = loop.iter
    leaf = function.body[1]
    assert isinstance(leaf, ast.If)
    leaf.body += loop.body
    return shell
