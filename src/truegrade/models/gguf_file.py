"""The head of a GGUF file: what a model says about itself before its weights.

Read here and not by llama.cpp, which answers a bad file with one sentence for all causes, and takes ChatML where a
file has no chat template. Layout: ``docs/gguf.md`` of github.com/ggml-org/ggml, versions 2 and 3, little-endian.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from truegrade.errors import UserError

_MAGIC = b"GGUF"
_VERSIONS = (2, 3)
_ALIGNMENT = 32
_STRING, _ARRAY = 8, 9
_NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
"""Kind of value -> its letter in `struct`."""


class GgufHead(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked of the head of a file."""

    architecture: str
    kind: str
    """``model`` or ``adapter``, or another of the format's kinds."""
    context_length: int | None
    """Tokens that the model was trained to read; None where the file does not say."""
    chat_template: str | None
    """Jinja text; None for a base model."""
    temperature: float | None
    """The model's own, which only some files name."""
    top_p: float | None


def read_head(path: Path, what: str) -> GgufHead:
    """Read and check the head of a file.

    Args:
        path: the file.
        what: how a message calls it: the model's name, or the argument.

    Raises:
        UserError: there is no such file, it is no GGUF file, it is damaged or it ends too early.
    """
    try:
        with path.open("rb") as file:
            reader = _Reader(file, path.stat().st_size)
            if file.read(4) != _MAGIC:
                raise UserError(f"{what}: {path} is no GGUF file; name one that llama.cpp's converters wrote")
            return _head(reader)
    except FileNotFoundError:
        raise UserError(f"{what}: there is no file {path}") from None
    except OSError as error:
        raise UserError(f"{what}: {path} cannot be read: {error.strerror}") from None
    except (_Damaged, UnicodeDecodeError, struct.error) as error:
        raise UserError(f"{what}: {path} is damaged: {error}; fetch it again") from None


class _Damaged(Exception):
    """What is wrong with the file."""


class _Reader:
    """Values one after another; nothing is read that would lie behind the end of the file."""

    def __init__(self, file: BinaryIO, size: int) -> None:
        self.file, self._size = file, size

    def number(self, letter: str) -> Any:
        """One number; `letter` as in `struct`."""
        size = struct.calcsize(letter)
        (value,) = struct.unpack(f"<{letter}", self._bytes(size))
        return value

    def text(self) -> str:
        """One string."""
        return self._bytes(self.number("Q")).decode()

    def value(self, kind: int) -> Any:
        """One value of a kind; None for an array, which is passed over: tables of tokens are all that need one."""
        if kind in _NUMBERS:
            return self.number(_NUMBERS[kind])
        if kind == _STRING:
            return self.text()
        if kind != _ARRAY:
            raise _Damaged(f"a value of the unknown kind {kind}")
        of, count = self.number("I"), self.number("Q")
        if of in _NUMBERS:
            self.skip(count * struct.calcsize(_NUMBERS[of]))
        elif of == _STRING:
            for _ in range(count):
                self.skip(self.number("Q"))
        else:
            raise _Damaged(f"an array of values of the kind {of}")
        return None

    def skip(self, count: int) -> None:
        """Pass over so many bytes."""
        self.reach(self.file.tell() + count)
        self.file.seek(count, 1)

    def reach(self, place: int) -> None:
        """See that the file is at least so long."""
        if place > self._size:
            raise _Damaged(f"it ends after {self._size} bytes, and {place} are needed")

    def _bytes(self, count: int) -> bytes:
        self.reach(self.file.tell() + count)
        return self.file.read(count)


def _head(reader: _Reader) -> GgufHead:
    if (version := reader.number("I")) not in _VERSIONS:
        raise _Damaged(f"it says version {version}, and those that are read are 2 and 3")
    tensors, entries = reader.number("Q"), reader.number("Q")
    facts: dict[str, Any] = {}
    for _ in range(entries):
        key = reader.text()
        facts[key] = reader.value(reader.number("I"))
    _reach_weights(reader, tensors, facts.get("general.alignment", _ALIGNMENT))
    architecture = facts.get("general.architecture", "unknown")
    return GgufHead(
        architecture=architecture,
        kind=facts.get("general.type", "model"),
        context_length=facts.get(f"{architecture}.context_length"),
        chat_template=facts.get("tokenizer.chat_template") or None,
        temperature=facts.get("general.sampling.temp"),
        top_p=facts.get("general.sampling.top_p"),
    )


def _reach_weights(reader: _Reader, tensors: int, alignment: int) -> None:
    """See that the file goes on to the last tensor's begin; how long that one is llama.cpp checks."""
    last = 0
    number: Callable[[str], int] = reader.number
    for _ in range(tensors):
        reader.text()
        reader.skip(8 * number("I"))
        number("I")  # the kind of its numbers
        last = max(last, number("Q"))
    begin = -(-reader.file.tell() // alignment) * alignment
    if tensors:
        reader.reach(begin + last + 1)
