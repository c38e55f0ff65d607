"""What a target of the fuzzer is, and how its inputs are drawn."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from random import Random

OPENED = ExitStack()
"""What targets have opened, closed behind the last input."""
MOST_BYTES = 1 << 17
_LENGTHS = [n.to_bytes(4, "little") for n in (0, 1, 7, 255, 1 << 16, (1 << 20) + 1, (1 << 31) - 1, (1 << 32) - 1)]
_NUMBERS = (b"0", b"-1", b"1e999", b"NaN", b"1.5", b"9" * 19, b"9" * 5000, b"null", b"true", b"[]", b"{}", b'""')
_OPENINGS = (
    b"[",
    b"(",
    b'{"a":',
    b"-",
    b"f(",
    b"<think>",
    b"```python\n",
    b"\\\n",
    b"@a\n",
    b"l\1\0\0\0",
    b"not ",
)


@dataclass(frozen=True)
class Target:
    """Something that reads what others wrote."""

    read: Callable[[bytes], None]
    """Raises whatever is no proper answer to an input."""
    tokens: tuple[bytes, ...]
    """Pieces that mean something to it."""
    fresh: Callable[[Random], bytes] | None = None
    """Makes an input out of nothing; half of them are then made so."""
    finished: Callable[[Random, bytes], bytes] = lambda rng, data: data
    """Makes what is read of a mutated input."""


def drawn(rng: Random, target: Target, seeds: list[bytes]) -> bytes:
    """A stored or a fresh input, most often after one to eight changes."""
    data = target.fresh(rng) if target.fresh and rng.random() < 0.5 else rng.choice(seeds)
    for _ in range(rng.choice((0, 1, 1, 2, 3, 8))):
        data = _changed(rng, data, rng.choice(seeds), target.tokens)[:MOST_BYTES]
    return target.finished(rng, data)


def _changed(rng: Random, data: bytes, other: bytes, tokens: tuple[bytes, ...]) -> bytes:
    """The input with one part of it replaced: by nothing, a piece of another, itself many times over, ..."""
    start, end = _span(rng, data)
    numbers = list(re.finditer(rb'-?\d+(?:\.\d+)?|"[^"\\]{0,40}"', data[:4096]))
    times = rng.choice((2, 3, 70, 150, 199, 1500) if rng.random() < 0.95 else (30_000,))
    new = b""
    match rng.choice(("byte", "cut", "other", "token", "token", "length", "repeat", "nest", "number")):
        case "byte":
            new, end = bytes([rng.choice((0, 10, 34, 92, 255, rng.randrange(256)))]), start + 1
        case "other":
            new = other[slice(*_span(rng, other))]
        case "token":
            new = rng.choice(tokens)
        case "length":
            new, end = rng.choice(_LENGTHS), start + 4
        case "repeat":
            new = data[start:end] * min(times, MOST_BYTES // max(1, end - start))
        case "nest":
            new = rng.choice(_OPENINGS) * times
        case "number" if numbers:
            (start, end), new = rng.choice(numbers).span(), rng.choice(_NUMBERS)
    return data[:start] + new + data[end:]


def _span(rng: Random, data: bytes) -> tuple[int, int]:
    """Two places, most often close together."""
    start = rng.randint(0, len(data))
    return start, min(len(data), start + rng.choice((0, 0, 1, 2, 4, 16, 64, sys.maxsize)))
