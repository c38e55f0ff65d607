"""Inputs of contest size for the problems: a right program takes about 1 to 5 ms for one of them.

As where contests test for speed: thousands of numbers, words, rows or edges, and answers too long for a grader's
metadata to hold whole.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping
from itertools import accumulate, pairwise
from types import MappingProxyType
from typing import Any

BILLION = 10**9


def _numbers(chance: random.Random, fewest: int, most: int, low: int = -BILLION, high: int = BILLION) -> list[int]:
    return chance.choices(range(low, high + 1), k=chance.randint(fewest, most))


def _text(chance: random.Random, letters: str, fewest: int, most: int) -> str:
    return "".join(chance.choices(letters, k=chance.randint(fewest, most)))


def _words(chance: random.Random, fewest: int, most: int, letters: str = "abcdef", longest: int = 8) -> list[str]:
    lengths = chance.choices(range(1, longest + 1), k=chance.randint(fewest, most))
    ends = [0, *accumulate(lengths)]
    text = "".join(chance.choices(letters, k=ends[-1]))
    return [text[start:end] for start, end in pairwise(ends)]


def _matrix(chance: random.Random, fewest: int, most: int) -> list[list[int]]:
    width = chance.randint(fewest, most)
    return [chance.choices(range(1000), k=width) for _ in range(chance.randint(fewest, most))]


def _pair_at_the_end(chance: random.Random) -> list[Any]:
    """Two of the last numbers are the first to add up, nearly always."""
    numbers = _numbers(chance, 8000, 20000)
    return [numbers, numbers[-1] + numbers[-2]]


def _mirrored(chance: random.Random) -> str:
    """The second half in the other case; one time in three, a letter is wrong."""
    half = _text(chance, "Aa, bB.c", 10000, 30000)
    middle = chance.choice(("", "a", "xy"))
    return half + middle + half[::-1].swapcase()


def _intervals(chance: random.Random) -> list[list[int]]:
    starts = _numbers(chance, 3000, 8000, 0, 40000)
    return [[start, start + chance.randrange(12)] for start in starts]


def _brackets(chance: random.Random) -> str:
    """Nests one after another; one time in three, one closes or stays open too many."""
    nests = "".join(
        "(" * depth + ")" * depth for depth in chance.choices(range(1, 200), k=chance.randint(150, 400))
    )
    return chance.choice(("(" + nests + ")", nests + nests[:2], nests + chance.choice("()")))


def _rows(head: object, rows: Iterable[object]) -> str:
    return "\n".join([str(head), *map(str, rows)]) + "\n"


def _in_a_line(items: list[Any]) -> str:
    return _rows(len(items), [" ".join(map(str, items))])


def _grid(chance: random.Random) -> str:
    width, height = chance.randint(150, 250), chance.randint(100, 200)
    return _rows(height, ["".join(chance.choices("#.", k=width)) for _ in range(height)])


def _graph(chance: random.Random) -> str:
    n, m = chance.randint(2000, 5000), chance.randint(1500, 5000)
    ends = chance.choices(range(1, n + 1), k=2 * m)
    return _rows(f"{n} {m}", [f"{a} {b}" for a, b in zip(ends[::2], ends[1::2])])


def _ranges(chance: random.Random) -> str:
    numbers, q = _numbers(chance, 2000, 6000), chance.randint(2000, 6000)
    ends = chance.choices(range(1, len(numbers) + 1), k=2 * q)
    asked = [f"{min(a, b)} {max(a, b)}" for a, b in zip(ends[::2], ends[1::2])]
    return _rows(f"{len(numbers)} {q}", [" ".join(map(str, numbers)), *asked])


CONTEST_SIZE: Mapping[str, Callable[[random.Random], Any]] = MappingProxyType({
    "two_sum": _pair_at_the_end,
    "longest_run": lambda c: [_text(c, "aab", 10000, 40000)],
    "rotate": lambda c: [_matrix(c, 120, 220)],
    "is_palindrome": lambda c: [_mirrored(c)],
    "average": lambda c: [_numbers(c, 20000, 50000, -1000, 1000)],
    "merge": lambda c: [_intervals(c)],
    "climb": lambda c: [c.randint(6000, 20000)],
    "group": lambda c: [_words(c, 2000, 6000)],
    "frequencies": lambda c: [_words(c, 8000, 25000, "ab", 10)],
    "primes": lambda c: [c.randint(2000, 6000)],
    "min_coins": lambda c: [[c.randint(2, 50) for _ in range(2)], c.randint(5000, 15000)],
    "spiral": lambda c: [_matrix(c, 50, 90)],
    "first_missing": lambda c: [_numbers(c, 15000, 40000, -1000, 3000)],
    "total": lambda c: _in_a_line(_numbers(c, 10000, 20000)),
    "reverse_lines": lambda c: "\n".join(_words(c, 4000, 12000, "abc", 20)) + "\n",
    "yes_no": lambda c: _rows(len(numbers := _numbers(c, 8000, 20000, 0)), numbers),
    "mean": lambda c: _in_a_line(_numbers(c, 10000, 30000, -1000, 1000)),
    "grid": _grid,
    "sorted_words": lambda c: _in_a_line(_words(c, 4000, 12000)),
    "largest": lambda c: _in_a_line(_numbers(c, 10000, 20000)),
    "brackets": lambda c: _brackets(c) + "\n",
    "digits": lambda c: _text(c, "0123456789", 10000, 50000) + "\n",
    "table": lambda c: f"{c.randint(90, 180)}\n",
    "paths": lambda c: f"{c.randint(150, 300)} {c.randint(150, 300)}\n",
    "components": _graph,
    "queries": _ranges,
})  # fmt: skip
"""By the problem's name, what draws its input."""
