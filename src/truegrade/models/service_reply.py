"""What a service answered, in the terms that all services share."""

from __future__ import annotations

import msgspec

from truegrade.records import TOOL_CALLS, Usage


class ReplyChoice(msgspec.Struct, frozen=True, kw_only=True):
    """One sample of a response."""

    text: str
    """Empty where the service sent none."""
    reasoning: str | None = None
    finish_reason: str | None = None
    logprobs: tuple[float, ...] | None = None
    """Log probability of each token, where the service gave them."""


class Body(msgspec.Struct, frozen=True, kw_only=True):
    """A response, read."""

    choices: tuple[ReplyChoice, ...]
    """At least one."""
    usage: Usage | None = None
    model: str | None = None
    """Id as the service returned it."""

    @property
    def empty(self) -> bool:
        """Whether no choice holds text."""
        return not any(choice.text.strip() for choice in self.choices)

    @property
    def empty_by_chance(self) -> bool:
        """Whether it is empty although the service claims a normal end: worth asking again.

        A token budget used up by thinking, or a content filter, would only repeat itself.
        """
        return self.empty and not any(c.finish_reason in _FINAL_WHEN_EMPTY for c in self.choices)


_FINAL_WHEN_EMPTY = frozenset(
    {
        TOOL_CALLS,
        *("length", "max_tokens", "content_filter", "refusal"),
        # Google, of a reply or of the prompt
        *("SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII"),
        *("content_filtered", "guardrail_intervened"),  # Bedrock
    }
)


def finish_reason_of(reason: str | None, calls: bool) -> str | None:
    """Why a reply ended.

    Args:
        reason: as the service said.
        calls: whether the reply holds calls of tools; unless it was cut, it ended with them.
    """
    return TOOL_CALLS if calls and reason not in {"length", "max_tokens"} else reason


def encodable(text: str) -> str:
    """The text with surrogate pairs joined and lone halves replaced by U+FFFD, so that UTF-8 can hold it."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
