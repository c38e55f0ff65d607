"""The bodies of requests in the OpenAI protocol, as far as a local engine honours them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec

from truegrade.records import Message, Prompt
from truegrade.records.config import Sampling

_Count = Annotated[int, msgspec.Meta(ge=1)]
_Temperature = Annotated[float, msgspec.Meta(ge=0)]
_Share = Annotated[float, msgspec.Meta(ge=0, le=1)]
MAX_CHOICES = 128


class Asked(msgspec.Struct, frozen=True):
    """A request in our own terms."""

    model: str
    prompt: Prompt
    sampling: Sampling
    n: int


class _Part(msgspec.Struct, frozen=True):
    text: str
    type: Literal["text"] = "text"


class _Turn(msgspec.Struct, frozen=True):
    role: Literal["system", "developer", "user", "assistant"]
    content: str | list[_Part]

    def message(self) -> Message:
        content = self.content if isinstance(self.content, str) else "".join(part.text for part in self.content)
        return Message(role="system" if self.role == "developer" else self.role, content=content)


class _Body(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    model: str
    temperature: _Temperature | None = None
    top_p: _Share | None = None
    max_tokens: _Count | None = None
    seed: int | None = None
    stop: str | list[str] | None = None
    n: Annotated[int, msgspec.Meta(ge=1, le=MAX_CHOICES)] | None = None
    stream: Literal[False] | None = None
    user: str | None = None
    """Names the end user; it changes nothing."""

    def _asked(self, prompt: Prompt, **more: Any) -> Asked:
        stop = (self.stop,) if isinstance(self.stop, str) else tuple(self.stop or ())
        settings = {"temperature": self.temperature, "top_p": self.top_p, "max_tokens": self.max_tokens}
        return Asked(self.model, prompt, Sampling(seed=self.seed, stop=stop, **{**settings, **more}), self.n or 1)


class ChatBody(_Body, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What ``/v1/chat/completions`` takes."""

    messages: Annotated[list[_Turn], msgspec.Meta(min_length=1)]
    max_completion_tokens: _Count | None = None
    reasoning_effort: str | None = None

    def asked(self) -> Asked:
        """In our own terms."""
        prompt = Prompt(messages=tuple(turn.message() for turn in self.messages), source="request")
        limit = self.max_completion_tokens or self.max_tokens
        return self._asked(prompt, max_tokens=limit, reasoning_effort=self.reasoning_effort)


class TextBody(_Body, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What ``/v1/completions`` takes; one prompt a request."""

    prompt: str

    def asked(self) -> Asked:
        """In our own terms."""
        messages = (Message(role="user", content=self.prompt),)
        return self._asked(Prompt(messages=messages, style="text", source="request"))
