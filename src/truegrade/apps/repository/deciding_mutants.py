"""Mutants of a function: some choose what decides about answers to it, and the others tell how strong that is."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Mapping, Sequence

import msgspec

from truegrade.apps.repository.functions import FunctionPlace, bare_function, defaults_of
from truegrade.builders.mutation.mutants import Mutant, MutationOptions, NotAProgram, mutants_of, normalised
from truegrade.builders.mutation.operators import OPERATORS, WIDER_OPERATORS
from truegrade.datasets.executions import NotRecorded
from truegrade.files import syntax
from truegrade.records import sha256_json
from truegrade.statistics.intervals import wilson

LEAST_STRENGTH = 0.5
"""Share of mutants that have to be refused, unless another one is asked for."""
_OF_THE_WHOLE = 0.9
"""Share of the mutants refused by all tests that reach a function, which what is kept has to refuse."""


class TriedMutant(msgspec.Struct, frozen=True, kw_only=True):
    """A mutant and what the deciding calls make of it."""

    mutant: Mutant
    refused_by: int
    """Calls, or tests."""
    held_out: bool
    """Whether it had no part in the choice of what decides, so that it may tell how strong that is."""


def strength_of(mutants: Sequence[TriedMutant]) -> tuple[float, float, float]:
    """The share of mutants that are refused, and the bounds of its 95 % interval."""
    refused = sum(bool(one.refused_by) for one in mutants)
    return (refused / len(mutants), *wilson(refused, len(mutants)))


def strength_tags(mutants: Sequence[TriedMutant], whole: Mapping[str, str]) -> dict[str, str]:
    """The same as tags of a problem, beside the share that the whole suite refuses, where it was run."""
    share, low, high = strength_of(mutants)
    tags = {"strength": f"{share:.3f}", "strength_interval": f"{low:.3f}-{high:.3f}", "mutants": str(len(mutants))}
    if known := [whole[one.mutant.id] for one in mutants if one.mutant.id in whole]:
        tags["strength_of_suite"] = f"{sum(map(bool, known)) / len(known):.3f}"
    return tags


class StrengthFloor(msgspec.Struct, frozen=True, kw_only=True):
    """How strong what decides about a function has to be."""

    least: float
    """Share of its mutants."""
    whole: Mapping[str, str] = {}
    """By mutant, the test of the whole suite that refuses it, empty for none; nothing where that was not run."""

    def check(self, mutants: Sequence[TriedMutant]) -> None:
        """See that mutants which chose nothing are refused.

        Raises:
            NotRecorded: too few are.
        """
        if not mutants:
            raise NotRecorded("no mutant of it can be made, so that nothing tells how strong its tests are")
        if strength_of(mutants)[0] < self.least:
            half = "half" if self.least == LEAST_STRENGTH else f"{self.least:.0%}"
            raise NotRecorded(f"what is kept refuses fewer than {half} of its mutants")
        due = [one for one in mutants if self.whole.get(one.mutant.id)]
        if sum(bool(one.refused_by) for one in due) < _OF_THE_WHOLE * len(due):
            raise NotRecorded("what is kept refuses too few of the mutants that the whole suite refuses")


def bare_mutants(function: FunctionPlace, seed: int) -> tuple[str, list[Mutant]]:
    """A function without decorators and docstring in the layout of mutants, and its mutants in an order that is
    drawn by the seed; nothing where none can be made."""
    try:
        original = normalised(ast.unparse(bare_function(function)))
        found = mutants_of(original, MutationOptions(operators=(*OPERATORS, *WIDER_OPERATORS)))
    except (NotAProgram, RecursionError, ValueError):
        return "", []
    return original, sorted(found, key=lambda one: sha256_json([seed, function.id, one.id]))


def function_mutants(function: FunctionPlace, seed: int) -> list[Mutant]:
    """The same mutants, with the decorators of the function and its docstring."""
    try:
        found = bare_mutants(function, seed)[1]
        return [dataclasses.replace(one, code=dressed(function, one.code)) for one in found]
    except (RecursionError, ValueError):
        return []


def dressed(function: FunctionPlace, code: str) -> str:
    """A definition with the docstring of the function, and with its decorators where it stands in no class."""
    node = syntax.parse(code).body[0]
    assert isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    own = function.node
    if ast.get_docstring(own) is not None and len(own.body) > 1:
        node.body.insert(0, own.body[0])
    if not function.is_method:
        node.decorator_list = own.decorator_list
    return ast.unparse(ast.fix_missing_locations(node))


def ignoring_parameters(function: FunctionPlace) -> list[str]:
    """The function once for each parameter with a default, which then has that default whatever is given."""
    made = []
    for parameter, default in defaults_of(function.node.args).items():
        node = bare_function(function)
        node.body = [ast.Assign([ast.Name(parameter, ast.Store())], default), *node.body]
        made.append(dressed(function, ast.unparse(ast.fix_missing_locations(node))))
    return made


def without_body(node: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    """A function of the same parameters that does nothing."""
    arguments = ast.unparse(node.args)
    return f"def {node.name}({arguments}):\n    pass\n"
