"""The code in a reply as CORAL-X takes it, defects included.

From CORAL-X's ``extract_code_from_generation`` (skishore23/coralx@93e9490
docs/archive/QUIXBUGS_USAGE_ANALYSIS.md): the first ```` ```python ```` block; else the first block without a
language; else everything from each ``def`` to the next unindented line; else the reply. Surrounding space goes in
every case.
"""

from __future__ import annotations

import re
from typing import NamedTuple

FENCE = "```"
_PYTHON = re.compile(r"```python\s*\n")
_PLAIN = re.compile(r"```\s*\n")


class Taken(NamedTuple):
    """Code, and the step that found it."""

    code: str
    step: str


def take_code(text: str) -> Taken:
    """The code of a reply; never fails, for the last step takes everything."""
    for opening, step in ((_PYTHON, "first ```python block"), (_PLAIN, "first ``` block")):
        if (block := _first_block(opening, text)) is not None:
            return Taken(block.strip(), step)
    lines = _definitions(text)
    if lines:
        return Taken("\n".join(lines).strip(), "lines from each def")
    return Taken(text.strip(), "whole reply")


def _first_block(opening: re.Pattern[str], text: str) -> str | None:
    """What ``OPENING(.*?)``` `` would find, in linear time: if nothing closes the first opening, nothing
    closes a later one."""
    opened = opening.search(text)
    if opened is None:
        return None
    end = text.find(FENCE, opened.end())
    return None if end < 0 else text[opened.end() : end]


def _definitions(text: str) -> list[str]:
    """Lines from the first one that begins with ``def``, however indented, to the first other unindented one."""
    taken: list[str] = []
    inside = False
    for line in text.split("\n"):
        if line.strip().startswith("def "):
            inside = True
        elif not inside:
            continue
        elif line.strip() and not line.startswith((" ", "\t")):
            break
        taken.append(line)
    return taken
