"""AgentCoder's fence cutter (huangd1999/AgentCoder@dddd1b9 ``src/programmer_humaneval.py`` preprocess_data)."""

from __future__ import annotations

_OPENING = "```python"
_CLOSING = "```"


def cut_fence(reply: str) -> tuple[str, str]:
    """The text between the first ```` ```python ```` and the next fence, else the reply; and how it was found.

    Where the fence never closes, the last character is lost.
    """
    start = reply.find(_OPENING)
    if start < 0:
        return reply, "no python fence: the whole reply"
    code = reply[start + len(_OPENING) :]
    end = code.find(_CLOSING)
    # -1, for a fence that never closes, is taken for a position.
    return code[:end], "first python fence" if end >= 0 else "unclosed python fence, less its last character"
