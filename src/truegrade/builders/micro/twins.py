"""Pairs of repair items that differ by one word of the specification: one buggy program, two right answers.

The two programs of a pair have names that differ in one part, such as ``sum_below_tail`` and ``sum_upto_tail``,
and bodies that differ in one line. The buggy program has on that line what a third name asks for. So the prompts
differ in the function's name alone, and the answer to either is wrong for the other.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from itertools import takewhile

import msgspec

from truegrade.builders.micro import grammar_parts
from truegrade.builders.micro.interpreter import call
from truegrade.builders.micro.programs import (
    GeneratedProgram,
    ProgramParts,
    draw_arguments,
    draw_names,
    draw_parts,
    program_of,
)
from truegrade.builders.micro.repair_rows import CALLS, RepairItem, function_of

CODE_WORDS = tuple(
    sorted(
        word
        for names in (
            grammar_parts.LIST_NAMES,
            grammar_parts.ITEM_NAMES,
            grammar_parts.INDEX_NAMES,
            grammar_parts.RESULT_NAMES,
            grammar_parts.SECOND_NAMES,
            grammar_parts.LIMIT_NAMES,
        )
        for word in names
        if len(word) > 2
    )
)
"""Two of them stand for a hidden part of a name: words that the model can write, in no specification."""


class TwinItems(msgspec.Struct, frozen=True):
    """Two items with one buggy program, its name apart, and with the same calls, on which the three differ."""

    first: RepairItem
    second: RepairItem
    hidden: bool
    """Whether two words that mean nothing stand for the part in which the names differ."""

    @property
    def programs(self) -> frozenset[str]:
        """Identities of the two right programs."""
        return frozenset({self.first.program.identity, self.second.program.identity})


def draw_twins(
    rng: random.Random, size: int, hidden: float = 0.0, known: frozenset[str] = frozenset()
) -> tuple[TwinItems, ...]:
    """Pairs of which no two share a right program. Training shows no such bug: it changes single tokens.

    Args:
        rng: decides everything.
        size: how many.
        hidden: share of pairs whose names do not say what their programs do; see `TwinItems.hidden`.
        known: identities of programs to leave out.
    """
    drawn: list[TwinItems] = []
    taken = set(known)
    while len(drawn) < size:
        pair = _attempt(rng, len(drawn) < round(size * hidden))
        if pair is not None and not pair.programs & taken:
            taken |= pair.programs
            drawn.append(pair)
    rng.shuffle(drawn)
    return tuple(drawn)


def _attempt(rng: random.Random, hidden: bool) -> TwinItems | None:
    """A pair of a drawn program and a neighbour, or None where they cannot be told apart."""
    parts, names = draw_parts(rng), draw_names(rng)
    part = rng.choice(ProgramParts._fields)
    others = [each for each in _neighbours(parts, part) if each.fits and each != parts]
    if len(others) < 2:
        return None
    first, second, third = (program_of(each, names) for each in (parts, *rng.sample(others, 2)))
    if not (_one_line_apart(first, second) and _one_line_apart(first, third)):
        return None
    calls = tuple(draw_arguments(first, rng) for _ in range(CALLS))
    returned = [
        tuple(repr(call(function_of(each.source), arguments)) for arguments in calls)
        for each in (first, second, third)
    ]
    if len(set(returned)) < 3:
        return None
    pair = _without_the_difference(first, second, rng) if hidden else (first, second)
    one, other = (
        RepairItem(program, _renamed(third, program.name), part, calls, expected)
        for program, expected in zip(pair, returned, strict=False)
    )
    return TwinItems(one, other, hidden)


def _without_the_difference(
    one: GeneratedProgram, other: GeneratedProgram, rng: random.Random
) -> Iterator[GeneratedProgram]:
    """Both programs, with words that mean nothing for the words of their names that differ."""
    names = one.name.split("_"), other.name.split("_")
    begin = _alike(*names)
    end = _alike(*(name[begin:][::-1] for name in names))
    for program, words in zip((one, other), names, strict=True):
        code = rng.sample(CODE_WORDS, 2)
        name = "_".join([*words[:begin], *code, *words[len(words) - end :]])
        yield GeneratedProgram(name, _renamed(program, name), name.replace("_", " "), program.second)


def _alike(one: Sequence[str], other: Sequence[str]) -> int:
    """How many words both begin with."""
    return sum(1 for _ in takewhile(lambda both: both[0] == both[1], zip(one, other, strict=False)))


def _neighbours(parts: ProgramParts, part: str) -> Iterator[ProgramParts]:
    """Choices that differ in one part; of a joined filter, in one of its two."""
    if part == "kept" and parts.kept not in grammar_parts.FILTERS:
        one, word, other = parts.kept.split("_")
        plain = [each for each in grammar_parts.JOINED if each not in {one, other}]
        for each in plain:
            yield parts._replace(kept=f"{each}_{word}_{other}")
        return
    table = {
        "aggregate": grammar_parts.AGGREGATES,
        "transform": grammar_parts.TRANSFORMS,
        "kept": grammar_parts.FILTERS,
        "walk": grammar_parts.WALKS,
    }[part]
    for each in table:
        yield parts._replace(**{part: each})


def _one_line_apart(one: GeneratedProgram, other: GeneratedProgram) -> bool:
    """Whether the bodies differ in one line, and the parameters in nothing."""
    lines, others = one.source.split("\n")[1:], other.source.split("\n")[1:]
    if one.second != other.second or len(lines) != len(others):
        return False
    return sum(line != there for line, there in zip(lines, others, strict=True)) == 1


def _renamed(program: GeneratedProgram, name: str) -> str:
    """The program under another name; no program of the grammar calls itself."""
    return program.source.replace(f"def {program.name}(", f"def {name}(", 1)
