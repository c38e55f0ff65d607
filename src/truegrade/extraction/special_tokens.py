"""Special tokens of tokenizers, where a reply was decoded without leaving them out.

Their form is looked for, not a list: ``<|eot|>`` of Llama 4, ``<|END_TEXT|>`` of Cohere, ``<turn|>`` of Gemma 4,
``<｜end▁of▁sentence｜>`` of DeepSeek. No Python holds this form but in texts and comments.
"""

from __future__ import annotations

import re

BARRED = r"<[|｜][\w▁ :]{1,40}[|｜]?>|<[\w▁:]{1,40}[|｜]>"
"""Pattern of tokens that are nothing else, wherever they stand."""
_LAST = re.compile(
    rf"(?:{BARRED}|</?s>|<(?:eos|pad|bos|end_of_turn|file_sep|EOS_TOKEN|seed:eos)>|\[EO[ST]\]|\[e~\[)\Z"
)
"""The others, of Mistral, Gemma, StarCoder, Kimi and MiniMax, are taken for tokens at the end of a text alone."""
_LONGEST = 44
_HEADS = re.compile(rf"\s*(?:(?:{BARRED}|<(?:s|bos)>)(?:(?:assistant|model)(?=\s*(?:\n|<[|｜])))?\s*?\n?)+")


def without_special_tokens(text: str) -> str:
    """A text without the special tokens at its end and the white space around those."""
    end = at = len(text)
    while True:
        while at and text[at - 1].isspace():
            at -= 1
        first = max(0, at - _LONGEST)
        token = _LAST.search(text[first:at])
        if token is None:
            return text[:end]
        at = end = first + token.start()
        while end and text[end - 1].isspace():
            end -= 1


def heads_end(text: str, start: int, end: int) -> int:
    """Where the special tokens that a passage begins with end, with the name of the speaker among them."""
    heads = _HEADS.match(text, start, end)
    return heads.end() if heads else start


def reply_behind(query: str, prompt: str) -> str | None:
    """What stands behind the prompt in a query, without the special tokens at its end; None where it is not found.

    In front of the prompt a tokenizer may have put a token for the beginning.
    """
    at = query.find(prompt)
    if at < 0 or (at > 0 and without_special_tokens(query[:at]).strip()):
        return None
    return without_special_tokens(query[at + len(prompt) :])
