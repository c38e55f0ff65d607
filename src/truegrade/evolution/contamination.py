"""Overlap between training and test problems: by name, by program, and by shared text.

A shared name or a shared program is refused. Shared text is reported: generated programs and textbook algorithms
share phrases without being the same, so a person decides.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from itertools import product
from typing import Literal, NamedTuple

import msgspec

from truegrade.errors import UserError
from truegrade.evolution.repair_problems import Repair, repair_of
from truegrade.evolution.tokens import nameless, ngrams
from truegrade.records import Problem

LONG = 13
"""Tokens of the longer n-gram: Brown et al. (arXiv 2005.14165, appendix C) look for shared 13-grams."""
SHORT = 6
"""Tokens of the shorter one: a function of ten lines has few spans of 13."""
CONTAINED = 0.7
"""Share of an item's n-grams that calls it a near duplicate: PaLM's, for 8-grams (arXiv 2204.02311, section 8)."""


class Contamination(UserError):
    """Something is trained on and tested on."""


class Overlap(msgspec.Struct, frozen=True, kw_only=True):
    """Two items that share something."""

    trained: str
    tested: str
    """Ids of the problems."""
    kind: Literal["name", "program", "13-gram", "6-gram"]
    """What is shared; the first two are refused."""
    share: float
    """1 for names and programs; else the share of the tested item's n-grams that the trained one has."""
    jaccard: float
    """Of their 6-grams."""


class OverlapReport(msgspec.Struct, frozen=True, kw_only=True):
    """What a comparison of all pairs found."""

    pairs: int
    refused: tuple[Overlap, ...] = ()
    near: tuple[Overlap, ...] = ()
    """Near duplicates, most alike first."""
    closest: Overlap | None = None
    """The pair with the largest Jaccard similarity of 6-grams, whatever it is."""


def validate_no_overlap(training: Collection[str], test: Collection[str]) -> None:
    """Refuse two lists of names that share one; CORAL-X's check, in its words.

    Raises:
        Contamination: they do.
    """
    shared = sorted(set(training) & set(test))
    if shared:
        raise Contamination(f"CRITICAL: Training/test overlap detected: {{{', '.join(map(repr, shared))}}}")


def refuse_trained(tested: Problem, training: Iterable[Problem]) -> None:
    """Refuse to test on a problem that was trained on, under this name or another; in CORAL-X's words.

    Raises:
        Contamination: it was.
    """
    item = repair_of(tested)
    for other in map(repair_of, training):
        if item.name == other.name:
            raise Contamination(f"CONTAMINATION: {item.name} is training problem")
        if item.programs & other.programs:
            raise Contamination(
                f"CONTAMINATION: {item.name} is training problem (the same program as {other.problem},"
                " under another name)"
            )


def refuse_overlap(training: Sequence[Problem], test: Sequence[Problem]) -> None:
    """Refuse two sets of problems that share a name or a program.

    Raises:
        Contamination: they do; it names every one.
    """
    trained, tested = [repair_of(each) for each in training], [repair_of(each) for each in test]
    validate_no_overlap([item.name for item in trained], [item.name for item in tested])
    programs = {program: item for item in trained for program in item.programs}
    same = sorted({
        f"{item.problem} = {programs[program].problem}"
        for item in tested for program in item.programs if program in programs
    })  # fmt: skip
    if same:
        raise Contamination(f"CRITICAL: Training/test overlap detected: the same programs in {', '.join(same)}")


def overlaps(training: Sequence[Problem], test: Sequence[Problem]) -> OverlapReport:
    """Compare every training problem with every test problem; refuses nothing."""
    trained = [_item(problem) for problem in training]
    tested = [_item(problem) for problem in test]
    found = [_overlap(one, other) for one, other in product(trained, tested)]
    near = [pair for pair in found if pair.kind in {"13-gram", "6-gram"} and pair.share >= CONTAINED]
    return OverlapReport(
        pairs=len(found),
        refused=tuple(pair for pair in found if pair.kind in {"name", "program"}),
        near=tuple(sorted(near, key=lambda pair: (-pair.share, -pair.jaccard, pair.tested, pair.trained))),
        closest=max(found, key=lambda pair: pair.jaccard, default=None),
    )


_Grams = frozenset[tuple[str, ...]]


class _Item(NamedTuple):
    repair: Repair
    programs: frozenset[str]
    short: _Grams
    long: _Grams


def _item(problem: Problem) -> _Item:
    repair = repair_of(problem)
    tokens = nameless(repair.solution)
    return _Item(repair, repair.programs, ngrams(tokens, SHORT), ngrams(tokens, LONG))


def _overlap(trained: _Item, tested: _Item) -> Overlap:
    long, short = _containment(trained.long, tested.long), _containment(trained.short, tested.short)
    kind: Literal["name", "program", "13-gram", "6-gram"]
    if trained.repair.name == tested.repair.name:
        kind, share = "name", 1.0
    elif trained.programs & tested.programs:
        kind, share = "program", 1.0
    else:
        kind, share = ("13-gram", long) if long >= CONTAINED else ("6-gram", short)
    union = len(trained.short | tested.short)
    return Overlap(
        trained=trained.repair.problem,
        tested=tested.repair.problem,
        kind=kind,
        share=share,
        jaccard=len(trained.short & tested.short) / union if union else 0.0,
    )


def _containment(trained: _Grams, tested: _Grams) -> float:
    return len(trained & tested) / len(tested) if tested else 0.0
