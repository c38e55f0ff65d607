"""The final channel of a reply: what is left when thinking and stop tokens are taken away.

Sources of the markers: OpenAI harmony response format (``<|channel|>final<|message|>``; stored without its special
tokens the same place reads ``assistantfinal``), DeepSeek-R1 and Qwen (``</think>``), Seed-OSS (``</seed:think>``),
Magistral (``[/THINK]``), Kimi (``◁/think▷``).
"""

from __future__ import annotations

import re

import msgspec

_END_OF_THINKING = re.compile(
    r"<\|channel\|>final\s*(?:<\|constrain\|>[^<]*)?<\|message\|>|assistantfinal|◁/think▷|\[/THINK\]"
    r"|</(?:seed:)?(?:think|thinking|thought|reasoning)>"
)
_STARTS_THINKING = re.compile(
    r"\s*(?:(?:<\|start\|>assistant)?<\|channel\|>analysis|◁think▷|\[THINK\]"
    r"|<(?:seed:)?(?:think|thinking|thought|reasoning)>)"
)
_END_OF_TEXT = re.compile(
    r"<\|(?:return|end|im_end|endoftext|endofmask|end_of_text|eot_id|eom_id|end_of_turn)\|>"
    r"|<｜end▁of▁sentence｜>|<end_of_turn>"
)
# These also are markup or plausible text, so only the very end of a reply is taken for the token.
_CLOSING = re.compile(r"(?:</s>|<eos>|<file_sep>|\s)+\Z")
_CLOSING_CHARS = 200


class FinalChannel(msgspec.Struct, frozen=True):
    """What a reply says once thinking is over."""

    text: str
    offset: int
    """Where ``text`` starts in the reply."""
    found: bool
    """Whether a marker told thinking from answer."""
    truncated: bool = False
    """Thinking was begun and never ended: there is no final channel."""


def final_channel(text: str) -> FinalChannel:
    """The text after the last end of thinking, without the stop tokens of chat templates."""
    offset, found = 0, False
    for marker in _END_OF_THINKING.finditer(text):
        offset, found = marker.end(), True
    if _STARTS_THINKING.match(text, offset):
        return FinalChannel("", len(text), found, truncated=True)
    stop = _END_OF_TEXT.search(text, offset)
    end = stop.start() if stop else len(text)
    tail_start = max(offset, end - _CLOSING_CHARS)
    tail = _CLOSING.search(text[tail_start:end])
    if tail is not None and tail.group().strip():
        end = tail_start + tail.start()
    return FinalChannel(text[offset:end], offset, found)
