"""Program text as the engine handles it: normalised, and cut at the byte offsets that `ast` reports."""

from __future__ import annotations

import ast

from truegrade.extraction.parsing import MAX_SOURCE_CHARS, Fault, Parser, quietly

Span = tuple[int, int, int, int]
"""Line, column, end line, end column; lines from 1, columns in bytes from 0."""

_MOST_ROUNDS = 3


class NotAProgram(Exception):
    """Text that does not parse, or that `ast.unparse` cannot write stably; the message says which."""


def parse(code: str) -> ast.Module:
    """The tree of a program.

    Raises:
        NotAProgram: it does not compile.
    """
    tree = Parser(MAX_SOURCE_CHARS + 1).module(code)
    if isinstance(tree, Fault):
        raise NotAProgram(f"the program does not compile (its line {tree.line})")
    return tree


def normalised(code: str) -> str:
    """The program as `ast.unparse` writes it: without comments, in one layout. Normalising again changes nothing.

    Raises:
        NotAProgram: it does not compile, or has no stable form.
    """
    text = ast.unparse(parse(code))
    for _ in range(_MOST_ROUNDS):
        again = ast.unparse(parse(text))
        if again == text:
            return text
        text = again
    raise NotAProgram("the program has no stable form under ast.unparse")


def is_normalised(code: str) -> bool:
    """Whether `normalised` would leave the text as it is."""
    try:
        with quietly():
            return ast.unparse(ast.parse(code)) == code
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False


class Text:
    """A source in UTF-8, addressed by `ast`'s lines and columns."""

    def __init__(self, source: str) -> None:
        self.data = source.encode()
        self._starts = [0]
        for line in self.data.split(b"\n"):
            self._starts.append(self._starts[-1] + len(line) + 1)

    def offset(self, line: int, column: int) -> int:
        """Byte offset of a place."""
        return self._starts[line - 1] + column

    def place(self, offset: int) -> tuple[int, int]:
        """Line and column of a byte offset."""
        line = self.data.count(b"\n", 0, offset) + 1
        return line, offset - self._starts[line - 1]

    def bounds(self, node: ast.AST) -> tuple[int, int]:
        """Byte offsets at which a node begins and ends."""
        begin, end = begin_of(node), end_of(node)
        return self.offset(*begin), self.offset(*end)

    def span(self, begin: int, end: int) -> Span:
        """Lines and columns of a range of bytes."""
        return (*self.place(begin), *self.place(end))


def begin_of(node: ast.AST) -> tuple[int, int]:
    """Line and column at which a node begins."""
    return node.lineno, node.col_offset  # type: ignore[attr-defined]  # every node that is mutated has them


def end_of(node: ast.AST) -> tuple[int, int]:
    """Line and column after a node's last byte."""
    return node.end_lineno, node.end_col_offset  # type: ignore[attr-defined]
