"""How the output of a wrong program differs from the right one, and what a grader overlooks by that."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from truegrade.assay.acceptance import Acceptance
from truegrade.assay.probes.outputs import ENDLESS, ONE_TEST
from truegrade.assay.records import DOES_NOT_END, Probe

LEAST = 2
"""Accepted programs from which on a kind is told."""
MANY = 0.5
"""Share of a kind from which on the kind is told, where it is more than twice the share of all others."""
NEAR, FAR = 1e-3, 10
_ON_TEST = "is wrong on test "
_MADE: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(ENDLESS, DOES_NOT_END),
        "as-text": "returns the right value as text",
        "list-for-tuple": "returns a list for a tuple, or a tuple for a list",
        "float-for-int": "returns a number of another type",
        "near-1e-3": "is near",
        "near-1e-6": "is near",
    }
)
"""Kind of a changed output to how it differs, where that says more than the values of a witness."""


def difference(probe: Probe) -> str:
    """What a wrong program does in place of the right value, by how it was made or by its witness.

    Empty where that cannot be said.
    """
    if probe.witness is None or probe.label != "wrong" or probe.tests:
        return ""
    got, made = probe.witness.got, _made(probe) if probe.kind == "output" else ""
    if made or got.startswith(("raises", DOES_NOT_END)):
        return made or ("raises" if got.startswith("raises") else DOES_NOT_END)
    if probe.kind == "cheat":
        return "returns None" if probe.inert and got.endswith("returns None") else ""
    try:
        return _of_values(ast.literal_eval(got), ast.literal_eval(probe.witness.expected))
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return ""


def _made(probe: Probe) -> str:
    """How a changed output differs; empty where the values of its witness say it."""
    return (
        f"is {probe.change.partition(', ')[2]} only" if probe.origin == ONE_TEST else _MADE.get(probe.origin, "")
    )


def _of_values(got: Any, expected: Any) -> str:
    if got is None:
        return "returns None"
    if all(isinstance(each, int | float) and not isinstance(each, bool) for each in (got, expected)):
        return _of_numbers(got, expected)
    if type(got) is not type(expected):
        return "returns another type"
    if isinstance(got, list | tuple | str):
        if sorted(map(repr, got)) == sorted(map(repr, expected)):
            return f"returns {'characters' if isinstance(got, str) else 'items'} in another order"
        if len(got) != len(expected) and got[: len(expected)] == expected[: len(got)]:
            return "returns a beginning, or more"
    return "returns another value"


def _of_numbers(got: float, expected: float) -> str:
    if abs(got - expected) <= NEAR * abs(expected):
        return "is near"
    of_its_size = got * expected > 0 and abs(expected) <= FAR * abs(got) and abs(got) <= FAR * abs(expected)
    return (
        f"returns a number at most {FAR} times too large or too small" if of_its_size else "returns another value"
    )


class Alike(NamedTuple):
    """Wrong programs that differ from right ones in one way."""

    accepted: list[Probe]
    number: int
    """Of those with a verdict."""


def by_difference(probes: Iterable[Probe], acceptance: Acceptance) -> dict[str, Alike]:
    """Kind of difference to the programs of it, of all wrong ones that are no active cheats."""
    found: dict[str, list[Probe]] = defaultdict(list)
    for probe in probes:
        kind = difference(probe)
        if kind and acceptance.accepted(probe) is not None and probe.problem_id not in acceptance.refused:
            found[kind].append(probe)
    return {kind: Alike([*filter(acceptance.stands, of)], len(of)) for kind, of in sorted(found.items())}


def overlooked(
    kinds: Mapping[str, Alike], by_chance: Callable[[int, int, int], bool]
) -> Iterable[tuple[str, str, list[Probe]]]:
    """The kinds of which a grader accepts far more than of the others, the largest first: each with a sentence
    about it and the accepted programs.

    Args:
        kinds: what `by_difference` gives.
        by_chance: whether flips explain so many accepted, of so many, for one of so many kinds.
    """
    kinds = _tests_together(kinds)
    for kind, (programs, number) in sorted(kinds.items(), key=lambda each: -len(each[1].accepted)):
        others = [of for name, of in kinds.items() if name != kind]
        accepted, rest, among = len(programs), sum(len(p) for p, _ in others), sum(n for _, n in others)
        many = accepted >= LEAST and accepted / number >= MANY and 2 * rest * number < accepted * among
        if many and not by_chance(accepted, number, len(kinds)):
            said = f"every program that {kind} ({accepted} of {number})"
            said = said if accepted == number else f"{accepted} of {number} programs that differ so: {kind}"
            yield kind, f"accepts {said}, and {rest} of {among} other wrong programs", programs


def _tests_together(kinds: Mapping[str, Alike]) -> dict[str, Alike]:
    """Several tests on which a program may be wrong as one kind."""
    unseen = [kind for kind, (p, n) in kinds.items() if kind.startswith(_ON_TEST) and len(p) >= MANY * n]
    if len(unseen) < 2:
        return dict(kinds)
    numbers = ", ".join(sorted((kind.split()[4] for kind in unseen), key=int))
    programs = [program for kind in unseen for program in kinds[kind].accepted]
    whole = Alike(programs, sum(kinds[kind].number for kind in unseen))
    rest = {kind: of for kind, of in kinds.items() if kind not in unseen}
    return {**rest, f"{_ON_TEST}{numbers} only": whole}
