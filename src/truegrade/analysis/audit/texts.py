"""Questions about a text, answered without running it: is it a program, a whole one, the one that was graded?"""

from __future__ import annotations

import re

from truegrade.extraction.fences import fenced_blocks
from truegrade.extraction.parsing import Fault, Parser, parse_module, unix_newlines

_COMMENT_OR_FENCE = re.compile(r"^[ \t]*(?:#.*|`{3,}.*|~{3,}.*)?$", re.MULTILINE)
_CODE_LINE = re.compile(
    r"^[ \t]*(?:(?:async\s+)?def\s+\w+\s*\(|class\s+\w+|return\b|yield\b|import\s+\w|from\s+\S+\s+import\s"
    r"|raise\b|pass[ \t]*$|[\w.]+\(.*\)[ \t]*$"
    r"|(?:for|while|if|with|try|assert)\b.*:|lambda\b|[\w.\[\], ]+\s*(?:[-+*/%|&^]|//|\*\*)?=[^=])",
    re.MULTILINE,
)

_ABOVE = re.compile(r"[ \t]*(?:#.*|(?:import|from)[ \t].*)?")
"""A line that may stand above a graded completion."""
_DEFINES = re.compile(r"(?:async[ \t]+def|def|class)\b|@")
_DOCSTRING = re.compile(r"^[ \t]*[rRuU]?(?:\"{3}|'{3})", re.MULTILINE)


def holds_program(text: str) -> bool:
    """Whether any line could be code of a solution: something is defined, returned, assigned or decided.

    Comments, fences and prose are no program. Not a judgement of quality: a wrong program is a program.
    """
    return _CODE_LINE.search(_COMMENT_OR_FENCE.sub("", unix_newlines(text))) is not None


def ends_inside_statement(text: str, prefix: str = "") -> bool:
    """Whether the text stops in the middle: in an open bracket or string, in its last line, or before a block.

    Nothing else that Python refuses counts, such as brackets that do not match: that is a mistake, not an end.

    Args:
        text: a program, a completion to put behind ``prefix``, or a reply, of which the last fence is read; one
            that is closed was written to its end.
        prefix: code that a completion continues.
    """
    code = unix_newlines(text)
    fences = fenced_blocks(code)
    if fences:
        code = fences[-1].code
    if any(fence.closed for fence in fences[-1:]) or not (holds_program(code) or _DOCSTRING.search(code)):
        return False
    # A body may stand at the margin, where its `return` is outside of any function.
    sources = [code, prefix + code] if prefix else [code]
    if any(not isinstance(parse_module(source), Fault) for source in sources):
        return False
    parser = Parser()
    return any(parser.stops_early(source) for source in sources)


def is_own_program(full_code: str, text: str, prompt: str, tests: str) -> bool:
    """Whether a program that was graded is a completion and nothing else of a model's.

    Above it only blank lines, comments, imports and the prompt may stand, below it the tests and what calls them.

    Args:
        full_code: the graded program.
        text: the completion.
        prompt: of the row.
        tests: of the row.
    """
    code, wanted = unix_newlines(full_code), unix_newlines(text).strip("\n")
    above, found, below = f"\n{code}\n".partition(f"\n{wanted}\n")
    if not found:
        return False
    head = _without(above, prompt).split("\n")
    tail = [line for line in _without(below, tests).split("\n") if line.strip()]
    goes_on = any(line[0] in " \t" for line in tail[:1]) or any(_DEFINES.match(line) for line in tail)
    return all(_ABOVE.fullmatch(line) for line in head) and not goes_on


def _without(text: str, part: str) -> str:
    bare = unix_newlines(part).strip("\n")
    return text.replace(bare, "") if bare else text
