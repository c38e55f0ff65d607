"""What an adapter learns: the very prompt it will be tested with, and the reply that solves it.

An adapter that is trained on other words than it is tested with learns the words first. So lessons are worded by
the profile that will grade, and only the reply is learned.
"""

from __future__ import annotations

from collections.abc import Iterable

from truegrade.evolution.repair_problems import repair_of
from truegrade.evolution.training.base import Lesson
from truegrade.profiles.base import Profile
from truegrade.records import Problem, Prompt

_FENCE = "```"


def lessons_of(problems: Iterable[Problem], profile: Profile, variant: str | None = None) -> tuple[Lesson, ...]:
    """One lesson a problem, of any benchmark whose problems are repairs.

    Args:
        problems: those to learn from.
        profile: words the prompt.
        variant: name of its prompt; None for its own choice.

    Raises:
        UserError: a problem is no repair, or the profile does not word it.
    """
    problems = tuple(problems)
    by_id = {problem.id: problem for problem in problems}
    lessons = []
    for problem in problems:
        prompt = profile.render_prompt(problem, variant, by_id)
        reply = reply_to(prompt, repair_of(problem).solution)
        lessons.append(Lesson(problem=problem.id, prompt=prompt, reply=reply))
    return tuple(lessons)


def reply_to(prompt: Prompt, code: str) -> str:
    """Code as the reply to a prompt: in a block of its own, or in the one that a text to continue has opened."""
    closing = f"{code}\n{_FENCE}"
    if prompt.style == "text" and _has_opened(prompt.messages[-1].content):
        return closing
    return f"{_FENCE}python\n{closing}"


def _has_opened(text: str) -> bool:
    """Whether a text ends inside a block that its last line opens."""
    fences = [line for line in text.splitlines() if line.startswith(_FENCE)]
    return len(fences) % 2 == 1 and text.rstrip("\n").rpartition("\n")[2].startswith(_FENCE)
