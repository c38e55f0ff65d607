"""Asserts out of a test designer's reply, each a small program of its own. Reads text; runs nothing."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from truegrade.extraction.continuations import longest_start
from truegrade.extraction.fences import fenced_blocks
from truegrade.extraction.parsing import Parser, SourceText, unix_newlines
from truegrade.extraction.thinking import Weight, final_channel

MAX_TESTS = 50
"""Of more asserts in one reply only the first count."""

_ASSERT_LINES = 20
"""How many lines an assert may have, where the block around it does not parse."""

_SETUP = ast.Import | ast.ImportFrom | ast.Assign | ast.AnnAssign | ast.FunctionDef | ast.ClassDef


def parse_tests(reply: str, entry_point: str) -> tuple[str, ...]:
    """The top-level asserts that call ``entry_point``, each behind the imports and values defined before it.

    What binds ``entry_point`` itself is left out, so that no test brings the function that it tests; so are
    statements that only do something, such as ``sys.exit()``. A block that does not parse as a whole, because the
    reply was cut, gives the asserts that do. Duplicates count once.
    """
    text = unix_newlines(final_channel(reply, _holds_assert).text)
    parser = Parser()
    tests: dict[str, None] = {}
    for source in [fence.code for fence in fenced_blocks(text)] or [text]:
        for test in _tests(parser, source, entry_point):
            tests.setdefault(test)
            if len(tests) == MAX_TESTS:
                return tuple(tests)
    return tuple(tests)


def _holds_assert(text: str) -> Weight:
    return Weight.ANSWER if "assert" in text else Weight.NOTHING


def _tests(parser: Parser, source: str, entry_point: str) -> Iterator[str]:
    setup: list[str] = []
    for statement, code in _statements(parser, source):
        if isinstance(statement, ast.Assert):
            if _calls(statement, entry_point):
                yield "\n".join([*setup, code])
        elif isinstance(statement, _SETUP) and not _binds(statement, entry_point):
            setup.append(code)


def _statements(parser: Parser, source: str) -> Iterator[tuple[ast.stmt, str]]:
    """The statements of a block with their source; behind the line where reading it stops, its asserts alone."""
    start = longest_start(parser, source)
    if start is not None:
        written = SourceText(start.source)
        for statement in start.tree.body:
            yield statement, written.text_of(statement)
    lines = source.split("\n")[start.lines if start else 0 :]
    for number, line in enumerate(lines):
        if line.lstrip().startswith("assert"):
            yield from _assert_from(parser, lines[number : number + _ASSERT_LINES])


def _assert_from(parser: Parser, lines: list[str]) -> Iterator[tuple[ast.stmt, str]]:
    """The shortest start of the lines that is one assert."""
    for end in range(1, len(lines) + 1):
        code = "\n".join([lines[0].lstrip(), *lines[1:end]])
        tree = parser.module(code)
        if isinstance(tree, ast.Module):
            if isinstance(tree.body[0], ast.Assert):
                yield tree.body[0], ast.get_source_segment(code, tree.body[0]) or ""
            return


def _calls(node: ast.AST, name: str) -> bool:
    return any(
        isinstance(part, ast.Call) and isinstance(part.func, ast.Name) and part.func.id == name
        for part in ast.walk(node)
    )


def _binds(node: ast.AST, name: str) -> bool:
    """Whether a statement defines, imports or assigns a name, at any depth."""
    for part in ast.walk(node):
        match part:
            case ast.FunctionDef(name=bound) | ast.AsyncFunctionDef(name=bound) | ast.ClassDef(name=bound):
                found = bound == name
            case ast.alias(name=bound, asname=renamed):
                found = name == (renamed or bound) or bound == "*"
            case ast.Name(id=bound, ctx=ast.Store()):
                found = bound == name
            case _:
                found = False
        if found:
            return True
    return False
