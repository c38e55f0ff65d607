"""Completions of base models: text that goes on where the prompt's code ends.

Whatever human-eval's plain concatenation accepts is kept whole (openai/human-eval ``human_eval/execution.py``
@6d43fb9: ``prompt + completion + "\\n" + test``). Only where that does not compile is the text re-indented, or cut
at the first line that cannot be kept.
"""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass

from truegrade.extraction.definitions import implements, returns, without_prose
from truegrade.extraction.parsing import MAX_SOURCE_CHARS, Fault, Parser
from truegrade.extraction.thinking import BARRED

_MAX_CUTS = 40
_CODE_LINE = re.compile(r"^([ \t]+)\S", re.MULTILINE)
_STOP_TOKEN = re.compile(rf"{BARRED}|</s>|<file_sep>|<eos>")


def continues(
    parser: Parser, text: str, entry_point: str, prefix: str, *, may_be_prose: bool = False
) -> str | None:
    """The text, re-indented if need be, with which ``prefix`` compiles and gives the entry point a body.

    Args:
        parser: pays for the reading.
        text: what follows the prefix.
        entry_point: function that the prefix begins.
        prefix: trusted code.
        may_be_prose: ask for a ``return`` or ``yield``, since one word of prose also is a body.
    """
    for candidate in _indentations(text, prefix):
        tree = parser.module(prefix + candidate)
        if isinstance(tree, ast.Module) and implements(tree, entry_point):
            if may_be_prose and not returns(tree, entry_point):
                continue
            return _clean(prefix, candidate, tree)
    return None


def continues_up_to_garbage(parser: Parser, text: str, entry_point: str, prefix: str) -> str | None:
    """Like `continues`, but of the text only the first lines, as many as compile."""
    for candidate in _indentations(text, prefix):
        start = longest_start(parser, candidate[: MAX_SOURCE_CHARS - len(prefix)], after=prefix)
        if start is not None and implements(start.tree, entry_point):
            return _clean(prefix, start.source, start.tree)
    return None


@dataclass(frozen=True, slots=True)
class Start:
    """The first lines of a text that compile, and the tree of them (with what they stand behind)."""

    source: str
    tree: ast.Module

    @property
    def lines(self) -> int:
        """Number of lines kept."""
        return self.source.count("\n") + 1


def longest_start(parser: Parser, text: str, *, after: str = "") -> Start | None:
    """The longest run of first lines of the text that compiles behind ``after``; None if not one line does.

    Python reports the first token with which no program can go on, so cutting before its line mostly succeeds at
    once; a statement left incomplete by the cut is dropped line by line.
    """
    lines, line_before = text.split("\n"), after.count("\n")
    for _ in range(_MAX_CUTS):
        source = "\n".join(lines)
        result = parser.module(after + source)
        if not isinstance(result, Fault):
            return Start(source, result)
        keep = min(len(lines) - 1, max(0, result.line - line_before - 1))
        while keep > 0 and not lines[keep - 1].strip():
            keep -= 1
        if keep <= 0:
            return None
        del lines[keep:]
    return None


def without_stop_token(text: str) -> str:
    """The text before the first stop token that a tokenizer wrote out."""
    return _STOP_TOKEN.split(text, maxsplit=1)[0]


def _indentations(text: str, prefix: str) -> Iterator[str]:
    """The text as it is; then with only its first line moved; then all of it moved to the prefix's indentation.

    Chat services strip replies, which takes the first line's indentation away.
    """
    yield text
    inner = _CODE_LINE.findall(prefix)
    indent = inner[-1] if inner else "    "
    start = "" if not prefix or prefix.endswith("\n") else "\n"
    body = text.lstrip("\n")
    if body[:1] not in {" ", "\t"}:
        yield start + indent + body
    first, newline, rest = body.partition("\n")
    level = textwrap.dedent(body) if first[:1] in {" ", "\t"} else first + newline + textwrap.dedent(rest)
    for flat in dict.fromkeys((textwrap.dedent(body), level)):
        yield start + textwrap.indent(flat, indent)


def _clean(prefix: str, text: str, tree: ast.Module) -> str:
    """The text without words at module level behind the prefix."""
    return without_prose(prefix + text, tree, prefix.count("\n") + 1)[len(prefix) :]
