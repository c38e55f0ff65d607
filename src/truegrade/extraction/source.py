"""The text of a tree's nodes, in time that does not grow with the number of nodes asked for."""

from __future__ import annotations

import ast
import re

_NEWLINE = re.compile(rb"\r\n|\r|\n")
_LINE_END = re.compile(rb"(?:[ \t\f]*;)?(?:[ \t\f]*#[^\r\n]*)?")
_COMMENT_LINE = re.compile(rb"[ \t\f]*+(?:(?:\r\n|\r(?!\n)|\n)([ \t\f]*+))+#[^\r\n]*")


class SourceText:
    """Text by the positions of tree nodes, which count lines and UTF-8 bytes.

    What `ast.get_source_segment` gives, which splits the whole source into lines for every node.
    """

    def __init__(self, text: str) -> None:
        self._bytes = text.encode("utf-8")
        self._starts = [0, *(newline.end() for newline in _NEWLINE.finditer(self._bytes))]

    def text_of(self, node: ast.stmt) -> str:
        """The statement as it is written."""
        return self._text(node, self._end(node))

    def text_with_comments(self, node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> str:
        """A definition with the comments that tree-sitter-python counts in behind its last statement.

        They are one on that line, and lines of comment as far as they are indented like the body or more.
        """
        first = self._starts[node.body[0].lineno - 1]
        indent = self._bytes[first : first + node.body[0].col_offset]
        end = self._end(node)
        if found := _LINE_END.match(self._bytes, end):
            end = found.end()
        if not indent.strip():
            while (found := _COMMENT_LINE.match(self._bytes, end)) and _width(found[1]) >= _width(indent):
                end = found.end()
        return self._text(node, end)

    def _text(self, node: ast.stmt, end: int) -> str:
        return self._bytes[self._starts[node.lineno - 1] + node.col_offset : end].decode("utf-8")

    def _end(self, node: ast.stmt) -> int:
        assert node.end_lineno is not None and node.end_col_offset is not None
        return self._starts[node.end_lineno - 1] + node.end_col_offset


def _width(indent: bytes) -> int:
    return len(indent.expandtabs(8))
