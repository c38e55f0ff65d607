"""OpenAI's own rules about parameters."""

from __future__ import annotations

import re

from truegrade.models.service_parameters import Parameters, Route

_REASONING_NAME = re.compile(r"(o1|o3|o4|gpt-5)(?![a-z0-9])(?!-chat)")


def is_reasoning_model(provider: str, model: str) -> bool:
    """Whether OpenAI's rules for reasoning models hold: o1, o3, o4 and gpt-5 at openai, but not gpt-5-chat.

    Source: OpenAI API reference, chat completions: ``max_completion_tokens``, no ``temperature``, no ``top_p``.
    """
    return provider == "openai" and _REASONING_NAME.match(model) is not None


def openai_parameters(route: Route, *, reasoning: bool = False) -> Parameters:
    """Parameters that nothing was learnt of yet.

    Args:
        route: which endpoint.
        reasoning: whether OpenAI's rules for reasoning models hold.
    """
    limits = ("max_tokens", "max_completion_tokens")  # two spellings; a refused one is sent as the other
    if route == "text":
        return Parameters(
            limits=limits, rules={"reasoning_effort": "the completions endpoint has no such parameter"}
        )
    if reasoning:
        taken = "a reasoning model takes none"
        return Parameters(limits=limits[::-1], rules={"temperature": taken, "top_p": taken})
    return Parameters(limits=limits)
