"""Byte-level BPE out of a ``tokenizer.json``, as Hugging Face's ``tokenizers`` library reads it.

Only what a byte-level model needs is understood, and everything else is refused: a tokenizer that is nearly right
makes a model look worse than it is. Rules: openai/gpt-2@9b63575 ``src/encoder.py`` (bytes as characters, the
splitting pattern, merges by rank); huggingface/tokenizers@v0.23.3 for the file.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any

from truegrade.errors import BadRecord, UserError
from truegrade.records import Prompt

# -------------------- ``\p{L}`` and ``\p{N}`` for Python's ``re``, exactly, without a table of all characters.
# A pattern is matched on the text's shadow: the same text with every character outside ASCII replaced by one of
# four that stand for a letter, a number, white space or anything else. Lengths agree, so places do. Four control
# characters that Python counts as white space and Unicode does not are replaced too.


_LETTER, _NUMBER, _SPACE, _OTHER = "é", "²", "\u00a0", "§"
_CLASSES = {"L": f"A-Za-z{_LETTER}", "N": f"0-9{_NUMBER}"}
_REPLACED = re.compile(r"[\x1c-\x1f]|[^\x00-\x7f]")
_CLASS = re.compile(r"\\\\|\\\[|\\\]|\\p\{([LN])\}|\[|\]")


def compile_pattern(pattern: str) -> re.Pattern[str]:
    r"""A pattern to be matched on a `shadow`; ``\p{L}`` and ``\p{N}`` may stand inside and outside brackets."""
    inside = False

    def spell(match: re.Match[str]) -> str:
        nonlocal inside
        if match.group(0) in {"[", "]"}:
            inside = match.group(0) == "["
        if match.group(1) is None:
            return match.group(0)
        members = _CLASSES[match.group(1)]
        return members if inside else f"[{members}]"

    return re.compile(_CLASS.sub(spell, pattern))


def shadow(text: str) -> str:
    """The text with each character outside ASCII replaced by one of its kind."""
    return _REPLACED.sub(lambda match: _kind(match.group(0)), text)


@lru_cache(4096)
def _kind(character: str) -> str:
    category = unicodedata.category(character)
    if category[0] == "L":
        return _LETTER
    if category[0] == "N":
        return _NUMBER
    return _SPACE if character.isspace() and not character.isascii() else _OTHER


GPT2_PATTERN = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
"""How the ``ByteLevel`` pre-tokenizer splits when it uses its own pattern."""

Splitter = Callable[[str], Iterable[str]]

_REMEMBERED_WORDS = 65_536


class Tokenizer:
    """Text to token ids and back.

    Args:
        vocabulary: id of every token, written with the byte alphabet.
        merges: pairs in the order in which they were learnt.
        special: id of every special token, such as ``<|end|>``; text never becomes one.
        whole: id of every string that is one token wherever it stands, the longest first.
        splitters: applied in order to what lies between; each cuts the pieces of the one before.
    """

    def __init__(
        self,
        vocabulary: dict[str, int],
        merges: Sequence[tuple[str, str]],
        special: dict[str, int],
        whole: dict[str, int],
        splitters: Sequence[Splitter],
    ) -> None:
        self._ids = vocabulary
        self._ranks = {pair: rank for rank, pair in enumerate(merges)}
        self.special = special
        self._whole = whole
        longest_first = sorted(whole, key=len, reverse=True)
        self._whole_pattern = re.compile("|".join(map(re.escape, longest_first)) or r"(?!)")
        self._splitters = tuple(splitters)
        bytes_of = {character: byte for byte, character in enumerate(byte_alphabet())}
        self._bytes = {
            token: bytes(bytes_of[character] for character in text)
            for text, token in vocabulary.items()
            if text not in special and text not in whole
        } | {token: text.encode() for text, token in whole.items()}
        self._word = lru_cache(_REMEMBERED_WORDS)(self._merge)

    def encode(self, text: str) -> list[int]:
        """Token ids of a text; the name of a special token inside it is ordinary text."""
        tokens, end = [], 0
        for match in self._whole_pattern.finditer(text):
            tokens += self._encode_between(text[end : match.start()])
            tokens.append(self._whole[match.group(0)])
            end = match.end()
        return tokens + self._encode_between(text[end:])

    def _encode_between(self, text: str) -> list[int]:
        pieces: Iterable[str] = [text] if text else []
        for split in self._splitters:
            pieces = [part for piece in pieces for part in split(piece)]
        return [token for piece in pieces for token in self._word(piece)]

    def bytes_of(self, token: int) -> bytes:
        """The bytes that a token stands for; none for a special token."""
        return self._bytes.get(token, b"")

    def decode(self, tokens: Iterable[int]) -> str:
        """The text of the tokens, special ones left out; a cut character becomes U+FFFD."""
        return b"".join(map(self.bytes_of, tokens)).decode("utf-8", "replace")

    def _merge(self, piece: str) -> tuple[int, ...]:
        """One piece as tokens: join the pair that was learnt first until no pair is known."""
        alphabet = byte_alphabet()
        parts = [alphabet[byte] for byte in piece.encode("utf-8", "replace")]
        while len(parts) > 1:
            pairs = set(pairwise(parts))
            first = min(pairs, key=lambda pair: self._ranks.get(pair, len(self._ranks)))
            if first not in self._ranks:
                break
            parts = list(_joined(parts, first))
        return tuple(self._ids[part] for part in parts)


def read_tokenizer(path: Path) -> Tokenizer:
    """Read a ``tokenizer.json``.

    Raises:
        BadRecord: it is damaged, or uses something that is not reproduced here.
    """
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise BadRecord(path, f"cannot be read ({error.strerror}); the tokenizer belongs here") from None
    except (ValueError, RecursionError) as error:
        raise BadRecord(path, f"is not JSON ({error}): fetch it again") from None
    try:
        return _build(path, document)
    except (KeyError, TypeError, AttributeError, ValueError, re.error) as error:
        raise BadRecord(path, f"is no tokenizer of this kind ({type(error).__name__}: {error})") from None


@lru_cache(1)
def byte_alphabet() -> tuple[str, ...]:
    """The printable character that stands for each byte in a vocabulary (openai/gpt-2, ``bytes_to_unicode``)."""
    printable = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    spare = iter(range(256, 512))
    return tuple(chr(byte if byte in printable else next(spare)) for byte in range(256))


def _build(path: Path, document: dict[str, Any]) -> Tokenizer:
    model = document["model"]
    for field, value, allowed in (
        ("normalizer", document.get("normalizer"), (None,)),
        ("model.type", model.get("type"), ("BPE",)),
        ("model.dropout", model.get("dropout"), (None, 0)),
        ("model.ignore_merges", model.get("ignore_merges", False), (False,)),
        ("model.continuing_subword_prefix", model.get("continuing_subword_prefix"), (None, "")),
        ("model.end_of_word_suffix", model.get("end_of_word_suffix"), (None, "")),
    ):
        if value not in allowed:
            raise BadRecord(path, f"is {value!r}, which is not reproduced here; hf/PATH runs it", field=field)
    special, whole = _added_tokens(path, document.get("added_tokens", []))
    vocabulary = {**model["vocab"], **special, **whole}
    pairs = [pair.split(" ") if isinstance(pair, str) else pair for pair in model["merges"]]
    merges = [(str(left), str(right)) for left, right in pairs]
    missing = [token for token in (*byte_alphabet(), *map("".join, merges)) if token not in vocabulary]
    if missing:
        raise BadRecord(path, f"lacks {missing[0]!r}, without which some text has no tokens", field="model.vocab")
    return Tokenizer(vocabulary, merges, special, whole, list(_splitters(path, document["pre_tokenizer"])))


def _added_tokens(path: Path, entries: Iterable[dict[str, Any]]) -> tuple[dict[str, int], dict[str, int]]:
    """Ids of the special tokens, and of the strings that are one token wherever they stand."""
    special, whole = {}, {}
    for entry in entries:
        if entry["special"]:
            special[entry["content"]] = int(entry["id"])
        elif any(entry.get(flag) for flag in ("single_word", "lstrip", "rstrip", "normalized")):
            raise BadRecord(path, f"{entry} is not reproduced here; hf/PATH runs it", field="added_tokens")
        else:
            whole[entry["content"]] = int(entry["id"])
    return special, whole


def _splitters(path: Path, entry: dict[str, Any]) -> Iterator[Splitter]:
    """The rules of a ``pre_tokenizer`` entry, in order."""
    match entry:
        case {"type": "Sequence", "pretokenizers": list(entries)}:
            for inner in entries:
                yield from _splitters(path, inner)
        case {"type": "ByteLevel", "add_prefix_space": False, "use_regex": False}:
            return
        case {"type": "ByteLevel", "add_prefix_space": False}:
            yield _isolating(GPT2_PATTERN)
        case {"type": "Digits", "individual_digits": bool(single)}:
            yield _isolating(r"\p{N}" if single else r"\p{N}+")
        case {"type": "Split", "pattern": {"Regex": str(pattern)}, "behavior": "Isolated", "invert": False}:
            yield _isolating(pattern)
        case {"type": "Split", "pattern": {"String": str(text)}, "behavior": "Isolated", "invert": False}:
            yield _isolating(re.escape(text))
        case _:
            raise BadRecord(path, f"{entry} is not reproduced here; hf/PATH runs it", field="pre_tokenizer")


def _isolating(pattern: str) -> Splitter:
    """Cuts a text so that every match, and everything between two matches, is a piece."""
    compiled = compile_pattern(pattern)

    def split(text: str) -> Iterator[str]:
        end = 0
        for match in compiled.finditer(shadow(text)):
            yield from filter(None, (text[end : match.start()], text[match.start() : match.end()]))
            end = match.end()
        yield from filter(None, (text[end:],))

    return split


def _joined(parts: Sequence[str], pair: tuple[str, str]) -> Iterator[str]:
    """The parts with every occurrence of the pair joined, from left to right."""
    index = 0
    while index < len(parts):
        if tuple(parts[index : index + 2]) == pair:
            yield pair[0] + pair[1]
            index += 2
        else:
            yield parts[index]
            index += 1


# ---------------------------- How messages become tokens for ``truegrade-micro``, and which tokens frame them.
#     chat   <|user|> every message, a blank line between <|assistant|> reply <|end|>
#     text   <|user|> text continuation <|end|>
#
# An answer that the prompt begins (a last message of the assistant) stands behind ``<|assistant|>``. Text is
# encoded without looking for special tokens, so that no prompt can close its own turn.


USER, ASSISTANT, END = "<|user|>", "<|assistant|>", "<|end|>"


def prompt_tokens(prompt: Prompt, tokenizer: Tokenizer) -> list[int]:
    """The tokens after which the model writes its reply.

    Raises:
        UserError: the tokenizer lacks the special tokens of this layout.
    """
    for token in (USER, ASSISTANT):
        if token not in tokenizer.special:
            raise UserError(
                f"this model's tokenizer has no token {token}: it was trained on another layout than ours"
            )
    user, assistant = tokenizer.special[USER], tokenizer.special[ASSISTANT]
    contents = [message.content for message in prompt.messages]
    if prompt.style == "text":
        return [user, *tokenizer.encode("\n\n".join(contents))]
    begun = contents.pop() if prompt.messages[-1].role == "assistant" else ""
    return [user, *tokenizer.encode("\n\n".join(contents)), assistant, *tokenizer.encode(begun)]
