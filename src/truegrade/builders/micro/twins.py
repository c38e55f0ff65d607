"""Pairs of repair items that differ by one word of the specification: one buggy program, two right answers.

The two programs of a pair have names that differ in one part, such as ``sum_below_tail`` and ``sum_upto_tail``, and
bodies that differ in one line. The buggy program has on that line what a third name asks for. So the prompts differ
in the function's name alone, and the answer to either is wrong for the other.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

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


class TwinItems(msgspec.Struct, frozen=True):
    """Two items with one buggy program, its name apart, and with the same calls, on which the three differ."""

    first: RepairItem
    second: RepairItem

    @property
    def programs(self) -> frozenset[str]:
        """Identities of the two right programs."""
        return frozenset({self.first.program.identity, self.second.program.identity})


def draw_twins(rng: random.Random, size: int) -> tuple[TwinItems, ...]:
    """Pairs of which no two share a right program. Training shows no such bug: it changes single tokens.

    Args:
        rng: decides everything.
        size: how many.
    """
    drawn: list[TwinItems] = []
    taken: set[str] = set()
    while len(drawn) < size:
        pair = _attempt(rng)
        if pair is not None and not pair.programs & taken:
            taken |= pair.programs
            drawn.append(pair)
    return tuple(drawn)


def _attempt(rng: random.Random) -> TwinItems | None:
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
    items = (
        RepairItem(program, _renamed(third, program.name), part, calls, expected)
        for program, expected in zip((first, second), returned, strict=False)
    )
    return TwinItems(*items)


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
