"""Putting a program together from what the data set gives and what the model answered."""

from __future__ import annotations

import re

from truegrade.records import Answer

_FUTURE = re.compile(r"^from __future__ import .*\n?", re.MULTILINE)


def assemble(prefix: str, answer: Answer) -> str:
    """The program to run: the answer behind the trusted prefix.

    A body-only ``completion`` follows the prefix directly, as in the Codex paper (arXiv 2107.03374). A whole
    ``program`` follows it on a new line: the prefix then still supplies imports and helpers, and the answer's
    own definition replaces the stub. ``from __future__`` lines move to the top, where Python wants them.

    Raises:
        ValueError: the answer has no value.
    """
    if answer.value is None:
        raise ValueError("an answer without a value makes no program")
    if answer.form == "completion" or not prefix:
        return prefix + answer.value
    futures = "".join(match.group().rstrip("\n") + "\n" for match in _FUTURE.finditer(answer.value))
    return f"{futures}{prefix}\n{_FUTURE.sub('', answer.value) if futures else answer.value}"


def stub(prefix: str) -> str:
    """The prefix as a whole program: its unfinished last function gets an empty body."""
    return prefix.rstrip() + "\n    pass\n" if prefix.strip() else ""
