"""How EvalScope takes code out of a reply.

modelscope/evalscope@fde259d2: ``evalscope/benchmarks/humaneval/humaneval_adapter.py`` and, for MBPP,
``evalscope/benchmarks/mbpp/mbpp_adapter.py`` with ``evalscope/utils/code_utils.py``
``extract_code_from_freeform_completion(completion, "python", first_block_only=True)``.
"""

from __future__ import annotations

import re

_FENCE = re.compile(r"```\w*\n(.*?)```", re.DOTALL)
_COMPLETE = re.compile(r"```[^\n]*\n(.*?)\n\s*```", re.DOTALL)
_OPEN = re.compile(r"```[^\n]*\n(.*)", re.DOTALL)
_DEFINITION = re.compile(
    r"(?:^(?:import|from|#)[^\n]+\n)*"  # imports and comments straight above
    r"^(?:def|class) [^\n]+\n"
    r"(?:\s+[^\n]+\n)+",  # indented lines; blank ones were dropped before
    re.MULTILINE,
)
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
    if match := _COMPLETE.search(reply):
        return match[1], "first complete fence"
    if match := _OPEN.search(reply):
        return match[1], "unclosed fence"
    lines = [line for line in reply.split("\n") if line.strip()]
    if match := _DEFINITION.search("\n".join(lines) + "\n"):
        return match[0], "first definition"
    return "", "no code"
