"""What the replies have in common whose verdicts flip in batches, where no rule says all verdicts.

Each of some hundred features of a reply's place, and then each two of them, is held against the verdicts: the one
that tells flips from the rest is named where chance would hardly give it in so many looks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from math import comb
from statistics import median
from typing import NamedTuple

from truegrade.apps.assay.batch_rules import (
    BEGINNINGS,
    CONDITIONS,
    Condition,
    Key,
    PlaceInBatch,
    first_characters,
)

_LEAST_FLIPS = 3
_TOLD_APART, _BY_BOTH, _LEAST_TOLD = 3, 5, 2
"""Times as many flips as are told wrongly there have to be: by one feature, by two, and by one that is a part."""
_BY_CHANCE = 0.001
"""Chance, from which on none is named, that one of all that are looked at tells as much."""

_ALIKE: Mapping[str, Key] = {
    "its text": lambda one: one.text,
    "all but its operators": lambda one: one.words,
    "all but its numbers": lambda one: one.numberless,
    "its names": lambda one: one.names,
    **{f"its first {size} characters": first_characters(size) for size in sorted(BEGINNINGS, reverse=True)},
    "its first line": lambda one: one.start.partition("\n")[0],
    "its length": lambda one: one.chars,
    "its number of lines": lambda one: one.lines,
}
"""What a reply may have in common with an earlier one."""


class _Number(NamedTuple):
    value: Callable[[PlaceInBatch], float]
    at_least: str
    at_most: str
    is_place: bool = False
    """Whether it counts from 0: so many first ones end one place before their number."""


def _run(it: PlaceInBatch, *, right: bool) -> int:
    """How many replies in a row right before it, batches before its own included, are right, or wrong."""
    before = it.earlier(across=True)
    return next((n for n, one in enumerate(reversed(before)) if one.is_right is not right), len(before))


_NUMBERS: Sequence[_Number] = (
    _Number(
        lambda it: it.one.chars / median(one.chars for one in it.batch) if len(it.batch) > 1 else 1.0,
        "of {:.2g} times the median length of its batch and more",
        "of {:.2g} times the median length of its batch and less",
    ),
    _Number(
        lambda it: it.place,
        "behind the first {:.0f} of its batch",
        "among the first {:.0f} of its batch",
        is_place=True,
    ),
    _Number(lambda it: len(it.batch), "in a batch of {:.0f} and more", "in a batch of {:.0f} and less"),
    _Number(
        lambda it: len(it.before) + it.place,
        "behind the first {:.0f} replies of all",
        "among the first {:.0f} replies of all",
        is_place=True,
    ),
    _Number(
        lambda it: sum(one.problem_id == it.one.problem_id for one in it.earlier(across=True)),
        "behind the first {:.0f} replies to its problem",
        "among the first {:.0f} replies to its problem",
        is_place=True,
    ),
    _Number(
        lambda it: sum(one.problem_id == it.one.problem_id for one in it.batch),
        "to a problem with {:.0f} replies and more in its batch",
        "to a problem with {:.0f} replies and less in its batch",
    ),
    _Number(
        lambda it: _run(it, right=False),
        "right behind {:.0f} wrong ones and more",
        "behind {:.0f} wrong ones or less",
    ),
    _Number(
        lambda it: _run(it, right=True),
        "right behind {:.0f} right ones and more",
        "behind {:.0f} right ones or less",
    ),
    _Number(lambda it: it.one.chars, "of {:.0f} characters and more", "of {:.0f} characters and less"),
)


def _like(key: Key, right: bool, *, where: str, same_problem: bool) -> Condition:
    def holds(it: PlaceInBatch) -> bool:
        others = {
            "before it": it.earlier(across=True),
            "right before it": it.earlier(across=True)[-1:],
            "beside it": [*it.earlier(across=False), *it.batch[it.place + 1 :]],
        }[where]
        return any(
            key(one) == key(it.one)
            for one in others
            if one.is_right is right and (not same_problem or one.problem_id == it.one.problem_id)
        )

    return holds


_OF_REPLY: Mapping[str, Condition] = {
    "without a program": lambda it: it.one.hollow,
    "that solves another problem": lambda it: it.one.solves not in ("", it.one.problem_id),
    "that solves the problem of another row of its batch": lambda it: (
        it.one.solves != it.one.problem_id and any(one.problem_id == it.one.solves for one in it.batch)
    ),
    "that is the longest of its batch": lambda it: (
        len(it.batch) > 1 and it.one.chars == max(one.chars for one in it.batch)
    ),
    "that is the shortest of its batch": lambda it: (
        len(it.batch) > 1 and it.one.chars == min(one.chars for one in it.batch)
    ),
}


def _features(places: Sequence[PlaceInBatch]) -> Iterator[tuple[str, int]]:
    """What is true of some replies, behind "a right reply", and these as bits; simple ones first."""
    both = {**CONDITIONS, **_OF_REPLY}
    for phrase, condition in both.items():
        yield phrase, _mask(map(condition, places))
    for phrase, condition in both.items():
        yield (f"not {phrase}", _mask(not condition(it) for it in places))
    for each in _NUMBERS:
        values = [each.value(it) for it in places]
        for low, high in zip(known := sorted({*values}), known[1:], strict=False):
            edge = high if each.is_place else low
            yield (each.at_least.format(high), _mask(value >= high for value in values))
            yield (each.at_most.format(edge), _mask(value <= low for value in values))
    for where in ("right before it", "before it", "beside it"):
        for side in (True, False):
            for same_problem in (False, True):
                whose = f"a {'right' if side else 'wrong'} one {where}"
                whose += " to the same problem" if same_problem else ""
                for what, key in _ALIKE.items():
                    holds = _like(key, side, where=where, same_problem=same_problem)
                    yield (f"that shares {what} with {whose}", _mask(map(holds, places)))


def _mask(holds: Iterable[bool]) -> int:
    return sum(1 << place for place, one in enumerate(holds) if one)


def pattern_of_flips(standing: Sequence[tuple[PlaceInBatch, bool | None]]) -> str:
    """Which right replies are refused, and which wrong ones accepted, with how many are; empty where no feature
    tells them.

    Args:
        standing: each reply, and whether it was accepted, None where it got no verdict; wrong ones that are
            accepted alone, too, are not among them.
    """
    said = []
    for right, does in ((True, "refuses a right"), (False, "accepts a wrong")):
        side = [
            (it, verdict is not right)
            for it, verdict in standing
            if it.one.is_right is right and verdict is not None
        ]
        flips = _mask(flipped for _, flipped in side)
        if _LEAST_FLIPS <= flips.bit_count() < len(side) and (found := _told_apart([it for it, _ in side], flips)):
            said.append(f"{does} reply {found}")
    return " and ".join(said)


def _told_apart(places: Sequence[PlaceInBatch], flips: int) -> str:
    """The first feature, or the first two, that tell flips from the rest; else one with which all flip."""
    whole = (1 << len(places)) - 1
    known: dict[int, str] = {}
    for phrase, of in _features(places):
        if of not in (0, whole):  # of several that are true of the same replies the first is told
            known.setdefault(of, phrase)
    pairs = {
        first & other: f"{known[first]} and {known[other]}"
        for first, other in combinations(known, 2)
        if (first & other & flips).bit_count() * _BY_BOTH >= flips.bit_count() * (_BY_BOTH - 1)
    }
    flipping = {of: phrase for of, phrase in known.items() if of & ~flips == 0}
    for among, least in ((known, _TOLD_APART), (pairs, _BY_BOTH), (flipping, _LEAST_TOLD)):
        best = min(among, key=lambda of: (of ^ flips).bit_count(), default=0)
        off, matched = (best ^ flips).bit_count(), (best & flips).bit_count()
        looks = len(known) ** 2 // 2 if among is pairs else len(known)
        chance = looks * _chance(len(places), flips.bit_count(), best.bit_count(), matched)
        if best and off * least <= flips.bit_count() and chance < _BY_CHANCE:
            others = f"{flips.bit_count() - matched} of {len(places) - best.bit_count()}"
            return f"{among[best]} in {matched} of {best.bit_count()} cases, and any other in {others}"
    return ""


def _chance(of: int, flips: int, told: int, matched: int) -> float:
    """Of so many matches or more, where so many replies are drawn at random (hypergeometric)."""
    ways = sum(comb(flips, k) * comb(of - flips, told - k) for k in range(matched, min(flips, told) + 1))
    return ways / comb(of, told)
