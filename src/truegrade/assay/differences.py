"""How the output of a wrong program differs from the right one, and what a grader overlooks by that."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from truegrade.assay.acceptance import Acceptance
from truegrade.assay.records import DOES_NOT_END, Probe

LEAST = 3
"""Accepted programs from which on a kind is told."""
MANY = 0.5
"""Share of a kind from which on the kind is told, where it is more than twice the share of all others."""
NEAR = 1e-3


def difference(probe: Probe) -> str:
    """What a wrong program does in place of the right value, by its witness; empty where that cannot be said."""
    if probe.witness is None or probe.label != "wrong" or probe.tests:
        return ""
    got, expected = probe.witness.got, probe.witness.expected
    if got.startswith("raises"):
        return "raises"
    if got.startswith(DOES_NOT_END):
        return "does not end"
    if probe.kind == "cheat":
        return "returns None" if probe.inert and got.endswith("returns None") else ""
    try:
        return _of_values(ast.literal_eval(got), ast.literal_eval(expected))
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return ""


def _of_values(got: Any, expected: Any) -> str:
    if got is None:
        return "returns None"
    numbers = all(isinstance(each, int | float) and not isinstance(each, bool) for each in (got, expected))
    if not numbers and type(got) is not type(expected):
        return "returns another type"
    if numbers:
        return "is near" if abs(got - expected) <= NEAR * abs(expected) else "returns another value"
    if isinstance(got, list | tuple | str):
        if sorted(map(repr, got)) == sorted(map(repr, expected)):
            return "returns another order"
        if len(got) != len(expected) and got[: len(expected)] == expected[: len(got)]:
            return "returns a beginning, or more"
    return "returns another value"


def by_difference(probes: Iterable[Probe], acceptance: Acceptance) -> dict[str, tuple[int, int]]:
    """Kind of difference to (accepted, with a verdict), of all wrong programs that are no active cheats."""
    found: dict[str, list[bool]] = defaultdict(list)
    for probe in probes:
        kind = difference(probe)
        if kind and acceptance.accepted(probe) is not None and probe.problem_id not in acceptance.refused:
            found[kind].append(acceptance.stands(probe))
    return {kind: (sum(of), len(of)) for kind, of in sorted(found.items())}


def overlooked(kinds: Mapping[str, tuple[int, int]]) -> Iterable[str]:
    """Sentences about the kinds of which a grader accepts far more than of the others."""
    for kind, (accepted, number) in kinds.items():
        others = [of for name, of in kinds.items() if name != kind]
        rest, among = sum(k for k, _ in others), sum(n for _, n in others)
        if accepted >= LEAST and accepted / number >= MANY and 2 * rest * number < accepted * among:
            said = f"every program that {kind} ({accepted} of {number})"
            said = said if accepted == number else f"{accepted} of {number} programs that differ so: {kind}"
            yield f"accepts {said}, and {rest} of {among} other wrong programs"
