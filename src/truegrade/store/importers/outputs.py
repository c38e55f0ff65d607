"""What a model said, in the shape that Inspect AI and EvalScope share.

UKGovernmentBEIS/inspect_ai@0.3.285 ``model/_model_output.py``, ``_util/content.py``; EvalScope took the shape over
(modelscope/evalscope@fde259d2 ``evalscope/api/model/model_output.py``).
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import msgspec

from truegrade.records import TOOL_CALLS, Usage

CUT: Mapping[str, str] = MappingProxyType({"max_tokens": "length", "model_length": "length"})
"""What they call a reply that was cut at a token limit, and what services call it."""


def finish_reason_of(stop_reason: str | None) -> str | None:
    """Why a reply ended, in the words of the services."""
    return None if stop_reason is None else CUT.get(stop_reason, stop_reason)


class OutputPart(msgspec.Struct):
    """A piece of a message: text, thinking, or neither."""

    text: str | None = ""
    reasoning: str | None = ""


class OutputMessage(msgspec.Struct):
    """One turn."""

    content: str | list[OutputPart] | None = None
    role: str = ""
    tool_calls: Any = None

    @property
    def text(self) -> str:
        """Its words."""
        return self.content if isinstance(self.content, str) else "".join(part.text or "" for part in self.parts)

    @property
    def parts(self) -> list[OutputPart]:
        """Its pieces, where it has any."""
        return self.content if isinstance(self.content, list) else []

    @property
    def reasoning(self) -> str | None:
        """Thinking that the service delivered apart from the words."""
        return "\n".join(part.reasoning for part in self.parts if part.reasoning) or None


class OutputChoice(msgspec.Struct):
    """One of the answers to a request."""

    message: OutputMessage
    stop_reason: str | None = None


class Output(msgspec.Struct):
    """The answer to a request; without choices where it failed."""

    model: str | None = ""
    choices: list[OutputChoice] | None = []
    usage: Usage | None = None
    time: float | None = None
    """Seconds."""

    @property
    def text(self) -> str | None:
        """The words of the first choice; None where the request failed, or nothing was said."""
        if not self.choices or self.choices[0].message.content is None:
            return None
        return self.choices[0].message.text

    @property
    def reasoning(self) -> str | None:
        """Its thinking."""
        return self.choices[0].message.reasoning if self.choices else None

    @property
    def finish_reason(self) -> str | None:
        """Why it ended, in the words of the services."""
        if not self.choices:
            return None
        message, reason = self.choices[0].message, finish_reason_of(self.choices[0].stop_reason)
        return TOOL_CALLS if message.tool_calls and reason != "length" else reason
