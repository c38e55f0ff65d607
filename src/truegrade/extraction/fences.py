"""Fenced code blocks of markdown, as models really write them.

The rules are those of CommonMark 0.31 section 4.5 (three or more back-ticks or tildes, closed by at least as many)
loosened where a stricter reading loses code: any indentation, an opening fence behind prose, a closing fence
behind the last line of code, a block on one line, and no closing fence at all.
"""

from __future__ import annotations

import ast
import html
import re
import textwrap
from collections.abc import Iterator

import msgspec

from truegrade.extraction.continuations import longest_start
from truegrade.extraction.definitions import implements, without_prose
from truegrade.extraction.parsing import MAX_SOURCE_CHARS, Parser

_OPENING = re.compile(r"([ \t>]*)(.*?)(`{3,}|~{3,})[ \t]*(\{?\.?[\w+#.-]*\}?)([^`\n]*)\Z", re.DOTALL)
_ONE_LINE = re.compile(r"[ \t]*(`{3,})([^`]+)\1[ \t\r]*\Z")
_LANGUAGES = frozenset({"python", "py", "python3", "python2", "py3"})
_HTML = re.compile(r"<pre\b[^<>]{0,200}>[ \t]*<code\b[^<>]{0,200}>(?:[ \t]*\n)?", re.IGNORECASE)
_HTML_END = re.compile(r"</code>", re.IGNORECASE)
_MAX_MARK_LINE = 300
"""A longer line is not taken for a fence; keeps hostile lines cheap."""


class Fence(msgspec.Struct, frozen=True):
    """One fenced block. ``text[start:end]`` is its content as it stands, indentation included."""

    language: str
    """First word of the info string, in lower case; often empty."""
    code: str
    """The content, less the indentation of the opening fence, with its last newline."""
    start: int
    end: int
    closed: bool


def fenced_blocks(text: str) -> list[Fence]:
    """All fenced blocks in order. Offsets are into ``text``; nothing raises; the time is linear."""
    if "```" not in text and "~~~" not in text:
        return []
    return list(_blocks(text))


def code_blocks(parser: Parser, text: str) -> list[Fence]:
    """The fenced blocks; without any, those in HTML's ``<pre><code>``, unless the text itself is Python."""
    fenced = fenced_blocks(text)
    if fenced or _HTML.search(text) is None or isinstance(parser.module(text), ast.Module):
        return fenced
    return list(_html_blocks(text))


def without_fence_lines(text: str) -> str:
    """The text with every line that only opens or closes a fence made empty."""
    return re.sub(r"^[ \t]*(?:`{3,}|~{3,})[ \t]*[\w+#.{}-]{0,40}[ \t\r]*$", "", text, flags=re.MULTILINE)


def _html_blocks(text: str) -> Iterator[Fence]:
    opened = _HTML.search(text)
    while opened is not None:
        closing = _HTML_END.search(text, opened.end())
        end = closing.start() if closing else len(text)
        code = text[opened.end() : end]
        # Models also write code there as it is; what holds a `<` was not escaped.
        plain = code if "<" in code else html.unescape(code)
        yield Fence("", f"{plain}\n", opened.end(), end, closed=closing is not None)
        opened = _HTML.search(text, end)


def _lines(text: str) -> Iterator[tuple[int, str]]:
    start = 0
    while start < len(text):
        end = text.find("\n", start) + 1 or len(text)
        yield start, text[start:end]
        start = end


def _blocks(text: str) -> Iterator[Fence]:
    mark, indent, language, content = "", "", "", 0
    for start, line in _lines(text):
        if not mark:
            if (single := _on_one_line(line, start)) is not None:
                yield single
            elif (opening := _opening(line)) is not None:
                indent, mark, language = opening
                content = start + len(line)
        elif (kept := _closing(line, mark)) is not None:
            end = start + kept
            yield Fence(language, _outdent(text[content:end], indent), content, end, closed=True)
            mark = ""
    if mark:
        yield Fence(language, _outdent(text[content:], indent), content, len(text), closed=False)


def _opening(line: str) -> tuple[str, str, str] | None:
    """Indentation, fence and language of a line that opens a block."""
    if len(line) > _MAX_MARK_LINE or ("```" not in line and "~~~" not in line):
        return None
    match = _OPENING.match(line.rstrip())
    if match is None:
        return None
    indent, before, mark, language, info = match.groups()
    if before and (mark[0] == "~" or info.strip() or before.endswith("`")):
        return None
    return indent, mark, language.strip("{}.").lower()


def _closing(line: str, mark: str) -> int | None:
    """How many characters of the line belong to the block that this line closes; None if it closes nothing."""
    bare = line.rstrip()
    if not bare.endswith(mark):
        return None
    before = bare.rstrip(mark[0])
    if not before.strip(" \t>"):
        return 0
    return len(before) if mark[0] not in before else None  # `return x` with the fence behind it


def _on_one_line(line: str, start: int) -> Fence | None:
    if len(line) > _MAX_MARK_LINE or "```" not in line:
        return None
    match = _ONE_LINE.match(line.rstrip("\n"))
    if match is None:
        return None
    first, _, rest = match.group(2).strip().partition(" ")
    language, code = (first.lower(), rest) if first.lower() in _LANGUAGES else ("", match.group(2).strip())
    return Fence(language, code + "\n", start + match.start(2), start + match.end(2), closed=True)


def _outdent(code: str, indent: str) -> str:
    """The code less up to ``len(indent)`` leading blanks (or quote marks) of each line."""
    if not indent:
        return code
    blank = r"[ \t>]" if ">" in indent else r"[ \t]"
    return re.sub(rf"^{blank}{{1,{len(indent)}}}", "", code, flags=re.MULTILINE)


# -------------------------------------- Code that stands in a reply without any fence, between lines of prose.


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
