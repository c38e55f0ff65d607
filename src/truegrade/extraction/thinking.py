"""The final channel of a reply: what is left when thinking and stop tokens are taken away.

Sources of the markers: OpenAI harmony response format (``<|channel|>final<|message|>``; stored without its special
tokens the same place reads ``assistantfinal``), DeepSeek-R1 and Qwen (``</think>``), Seed-OSS (``</seed:think>``),
Magistral (``[/THINK]``), Kimi (``◁/think▷``).
"""

from __future__ import annotations

import re
from collections.abc import Callable

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
_MAX_QUOTED = 100
"""Markers that may be found to be quoted; those beyond count as markers."""

Quoted = Callable[[int, int], bool]
"""Whether the marker between two offsets of a reply is a part of the answer."""


class FinalChannel(msgspec.Struct, frozen=True):
    """What a reply says once thinking is over."""

    text: str
    offset: int
    """Where ``text`` starts in the reply."""
    found: bool
    """Whether a marker told thinking from answer."""
    truncated: bool = False
    """Thinking was begun and never ended: there is no final channel."""


def final_channel(text: str, quoted: Quoted = lambda start, end: False) -> FinalChannel:
    """The text after the last end of thinking, without the stop tokens of chat templates.

    Args:
        text: a reply.
        quoted: tells which markers belong to the answer; see `truegrade.extraction.quoted`.
    """
    offset, found = 0, False
    ends = [marker.span() for marker in _END_OF_THINKING.finditer(text)]
    for number, span in enumerate(reversed(ends)):
        if number == _MAX_QUOTED or not quoted(*span):
            offset, found = span[1], True
            break
    if _STARTS_THINKING.match(text, offset):
        return FinalChannel("", len(text), found, truncated=True)
    stops = enumerate(_END_OF_TEXT.finditer(text, offset))
    end = next((stop.start() for n, stop in stops if n == _MAX_QUOTED or not quoted(*stop.span())), len(text))
    tail_start = max(offset, end - _CLOSING_CHARS)
    tail = _CLOSING.search(text[tail_start:end])
    if tail is not None and tail.group().strip():
        end = tail_start + tail.start()
    return FinalChannel(text[offset:end], offset, found)


def masked(text: str) -> str:
    """The text with question marks for every marker that `final_channel` knows."""
    for markers in (_END_OF_THINKING, _END_OF_TEXT):
        text = markers.sub(lambda marker: "?" * len(marker.group()), text)
    return text
