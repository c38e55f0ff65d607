"""What the tests have in common that a grader does not let decide.

They are seen by programs that are wrong on one test alone: where such a program is accepted, its test was not run,
or decided nothing. A feature is named that all these tests have and no other, where chance would hardly give it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from math import comb, prod
from types import MappingProxyType

from truegrade.apps.assay.records import Probe

_BY_CHANCE = 0.005
"""Chance, from which on it is not named, that the first feature of a table tells the tests apart; of the second
half as much, of the third a third: the tests that people leave out by mistake stand first."""
_FALSE = frozenset({"None", "False", "0", "0.0", "''", '""', "[]", "()", "{}", "set()"})

_VALUES: Mapping[str, Callable[[Probe], bool]] = MappingProxyType(
    {
        "want an empty or false value": lambda probe: _wanted(probe) in _FALSE,
        "want another value than an empty or false one": lambda probe: _wanted(probe) not in _FALSE,
        "want None": lambda probe: _wanted(probe) == "None",
        "want True or False": lambda probe: _wanted(probe) in ("True", "False"),
        "want a negative number": lambda probe: _wanted(probe).startswith("-"),
        "want a text": lambda probe: _wanted(probe)[:1] in ("'", '"'),
        "want a list or tuple": lambda probe: _wanted(probe)[:1] in ("[", "("),
        "want a single value": lambda probe: _wanted(probe)[:1] not in ("[", "(", "{", "'", '"'),
        "give an empty list or text": lambda probe: any(empty in _call(probe) for empty in ("[]", "''", '""')),
        "give a negative number": lambda probe: "-" in _call(probe),
    }
)
_ORDERS: Mapping[str, Callable[[Probe, int], int]] = MappingProxyType(
    {
        "come last": lambda probe, number: number,
        "come first": lambda probe, number: -number,
        "have the longest calls": lambda probe, number: len(_call(probe)),
        "have the shortest calls": lambda probe, number: -len(_call(probe)),
        "want the longest values": lambda probe, number: len(_wanted(probe)),
        "want the shortest values": lambda probe, number: -len(_wanted(probe)),
    }
)
"""What orders the tests of a problem: those that are skipped have the highest numbers."""


def _wanted(probe: Probe) -> str:
    return probe.witness.expected if probe.witness else ""


def _call(probe: Probe) -> str:
    return probe.witness.call if probe.witness else ""


def skipped_in_common(accepted: Sequence[tuple[Probe, int]], refused: Sequence[tuple[Probe, int]]) -> str:
    """``want an empty or false value``; empty where nothing is named.

    Args:
        accepted: programs that are wrong on one test alone, with its number.
        refused: the same.
    """
    if not accepted or not refused:
        return ""
    ways = comb(len(accepted) + len(refused), len(accepted))
    for place, (what, has) in enumerate(_VALUES.items(), start=1):
        apart = all(has(probe) for probe, _ in accepted) and not any(has(probe) for probe, _ in refused)
        if place < ways * _BY_CHANCE and apart:
            return what
    if not {number for _, number in accepted} & {number for _, number in refused}:
        return ""  # their numbers say it
    sides: dict[str, tuple[list[tuple[Probe, int]], list[tuple[Probe, int]]]] = defaultdict(lambda: ([], []))
    for side, programs in enumerate((accepted, refused)):
        for probe, number in programs:
            sides[probe.problem_id][side].append((probe, number))
    both = [found for found in sides.values() if all(found)]
    ways = prod(comb(len(some) + len(others), len(some)) for some, others in both)
    for place, (what, rank) in enumerate(_ORDERS.items(), start=1):
        apart = all(min(rank(*one) for one in some) > max(rank(*one) for one in others) for some, others in both)
        if place < ways * _BY_CHANCE and apart:
            return what
    return ""
