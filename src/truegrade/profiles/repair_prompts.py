"""How a program is asked to be repaired: the words of CORAL-X, for chat models and for base models."""

from __future__ import annotations

from truegrade.grading.suites import RepairTask
from truegrade.profiles.execution_prompts import RenderPrompt
from truegrade.profiles.prompt_building import base, chat

FENCE = "```"


def repair_prompts(task: RepairTask) -> dict[str, RenderPrompt]:
    """Prompts by variant; ``base`` is the same text to continue, up to where the open fence is closed."""
    values = {"name": task.entry_point, "buggy": task.buggy}
    return {
        "default": lambda: chat("quixbugs.repair", values),
        "base": lambda: base("quixbugs.repair", values, stop=(FENCE,)),
    }
