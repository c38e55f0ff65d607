"""All mutants of a program: each one change, in one span of its text, under a stable id."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from truegrade.builders.mutation.mutant_sources import NotAProgram, Span, Text, is_normalised, normalised, parse
from truegrade.builders.mutation.mutation_options import PUBLISHED, MutationOptions
from truegrade.builders.mutation.operators import OPERATORS
from truegrade.builders.mutation.published import published_changes
from truegrade.builders.mutation.sites import MutationSite, sites
from truegrade.builders.mutation.wider_operators import WIDER_OPERATORS
from truegrade.extraction.parsing import quietly
from truegrade.records import sha256_json

_ID_CHARS = 12
ProgramChange = tuple[str, MutationSite, ast.AST]
"""Operator, site, and the node that takes its place."""


@dataclass(frozen=True, kw_only=True)
class Mutant:
    """A program that differs from the original in one span."""

    id: str
    """Hash of operator, span and replacement: the same source gives the same id."""
    operator: str
    code: str
    span: Span
    """Of the text that was replaced, in the original."""
    new_end: tuple[int, int]
    """Line and column after the replacement, in the mutant."""
    before: str
    after: str


def mutants_of(code: str, options: MutationOptions) -> list[Mutant]:
    """Every mutant of a program by the operators asked for, without doubles, in the order of the operators.

    Args:
        code: the program: its normal form (`sources.normalised`), or any text if ``options.raw``.

    Raises:
        NotAProgram: the code does not compile.
    """
    tree, text = parse(code), Text(code)
    make = _patched if options.raw else rewritten
    found: dict[str, Mutant] = {}
    for operator, site, new in changes_of(tree, options):
        mutant = make(tree, text, operator, site, new)
        if mutant is not None and mutant.code != code:
            found.setdefault(mutant.code, mutant)
    return list(found.values())


def changes_of(tree: ast.Module, options: MutationOptions) -> Iterable[ProgramChange]:
    """Every change to a program by the operators asked for, in their order; what it makes is not yet written."""
    if options.operators == (PUBLISHED,):
        return published_changes(tree)
    places, known = list(sites(tree)), OPERATORS | WIDER_OPERATORS
    return ((name, site, new) for name in options.operators for site in places for new in known[name](site))


def rewritten(tree: ast.Module, text: Text, operator: str, site: MutationSite, new: ast.AST) -> Mutant | None:
    """The mutant of a normal form, in normal form; None if it has none."""
    with site.holding(new):
        code = ast.unparse(tree)
    if not is_normalised(code):
        return None
    data = code.encode()
    # A change may shed or gain the brackets around it, `(not a) + b` -> `a + b`: then they are part of the span.
    for begin, end in _with_brackets(text, *text.bounds(site.node)):
        tail = len(text.data) - end
        if data[:begin] == text.data[:begin] and data[len(data) - tail :] == text.data[end:]:
            return _mutant(operator, text, begin, end, data[begin : len(data) - tail])
    return None


def _with_brackets(text: Text, begin: int, end: int) -> Iterator[tuple[int, int]]:
    """A range, and the ranges that also take in the brackets directly around it."""
    yield begin, end
    while text.data[begin - 1 : begin] == b"(" and text.data[end : end + 1] == b")":
        begin, end = begin - 1, end + 1
        yield begin, end


def _patched(tree: ast.Module, text: Text, operator: str, site: MutationSite, new: ast.AST) -> Mutant | None:
    """The original's text with one span replaced; None if no replacement in place has the meaning wanted."""
    with site.holding(new):
        wanted = ast.dump(tree)
    written = ast.unparse(new)
    begin, end = text.bounds(site.node)
    for after in (written, f"({written})"):
        mutant = _mutant(operator, text, begin, end, after.encode())
        try:
            with quietly():
                meant = ast.dump(ast.parse(mutant.code)) == wanted
        except SyntaxError:
            continue
        if meant and not _same_program(mutant.code, text.data.decode()):
            return mutant
    return None


def _same_program(one: str, other: str) -> bool:
    try:
        return normalised(one) == normalised(other)
    except NotAProgram:
        return True


def _mutant(operator: str, text: Text, begin: int, end: int, replacement: bytes) -> Mutant:
    span = text.span(begin, end)
    code = (text.data[:begin] + replacement + text.data[end:]).decode()
    after = replacement.decode()
    return Mutant(
        id=sha256_json([operator, span, after])[:_ID_CHARS],
        operator=operator,
        code=code,
        span=span,
        new_end=Text(code).place(begin + len(replacement)),
        before=text.data[begin:end].decode(),
        after=after,
    )
