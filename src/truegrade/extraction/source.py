"""The text of a tree's nodes, in time that does not grow with the number of nodes asked for."""

from __future__ import annotations

import ast
import re

_NEWLINE = re.compile(rb"\r\n|\r|\n")


class SourceText:
    """Text by the positions of tree nodes, which count lines and UTF-8 bytes.

    What `ast.get_source_segment` gives, which splits the whole source into lines for every node.
    """

    def __init__(self, text: str) -> None:
        self._bytes = text.encode("utf-8")
        self._starts = [0, *(newline.end() for newline in _NEWLINE.finditer(self._bytes))]

    def text_of(self, node: ast.stmt) -> str:
        """The statement as it is written."""
        assert node.end_lineno is not None and node.end_col_offset is not None
        start = self._starts[node.lineno - 1] + node.col_offset
        return self._bytes[start : self._starts[node.end_lineno - 1] + node.end_col_offset].decode("utf-8")
