"""Axes of a search space, randomness that any process repeats, and programs as tokens.

One axis of a search space: a choice among values, or a span of numbers.

A position on an axis, a *gene*, is a number: the index of a value, or the number itself.
"""

from __future__ import annotations

import io
import keyword
import tokenize
from collections.abc import Sequence
from math import exp, inf, log
from random import Random
from typing import Any

import msgspec

from truegrade.records import sha256_json

LOCAL = 0.15
"""Standard deviation of a local step on a span, as a share of it."""
DIGITS = 4
"""Significant, of a real gene: so that what is written is what was used."""


class Choices(msgspec.Struct, frozen=True, kw_only=True):
    """A few values. Where they are ordered, neighbours are alike."""

    name: str
    values: tuple[Any, ...]
    ordered: bool = True

    @property
    def size(self) -> float:
        """Different genes."""
        return len(self.values)

    def draw(self, rng: Random) -> float:
        """Any gene, all equally likely."""
        return rng.randrange(len(self.values))

    def step(self, gene: float, rng: Random) -> float:
        """Another gene: a neighbour where there is an order, one in five times two places off; else any other."""
        last, here = len(self.values) - 1, int(gene)
        if last == 0:
            return here
        if not self.ordered:
            return (here + 1 + rng.randrange(last)) % (last + 1)
        reach = 2 if rng.random() < 0.2 else 1
        near = [here + offset for offset in (-reach, reach) if 0 <= here + offset <= last]
        return rng.choice(near or [here + offset for offset in (-1, 1) if 0 <= here + offset <= last])

    def at(self, share: float) -> float:
        """The gene at a share, [0, 1), of the axis."""
        return min(int(share * len(self.values)), len(self.values) - 1)

    def read(self, gene: float) -> Any:
        """The value that a gene stands for."""
        return self.values[int(gene)]

    def write(self, value: Any) -> float:
        """The gene of a value, or of the nearest where numbers do not match exactly."""
        if value in self.values or not self.ordered:
            return self.values.index(value)
        return min(range(len(self.values)), key=lambda index: abs(self.values[index] - value))


class NumberRange(msgspec.Struct, frozen=True, kw_only=True):
    """All numbers between two bounds, both included."""

    name: str
    low: float
    high: float
    log: bool = False
    whole: bool = False

    @property
    def size(self) -> float:
        """Different genes, as far as one can count them."""
        if self.low == self.high:
            return 1
        return self.high - self.low + 1 if self.whole else inf

    def draw(self, rng: Random) -> float:
        """Any gene; on a logarithmic span every factor is equally likely."""
        return self.at(rng.random())

    def step(self, gene: float, rng: Random) -> float:
        """A gene nearby: a normal step, and at least one where numbers are whole."""
        if self.size == 1:
            return gene
        moved = self.at(self._share(gene) + rng.gauss(0.0, LOCAL))
        if self.whole and moved == gene:
            up = gene == self.low or (gene != self.high and rng.random() < 0.5)
            moved = gene + (1 if up else -1)
        return moved

    def at(self, share: float) -> float:
        """The gene at a share of the axis; beyond its ends, the end."""
        share = min(1.0, max(0.0, share))
        if self.whole and not self.log:
            return min(int(self.high), int(self.low + share * (self.high - self.low + 1)))
        if self.log:
            value = exp(log(self.low) + share * (log(self.high) - log(self.low)))
        else:
            value = self.low + share * (self.high - self.low)
        return self.clip(round(value) if self.whole else _tidy(value))

    def clip(self, gene: float) -> float:
        """The gene, moved to the nearer bound where it lies outside."""
        return min(self.high, max(self.low, gene))

    def read(self, gene: float) -> Any:
        """The number, tidy."""
        return int(gene) if self.whole else self.clip(_tidy(gene))

    def write(self, value: Any) -> float:
        """The gene of a number."""
        return self.clip(value)

    def _share(self, gene: float) -> float:
        if self.log:
            return (log(gene) - log(self.low)) / (log(self.high) - log(self.low))
        if self.whole:
            return (gene - self.low + 0.5) / (self.high - self.low + 1)
        return (gene - self.low) / (self.high - self.low)


def _tidy(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")


Dimension = Choices | NumberRange


# ------------------------- Randomness that any process repeats: one stream for each seed, generation and slot.


def stable_hash(value: object) -> int:
    """A whole number of 256 bits: SHA-256 of the value's canonical JSON.

    The same in every process; Python's own ``hash`` of a string is not, unless PYTHONHASHSEED says so.
    """
    return int(sha256_json(value), 16)


def stream(seed: int, generation: int, slot: int, purpose: str = "") -> Random:
    """The random numbers for one genome.

    Independent streams, so that neither the number of genomes nor what was drawn for others plays a part. Two
    strategies with one seed draw the same first genomes, which takes luck out of their comparison.

    Args:
        seed: of the search.
        generation: from 0.
        slot: place in the generation, from 0; -1 for what concerns the whole generation.
        purpose: tells streams of one slot apart.
    """
    return Random(stable_hash(["truegrade evolution", seed, generation, slot, purpose]))


# ----------------------------------------------------- Programs as Python's tokens, layout and comments apart.


PLACEHOLDER = "N"
"""Stands for every name."""

_LAYOUT = frozenset(
    {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
)


def tokens_of(source: str) -> list[tokenize.TokenInfo]:
    """The tokens that mean something.

    Raises:
        SyntaxError: the text cannot be tokenised.
    """
    try:
        found = list(tokenize.generate_tokens(io.StringIO(source).readline))
    except (tokenize.TokenError, UnicodeError) as error:  # the latter since 3.12, of surrogates and odd newlines
        raise SyntaxError(str(error)) from None
    return [token for token in found if token.type not in _LAYOUT]


def nameless(source: str) -> list[str]:
    """The tokens' texts, every name that is no keyword made one placeholder.

    Text that cannot be tokenised is split at white space.
    """
    try:
        found = tokens_of(source)
    except SyntaxError:
        return source.split()
    return [
        PLACEHOLDER if token.type == tokenize.NAME and not keyword.iskeyword(token.string) else token.string
        for token in found
    ]


def is_one_token(before: str, after: str) -> bool:
    """Whether one program becomes the other by putting in, taking out or replacing one token.

    Raises:
        SyntaxError: one of them cannot be tokenised.
    """
    one = [token.string for token in tokens_of(before)]
    other = [token.string for token in tokens_of(after)]
    head = _shared(one, other)
    tail = _shared(one[head:][::-1], other[head:][::-1])
    return max(len(one), len(other)) - head - tail == 1


def ngrams(tokens: Sequence[str], size: int) -> frozenset[tuple[str, ...]]:
    """All spans of so many tokens; none where there are fewer."""
    return frozenset(tuple(tokens[start : start + size]) for start in range(len(tokens) - size + 1))


def _shared(one: Sequence[str], other: Sequence[str]) -> int:
    """How many tokens both begin with."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((place for place, (a, b) in pairs if a != b), min(len(one), len(other)))
