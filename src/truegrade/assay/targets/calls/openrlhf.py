"""``openrlhf``: ``reward_func(queries, prompts, labels)`` returns tensors, numbers or ``{"rewards", "scores"}``.

OpenRLHF/OpenRLHF@3c3be62 ``openrlhf/utils/agent.py``: one reply in a list, a query is the prompt with its reply.
Over HTTP ``{"query", "prompts", "labels"}`` is posted.
"""

from __future__ import annotations

from typing import Any

from truegrade.assay.targets.calls.base import Arguments, Call, Post, ProbeQuestion
from truegrade.grading.tests_forms import words_of


def _lists(asked: ProbeQuestion) -> tuple[list[str], list[str], list[Any]]:
    prompt = words_of(asked.problem)
    return [f"{prompt}\n{asked.reply}"], [prompt], [asked.fields.get("label", asked.tests)]


def _arguments(asked: ProbeQuestion) -> Arguments:
    return _lists(asked), {}


def _ask(asked: ProbeQuestion, post: Post) -> Any:
    queries, prompts, labels = _lists(asked)
    return post({"query": queries, "prompts": prompts, "labels": labels})


CALL = Call(name="openrlhf", arguments=_arguments, ask=_ask)
