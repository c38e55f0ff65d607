"""Special tokens of tokenizers, where a trainer decodes a reply without leaving them out."""

from __future__ import annotations

import re

_TOKEN = re.compile(r"<[|｜][\w▁ ]{1,40}[|｜]>|</?s>|<(?:eos|pad|bos|end_of_turn)>")
"""As the tokenizers of Llama, Qwen, Mistral, Gemma and DeepSeek spell them."""
_LONGEST = 44


def without_special_tokens(text: str) -> str:
    """A text without the special tokens at its end and the white space around those."""
    end = at = len(text)
    while True:
        while at and text[at - 1].isspace():
            at -= 1
        start = text.rfind("<", max(0, at - _LONGEST), at)
        if start < 0 or _TOKEN.fullmatch(text, start, at) is None:
            return text[:end]
        at = end = start
        while end and text[end - 1].isspace():
            end -= 1


def reply_behind(query: str, prompt: str) -> str | None:
    """What stands behind the prompt in a query, without the special tokens at its end; None where it is not found.

    In front of the prompt a tokenizer may have put a token for the beginning.
    """
    at = query.find(prompt)
    if at < 0 or (at > 0 and without_special_tokens(query[:at]).strip()):
        return None
    return without_special_tokens(query[at + len(prompt) :])
