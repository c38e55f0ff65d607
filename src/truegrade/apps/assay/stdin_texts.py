"""New inputs for programs on stdin: known ones with a few tokens changed, added or taken away.

An input is read as lines of tokens. Numbers that say how many tokens or lines follow stay right, and what holds in
every known input (a sorted line, no number twice, one number never above another) holds in the new ones. Whether a
new input is one of the problem is not decided here: the references are to be asked.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from itertools import combinations, pairwise
from typing import NamedTuple

MOST_TEXTS = 40
"""Generated inputs of a problem: every program is started once for each."""
_TRIES = 12
"""Inputs drawn for each one wanted: some are known, and some break a rule."""
_MOST_CHANGES = 3
_MOST_TOKENS = 400
"""Known inputs of more tokens are no patterns for new ones, which are to be short."""
_GROUPS = (1, 2, 3)
"""Lines that one counted item may have: a test case of ``n`` and a list has two."""
_HEAD = 3
"""Tokens of a line that may say how much follows."""
_LINES_BESIDES = 4
"""Lines that may stand between the first and those that it counts, or behind them."""
_MOST_COMPARED = 6
"""Numbers of a line whose order is looked at."""
_NEAR = 10
"""What numbers may come to, however small the known ones are."""

Lines = list[list[str]]


class _Grammar(NamedTuple):
    """What the counts of all known inputs say."""

    group: int
    """Lines of each item behind the first line, whose first number counts them; 0 where none does."""
    counting: frozenset[tuple[int, int]]
    """Line (`place`) and position of the numbers that say how many tokens the next line has."""

    def place(self, line: int) -> int:
        """The same number for all lines that play the same part."""
        return 1 + (line - 1) % self.group if self.group and line else line

    def counted(self, line: int) -> bool:
        """Whether a number of the line before says how many tokens this one has."""
        return any(self.place(line - 1) == place for place, _ in self.counting) if line else False

    def is_count(self, line: int, position: int) -> bool:
        """Whether a token says how much follows."""
        return (self.group > 0 and (line, position) == (0, 0)) or (self.place(line), position) in self.counting

    def slot(self, line: int, position: int) -> tuple[int, int]:
        """The same for tokens that play the same part."""
        return self.place(line), -1 if self.counted(line) else position


def generated_texts(known: Sequence[str], *, seed: int | str, limit: int) -> list[str]:
    """New inputs near known ones, so many at most; equal seeds and known inputs give equal ones."""
    patterns = [lines for text in known if sum(map(len, lines := _read(text))) in range(1, _MOST_TOKENS + 1)]
    if not patterns:
        return []
    writer = _Writer(patterns, random.Random(f"{seed}"))
    seen = {_text(lines) for lines in patterns}
    kept: list[str] = []
    for _ in range(_TRIES * limit):
        if len(kept) >= limit:
            break
        text = writer.drawn()
        if text is not None and text not in seen:
            seen.add(text)
            kept.append(text)
    return kept


class _Writer:
    """Draws new inputs."""

    def __init__(self, patterns: Sequence[Lines], rng: random.Random) -> None:
        self._patterns, self._rng = patterns, rng
        self._grammar = _grammar(patterns)
        asked = [each for lines in patterns for each in _rules_of_places(lines, self._grammar)]
        self._rules = {rule for rule, _ in asked} - {rule for rule, holds in asked if not holds}
        self._values: dict[tuple[int, int], list[str]] = {}
        for lines in patterns:
            for line, tokens in enumerate(lines):
                for position, token in enumerate(tokens):
                    self._values.setdefault(self._grammar.slot(line, position), []).append(token)
        self._changes = [self._token, self._token, self._line, self._item]

    def drawn(self) -> str | None:
        """A known input after a few changes; None where it breaks a rule."""
        lines = [list(tokens) for tokens in self._rng.choice(self._patterns)]
        for _ in range(self._rng.randint(1, _MOST_CHANGES)):
            self._rng.choice(self._changes)(lines)
        broken = (rule in self._rules for rule, holds in _rules_of_places(lines, self._grammar) if not holds)
        return None if any(broken) else _text(lines)

    def _token(self, lines: Lines) -> None:
        """Another value in one place."""
        free = [
            (line, position)
            for line, tokens in enumerate(lines)
            for position in range(len(tokens))
            if not self._grammar.is_count(line, position)
        ]
        if free:
            line, position = self._rng.choice(free)
            lines[line][position] = self._other(lines[line][position], self._grammar.slot(line, position))

    def _line(self, lines: Lines) -> None:
        """A counted line with a token more or less, or in another order."""
        counted = [line for line in range(1, len(lines)) if self._grammar.counted(line)]
        if not counted:
            return
        line = self._rng.choice(counted)
        tokens = lines[line]
        match self._rng.choice(("more", "less", "sort", "reverse", "shuffle", "alike")):
            case "more":
                tokens.insert(self._rng.randint(0, len(tokens)), self._other(None, self._grammar.slot(line, 0)))
            case "less" if len(tokens) > 1:
                del tokens[self._rng.randrange(len(tokens))]
            case "sort":
                tokens.sort(key=_order)
            case "reverse":
                tokens.reverse()
            case "shuffle":
                self._rng.shuffle(tokens)
            case "alike" if tokens:
                tokens[:] = [self._rng.choice(tokens)] * len(tokens)
        before = self._grammar.place(line - 1)
        for place, position in self._grammar.counting:
            if place == before and position < len(lines[line - 1]):
                lines[line - 1][position] = str(len(tokens))

    def _item(self, lines: Lines) -> None:
        """A counted item more or less, or all in another order."""
        group = self._grammar.group
        if not group:
            return
        items = [lines[start : start + group] for start in range(1, len(lines), group)]
        other = self._rng.choice(self._patterns)
        given = [other[start : start + group] for start in range(1, len(other), group)]
        match self._rng.choice(("more", "less", "shuffle")):
            case "more" if given:
                fresh = [list(tokens) for tokens in self._rng.choice(given)]
                items.insert(self._rng.randint(0, len(items)), fresh)
            case "less" if len(items) > 1:
                del items[self._rng.randrange(len(items))]
            case "shuffle":
                self._rng.shuffle(items)
        lines[1:] = [tokens for item in items for tokens in item]
        lines[0][0] = str(len(items))

    def _other(self, token: str | None, slot: tuple[int, int]) -> str:
        """Another token for a slot: one seen there, or for numbers one between those seen and near this one."""
        values = self._values[slot]
        token = self._rng.choice(values) if token is None else token
        if len(values) > 2 and len(set(values)) == 1:  # a constant of the format
            return token
        numbers = [int(value) for value in values if _is_int(value)]
        if len(numbers) < len(values):
            return self._word(token, values)
        low, high = min(numbers), max(numbers)
        top = max(high, min(_NEAR, 2 * high)) if low >= 0 else high
        number = self._rng.choice(
            [low, high, int(token) + 1, int(token) - 1, self._rng.randint(low, top), self._rng.choice(numbers)]
        )
        return str(max(low, min(number, top)))

    def _word(self, token: str, values: Sequence[str]) -> str:
        """A word seen there; or one of as many of its letters, in another order."""
        if self._rng.random() < 1 / 2 or any(map(_is_number, values)):
            alike = [value for value in values if len(value) == len(token)]
            return self._rng.choice(alike if self._rng.random() < 1 / 2 else values)
        letters = sorted(set("".join(values)))
        return "".join(self._rng.choice(letters) for _ in token)


# --------------------------------------------------------------------------------------- what always holds


def _grammar(patterns: Sequence[Lines]) -> _Grammar:
    groups = [
        group
        for group in _GROUPS
        if all(lines[0] and _counts(lines[0][0], len(lines) - 1, group) for lines in patterns)
    ]
    plain = _Grammar(groups[0] if groups else 0, frozenset())
    held: dict[tuple[int, int], bool] = {}
    for lines in patterns:
        for line, (tokens, following) in enumerate(pairwise([*lines, []])):
            for position, token in enumerate(tokens[:_HEAD]):
                key = plain.place(line), position
                held[key] = held.get(key, True) and _counts(token, len(following), 1)
    first = (0, 0) if groups else None
    return _Grammar(plain.group, frozenset(key for key, every in held.items() if every and key != first))


def _counts(token: str, number: int, group: int) -> bool:
    return _is_int(token) and int(token) >= 1 and int(token) * group == number


_Rule = tuple[str, int, int, int]
"""Name, place of the line, and two positions."""
_WHOLE = -1
"""In place of a line: all numbers of an input of few."""


def _rules_of_places(lines: Lines, grammar: _Grammar) -> Iterator[tuple[_Rule, bool]]:
    """Each rule, and whether it holds in one place of an input."""
    for position, token in enumerate(lines[0][:_HEAD]):
        for besides in () if grammar.is_count(0, position) else range(_LINES_BESIDES):
            yield ("says how many lines", 0, position, besides), token == str(len(lines) - 1 - besides)
    for line, tokens in enumerate(lines):
        place = grammar.place(line)
        if grammar.counted(line):
            yield from _of_list(tokens, place)
        elif all(map(_is_int, tokens)) and len(tokens) <= _MOST_COMPARED and not grammar.counted(line):
            yield from _of_numbers(list(map(int, tokens)), place)
        yield from _of_head(lines, line, grammar)
    every = [token for tokens in lines for token in tokens]
    fixed = not grammar.group and not grammar.counting
    if fixed and len(lines) > 1 and len(every) <= _MOST_COMPARED and all(map(_is_int, every)):
        yield from _of_numbers(list(map(int, every)), _WHOLE)
    yield from _of_columns(lines, grammar)
    yield from _of_widths(lines, grammar)


def _of_list(tokens: list[str], place: int) -> Iterator[tuple[_Rule, bool]]:
    if len(tokens) > 1:
        yield ("distinct", place, 0, 0), len(set(tokens)) == len(tokens)
        yield ("rising", place, 0, 0), tokens == sorted(tokens, key=_order)
        yield ("falling", place, 0, 0), tokens == sorted(tokens, key=_order, reverse=True)
    if all(map(_is_int, tokens)):
        yield ("up to its count", place, 0, 0), all(int(token) <= len(tokens) for token in tokens)


def _of_numbers(numbers: list[int], place: int) -> Iterator[tuple[_Rule, bool]]:
    for (one, value), (other, following) in combinations(enumerate(numbers), 2):
        yield ("not above", place, one, other), value <= following
        yield ("not below", place, one, other), value >= following
        yield ("other than", place, one, other), value != following
        yield ("next to", place, one, other), abs(value - following) == 1


def _of_head(lines: Lines, line: int, grammar: _Grammar) -> Iterator[tuple[_Rule, bool]]:
    """No number of a line is above one of the first line, as numbers of places are."""
    for head, limit in enumerate(lines[0][:_HEAD] if line else []):
        for position, token in enumerate(lines[line][:_MOST_TOKENS]):
            if _is_int(limit) and _is_int(token):
                slot = grammar.slot(line, position)
                yield ("up to the first line's", *slot, head), int(token) <= int(limit)


def _of_columns(lines: Lines, grammar: _Grammar) -> Iterator[tuple[_Rule, bool]]:
    """Numbers below each other, in lines that play the same part."""
    columns: dict[tuple[int, int], list[int]] = {}
    for line in range(1, len(lines)):
        for position, token in enumerate([] if grammar.counted(line) else lines[line][:_MOST_COMPARED]):
            if _is_int(token):
                columns.setdefault(grammar.slot(line, position), []).append(int(token))
    for (place, position), values in columns.items():
        if len(values) > 1:
            yield ("distinct below", place, position, 0), len(set(values)) == len(values)
            yield ("rising below", place, position, 0), values == sorted(values)
            yield ("falling below", place, position, 0), values == sorted(values, reverse=True)


def _of_widths(lines: Lines, grammar: _Grammar) -> Iterator[tuple[_Rule, bool]]:
    """Lines of one word: texts, or the rows of a grid."""
    widths: dict[int, int] = {}
    for line, tokens in enumerate(lines):
        if not line or len(tokens) != 1 or _is_int(tokens[0]):
            continue
        width, place = len(tokens[0]), grammar.place(line)
        if place in widths:
            yield ("as long as others", place, 0, 0), widths[place] == width
        widths[place] = width
        for name, other in (("as long as the first line says", 0), ("as long as the line before says", line - 1)):
            for position, token in enumerate(lines[other][:_HEAD]):
                if (token, width) != ("1", 1):  # which may be a coincidence
                    yield (name, place, position, 0), token == str(width)


def _order(token: str) -> tuple[bool, int, str]:
    return (False, int(token), "") if _is_int(token) else (True, 0, token)


def _is_int(token: str) -> bool:
    return len(token) <= 20 and token.removeprefix("-").isdecimal() and token.isascii()


def _is_number(token: str) -> bool:
    try:
        float(token)
    except ValueError:
        return False
    return True


def _read(text: str) -> Lines:
    """Lines of tokens, without empty lines at the end."""
    return [line.split() for line in text.rstrip().split("\n")]


def _text(lines: Lines) -> str:
    return "".join(f"{' '.join(tokens)}\n" for tokens in lines)
