"""Code that stands in a reply without any fence, between lines of prose."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterator

from truegrade.extraction.continuations import longest_start
from truegrade.extraction.definitions import implements, without_prose
from truegrade.extraction.parsing import MAX_SOURCE_CHARS, Parser

_MAX_LINES = 2_000
"""Lines of one run of code; a longer one is read in pieces."""

_STARTS_CODE = re.compile(
    r"([ \t]*)(?:import\s+\w|from\s+[\w.]+\s+import\b|def\s+\w|async\s+def\s|class\s+\w|@\w"
    r"|[A-Za-z_]\w*+(?:[ \t]*+:[^=\n]++)?[ \t]*+=[^=])"
)


def unfenced_program(parser: Parser, text: str, entry_point: str) -> str | None:
    """All runs of lines that are code, joined, if they define the entry point.

    A run begins with an import, a definition, a decorator or an assignment and goes on as long as it compiles;
    prose does not, and lines of a doctest (``>>>``) begin none.
    """
    if entry_point not in text:
        return None
    program = "\n".join(_runs(parser, text))
    tree = parser.module(program)
    if not isinstance(tree, ast.Module) or not implements(tree, entry_point):
        return None
    return without_prose(program, tree)


def _runs(parser: Parser, text: str) -> Iterator[str]:
    lines = text.split("\n")
    at = 0
    while at < len(lines) and parser.chars_left > 0:
        start = _STARTS_CODE.match(lines[at])
        if start is None:
            at += 1
            continue
        window = _window(lines, at, start.group(1))
        run = longest_start(parser, window)
        if run is None:
            at += 1
            continue
        yield run.source.rstrip() + "\n"
        at += run.lines


def _window(lines: list[str], at: int, indent: str) -> str:
    """The lines from ``at`` on, as far as they are indented like it, less that indentation."""
    end = min(len(lines), at + _MAX_LINES)
    if indent:
        end = next((i for i in range(at, end) if lines[i].strip() and not lines[i].startswith(indent)), end)
    window = "\n".join(lines[at:end])[:MAX_SOURCE_CHARS]
    return textwrap.dedent(window) if indent else window
