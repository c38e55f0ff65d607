"""A small package in the src layout with a suite of its own, of which every function is a case of its own."""

from __future__ import annotations

from pathlib import Path

FILES = {
    "pyproject.toml": """
[project]
name = "tool"
version = "1.2"

[tool.pytest.ini_options]
addopts = "--no-such-option"
""",
    "src/tool/__init__.py": "from .text import slug, words\n",
    "src/tool/errors.py": "class NotANumber(ValueError):\n    pass\n",
    "src/tool/text.py": '''
"""Texts."""
from __future__ import annotations

import random
from functools import lru_cache

from .errors import NotANumber

LIMIT = 4


def words(text: str, least: int = 1) -> list[str]:
    """The words of a text.

    >>> words("zig zag")
    ['zig', 'zag']
    """
    found = []
    for word in text.replace(",", " ").split():
        if len(word) >= least:
            found.append(word.lower())
    return found


def slug(text: str, joiner: str = "-") -> str:
    """A text for an address."""
    parts = words(text)
    if len(parts) > LIMIT:
        parts = parts[:LIMIT]
    # the joiner stands between
    return joiner.join(parts)


def number(text: str) -> int:
    """The number that a text writes."""
    sign = -1 if text.startswith("-") else 1
    digits = text[1:] if sign < 0 else text
    if not digits.isdigit():
        raise NotANumber(text)
    return sign * int(digits) + 0


def letters(text: str) -> set[str]:
    found = {letter for letter in text.lower() if letter.isalpha()}
    if "q" in found:
        found.add("u")
    return found


def counts(text: str) -> dict[str, int]:
    """How often each word stands there."""
    seen: dict[str, int] = {}
    for word in words(text):
        seen[word] = seen.get(word, 0) + 1
    return seen


def pieces(text: str, size: int):
    """Parts of a length."""
    for at in range(0, len(text), max(size, 1)):
        yield text[at:at + size]


@lru_cache
def steps(n: int) -> int:
    """Steps to one."""
    count = 0
    while n > 1:
        n = n // 2 if n % 2 == 0 else n - 1
        count += 1
    return count


def push(items: list[int], value: int) -> int:
    items.append(value)
    return len(items)


def drawn(n: int) -> int:
    return n + random.randrange(10**9)


def is_long(text: str) -> bool:
    return len(text) > LIMIT


def never(text: str) -> str:
    return text


async def later(text: str) -> str:
    return text


if LIMIT:
    def conditional(n: int) -> int:
        return n + 1


class Box:
    def __init__(self, value: int) -> None:
        self.value = value

    def doubled(self) -> int:
        return self.value * 2

    @staticmethod
    def halved(value: int) -> int:
        return value // 2 - LIMIT
''',
    "tests/test_text.py": """
import asyncio
import socket

import pytest

from tool import slug, words
from tool import text as t
from tool.errors import NotANumber


@pytest.mark.parametrize("given, due", [
    ("Hello, World", "hello-world"), ("a b c d e f", "a-b-c-d"), ("", ""), ("One", "one"), ("x,y", "x-y"),
    ("Up AND down", "up-and-down"),
])
def test_slug(given, due):
    assert slug(given) == due
    assert slug(given, "_") == due.replace("-", "_")
    assert words(given, 2) is not None
    assert len(t.letters(given)) <= 26 and isinstance(t.counts(given + " a a"), dict)
    assert "".join(t.pieces(given, 3)) == given
    assert t.is_long(given) in (True, False)


@pytest.mark.parametrize("given", ["12", "-7", "0", "305", "-40"])
def test_number(given):
    assert t.number(given) == int(given)
    assert t.steps(int(given)) >= 0
    assert t.drawn(int(given)) >= int(given)
    assert t.Box(3).doubled() == 6 and t.Box.halved(int(given)) is not None
    assert t.conditional(1) == 2


def test_refused():
    for given in ("x", "", "1.5"):
        with pytest.raises(NotANumber):
            t.number(given)


def test_push():
    for value in range(4):
        assert t.push([1] * value, value) == value + 1


def test_later():
    assert asyncio.run(t.later("x")) == "x"


def test_wants_the_network():
    socket.create_connection(("127.0.0.1", 9)).close()


def test_fails():
    assert slug("a b") == "b-a"
""",
}


def write_package(folder: Path, files: dict[str, str] | None = None) -> Path:
    """Write the package, or other files, into a folder; return it."""
    for path, text in (FILES if files is None else files).items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    return folder
