"""Right programs made by rule: a reference in other words, of which none changes what it returns."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from truegrade.assay.probes.grader_rewritings import GRADER_REWRITINGS
from truegrade.assay.records import Probe, probe_id
from truegrade.builders.mutation import REWRITINGS
from truegrade.builders.mutation.mutant_sources import NotAProgram, normalised, parse


def rewrites(problem_id: str, reference: str, entry_point: str) -> list[Probe]:
    """The reference after each rewriting that applies to it: six of `truegrade.builders.mutation.REWRITINGS`, and
    those of `GRADER_REWRITINGS`.

    Args:
        problem_id: of the problem.
        reference: a right program, whole.
        entry_point: the function that is called; empty for a program on stdin.

    Returns:
        One probe a rewriting, of class ``right``, the origin its name; none for a reference that is no program of
        this version of Python. That a program is right follows from the reference, which the oracle checks.
    """
    try:
        plain = normalised(reference)
        made = list(_made(plain, entry_point))
    except (NotAProgram, RecursionError):
        return []
    return [
        Probe(
            id=probe_id(problem_id, "right", name, code),
            problem_id=problem_id,
            kind="right",
            origin=name,
            code=code,
            label="right",
        )
        for name, code in made
    ]


def _made(plain: str, entry_point: str) -> Iterator[tuple[str, str]]:
    """Name and program of each rewriting that changes something."""
    for name in REWRITINGS:
        code = _preserved(name, parse(plain), entry_point)
        if code != plain:
            yield name, code
    for name, rewriting in GRADER_REWRITINGS.items():
        written = rewriting(parse(plain), entry_point)
        if written is not None:
            yield name, written


def _preserved(name: str, tree: ast.Module, entry_point: str) -> str:
    """The tree after one of `REWRITINGS`; the entry point's parameters keep their names, which callers may use."""
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name == entry_point]
    called = [
        ast.keyword(argument.arg, ast.Constant(None))
        for function in functions
        for argument in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)
    ]
    call = ast.Expr(ast.Call(ast.Name(entry_point or "print", ast.Load()), [], list(_once(called))))
    tree.body.append(call)  # a name that a call passes by keyword is not changed
    tree = REWRITINGS[name](tree)
    tree.body.pop()
    return ast.unparse(ast.fix_missing_locations(tree))


def _once(keywords: list[ast.keyword]) -> Iterator[ast.keyword]:
    yield from {keyword.arg: keyword for keyword in keywords}.values()
