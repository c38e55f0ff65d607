"""Two questions about a completion's text, answered without running it: is there a program, and is it whole?"""

from __future__ import annotations

import io
import re
import tokenize

from truegrade.extraction.fences import fenced_blocks
from truegrade.extraction.parsing import MAX_SOURCE_CHARS, Fault, Parser, unix_newlines

_COMMENT_OR_FENCE = re.compile(r"^[ \t]*(?:#.*|`{3,}.*|~{3,}.*)?$", re.MULTILINE)
_CODE_LINE = re.compile(
    r"^[ \t]*(?:(?:async\s+)?def\s+\w+\s*\(|class\s+\w+|return\b|yield\b|import\s+\w|from\s+\S+\s+import\s"
    r"|raise\b|(?:for|while|if|with|try|assert)\b.*:|lambda\b|[\w.\[\], ]+\s*(?:[-+*/%|&^]|//|\*\*)?=[^=])",
    re.MULTILINE,
)

_DOCSTRING = re.compile(r"^[ \t]*[rRuU]?(?:\"{3}|'{3})", re.MULTILINE)


def holds_program(text: str) -> bool:
    """Whether any line could be code of a solution: something is defined, returned, assigned or decided.

    Comments, fences and prose are no program. Not a judgement of quality: a wrong program is a program.
    """
    return _CODE_LINE.search(_COMMENT_OR_FENCE.sub("", unix_newlines(text))) is not None


def ends_inside_statement(text: str, prefix: str = "") -> bool:
    """Whether the text stops in the middle: in an open bracket or string, in its last line, or before a block.

    Args:
        text: a program, a completion to put behind ``prefix``, or a reply, of which the last fence is read.
        prefix: code that a completion continues.
    """
    code = unix_newlines(text)
    fences = fenced_blocks(code)
    if fences:
        code = fences[-1].code
    if len(code) > MAX_SOURCE_CHARS or not (holds_program(code) or _DOCSTRING.search(code)):
        return False
    parser = Parser()
    sources = [code, prefix + code] if prefix else [code]
    faults = [result.line for source in sources if isinstance(result := parser.module(source), Fault)]
    if len(faults) < len(sources):
        return False
    return any(_stops_early(parser, source, line) for source, line in zip(sources, faults, strict=True))


def _stops_early(parser: Parser, source: str, fault_line: int) -> bool:
    """Whether a source that does not compile would, had it gone on."""
    lines = source.rstrip().split("\n")
    if _open_at_the_end(source):
        return True
    before = "\n".join(lines[:-1]) + "\n"
    if fault_line < len(lines):
        return False
    # All but the last line compiles, perhaps once a block that was just opened has a statement.
    indent = re.match(r"[ \t]*", lines[-1])
    block = before + (indent[0] if indent else "") + "pass\n"
    return not isinstance(parser.module(before), Fault) or not isinstance(parser.module(block), Fault)


def _open_at_the_end(source: str) -> bool:
    """Whether a bracket or a triple-quoted string is still open where the source ends."""
    try:
        for _ in tokenize.generate_tokens(io.StringIO(source).readline):
            pass
    except tokenize.TokenError as error:
        message = str(error)
        return "EOF in multi-line" in message or "unterminated triple-quoted" in message
    except (SyntaxError, ValueError):
        return False
    return False
