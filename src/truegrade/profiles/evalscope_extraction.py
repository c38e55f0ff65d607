"""How EvalScope takes code out of a reply.

modelscope/evalscope@fde259d2: ``evalscope/benchmarks/humaneval/humaneval_adapter.py`` and, for MBPP,
``evalscope/benchmarks/mbpp/mbpp_adapter.py`` with ``evalscope/utils/code_utils.py``
``extract_code_from_freeform_completion(completion, "python", first_block_only=True)``.
"""

from __future__ import annotations

import re

_FENCE = re.compile(r"```\w*\n(.*?)```", re.DOTALL)
_MARK = "```"
_HEAD, _START = ("import", "from", "#"), ("def ", "class ")
_ENDS = ('if __name__ == "__main__":', "# Example usage")
_STOPS = ("\nassert", '\n"""')


def first_fence(reply: str) -> tuple[str, str]:
    """HumanEval's rule: the first complete fence, else the reply as it is; and how it was found."""
    match = _FENCE.search(reply)
    return (match[1], "first fence") if match else (reply, "no fence: as it is")


def freeform_code(reply: str) -> tuple[str, str]:
    """MBPP's rule: the code, perhaps empty, and how it was found."""
    code, found = _first_block(reply.partition("[DONE]")[0])
    code = code.replace("\r", "")
    for end in _ENDS:
        if end in code:
            code = code.partition(end)[0].strip()
    for stop in _STOPS:
        code = code.partition(stop)[0]
    return code, found


def without_main(program: str) -> str:
    """The program up to its main block."""
    return program.partition("if __name__ ==")[0]


def _first_block(reply: str) -> tuple[str, str]:
    """A complete fence, a fence that never closes, or the first definition of plain text."""
    opening = reply.find(_MARK)
    line_end = reply.find("\n", opening) if opening >= 0 else -1
    if line_end >= 0:
        start = line_end + 1
        end = _closed(reply, start)
        return (reply[start:], "unclosed fence") if end is None else (reply[start:end], "first complete fence")
    definition = _first_definition([line for line in reply.split("\n") if line.strip()])
    return (definition, "first definition") if definition else ("", "no code")


def _closed(reply: str, start: int) -> int | None:
    r"""Where ``(.*?)\n\s*\`\`\``` ends its group: at the first line end in the blanks before a mark. Linear."""
    while (mark := reply.find(_MARK, start)) >= 0:
        between = reply[start:mark]
        blanks = between.rstrip()
        line_end = between.find("\n", len(blanks))
        if line_end >= 0:
            return start + line_end
        start = mark + len(_MARK)
    return None


def _first_definition(lines: list[str]) -> str:
    r"""The first match, in linear time, of this expression (re.MULTILINE) in lines that are not blank.

    ``(?:^(?:import|from|#)[^\n]+\n)*^(?:def|class) [^\n]+\n(?:\s+[^\n]+\n)+``
    """
    head = 0
    for number, line in enumerate(lines[:-1]):
        if _goes_on(line, _START) and lines[number + 1][0].isspace():
            behind = range(number + 1, len(lines))
            end = next((at for at in behind if not lines[at][0].isspace()), len(lines))
            return "\n".join(lines[head:end]) + "\n"
        if not _goes_on(line, _HEAD):
            head = number + 1
    return ""


def _goes_on(line: str, words: tuple[str, ...]) -> bool:
    """Whether a line begins with one of the words and does not end with it."""
    return any(line.startswith(word) and len(line) > len(word) for word in words)
