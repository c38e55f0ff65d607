"""A contest problem in a harness' words: the starter code decides which."""

from __future__ import annotations

from typing import Literal

from truegrade import prompts
from truegrade.profiles.prompt_building import chat, continuation, origin
from truegrade.records import ContestTask, Prompt

VLLM_STOP = ("###",)
"""Default of ``--stop`` (LiveCodeBench/LiveCodeBench@28fef95 ``lcb_runner/runner/parser.py``);
only models served by vLLM are sent it."""


def kind_of_prompt(task: ContestTask) -> Literal["functional", "stdin"]:
    """``functional`` or ``stdin``: the starter code decides how a problem is worded, not how it is graded."""
    return "functional" if task.starter_code else "stdin"


def question(prompt_id: str, task: ContestTask, *, system: str | None = None) -> Prompt:
    """A problem in the words of the text ``prompt_id`` and its kind."""
    values = {"question": task.question} | ({"starter": task.starter_code} if task.starter_code else {})
    return chat(f"{prompt_id}.{kind_of_prompt(task)}", values, system=system)


def claude_completion(user: str, system: str) -> Prompt:
    """Style Claude: one text in the form of Anthropic's completion service.

    Args:
        user: text of the user's turn; its end is stripped.
        system: prompt id of the system text.
    """
    content = prompts.render("lcb_claude.completion", system=prompts.render(system), user=user.rstrip())
    return continuation(content, source=f"{origin('lcb_claude.completion')}; {origin(system)}")
