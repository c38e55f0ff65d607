"""A probabilistic grammar: how likely each operation is where an expression of some type is wanted.

A nonterminal is a type and the number of variables in reach, written ``int/1``. Weights need not add up to one.
They are fixed by default, read from a file, or fitted to programs: counts of productions, each plus one
(Laplace), so that nothing becomes impossible. The published set's weights come from a network that may be
untrained, and are not known.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from truegrade.builders.dsl_list.operations import CONSTANTS, PARAMETER, VARIABLES, Operation, Type
from truegrade.builders.dsl_list.terms import Term, read_program
from truegrade.datasets.content import read_content
from truegrade.errors import BadRecord, UnknownName
from truegrade.files.json_text import convert

Weights = Mapping[str, Mapping[str, float]]
"""By nonterminal, by name of the operation."""

Grammar = Mapping[str, Operation]

_VARIABLE_WEIGHT = 3.0
_CONSTANTS_WEIGHT = 2.0
_EMPTY_WEIGHT = 0.25


class Fitted(msgspec.Struct, frozen=True):
    """Weights and what they rest on."""

    weights: Weights
    read: int
    """Programs that the language has."""
    unread: int
    """Programs that it lacks; they count for nothing."""


def nonterminal(wanted: Type, scope: int) -> str:
    """Name of a nonterminal."""
    return f"{wanted}/{scope}"


def productions(grammar: Grammar, wanted: Type, scope: int) -> tuple[Operation, ...]:
    """The operations that may stand for a nonterminal; lambdas do not stand inside lambdas."""
    return tuple(
        operation
        for operation in grammar.values()
        if operation.result is wanted
        and operation.binders <= scope
        and not (scope and any(place.binders for place in operation.arguments))
    )


def nonterminals(grammar: Grammar) -> Iterable[tuple[str, tuple[Operation, ...]]]:
    """Every nonterminal with its productions."""
    scopes = {0} | {place.binders for operation in grammar.values() for place in operation.arguments}
    for scope in sorted(scopes):
        for wanted in Type:
            yield nonterminal(wanted, scope), productions(grammar, wanted, scope)


def default_weights(grammar: Grammar) -> Weights:
    """Every operation alike, variables more often, the six constants together like two."""
    return {
        name: {operation.name: _default(operation) for operation in choices}
        for name, choices in nonterminals(grammar)
    }


def fit(programs: Iterable[str], grammar: Grammar) -> Fitted:
    """Count productions in programs, plus one each."""
    counts: Counter[tuple[str, str]] = Counter()
    read = unread = 0
    for code in programs:
        term = read_program(code, grammar)
        if term is None:
            unread += 1
        else:
            read += 1
            _count(term, 0, counts)
    weights = {
        name: {operation.name: float(1 + counts[name, operation.name]) for operation in choices}
        for name, choices in nonterminals(grammar)
    }
    return Fitted(weights, read, unread)


def read_weights(path: Path, grammar: Grammar) -> Weights:
    """Weights from a file: a JSON object of nonterminals, each an object of operations and numbers.

    What the file leaves out keeps its default weight.

    Raises:
        BadRecord: the file is no such object, or a number is not positive.
        UnknownName: it names a nonterminal or an operation that the grammar lacks.
    """
    weights = {name: dict(choices) for name, choices in default_weights(grammar).items()}
    try:
        given = convert(json.loads(read_content(path)), dict[str, dict[str, float]])
    except (ValueError, RecursionError, msgspec.ValidationError) as error:
        raise BadRecord(path, f"is no object of weights: {error}; see docs/datasets.md") from None
    for name, choices in given.items():
        if name not in weights:
            raise UnknownName("nonterminal", name, weights)
        for operation, weight in choices.items():
            if operation not in weights[name]:
                raise UnknownName(f"operation of {name}", operation, weights[name])
            if not (weight > 0 and math.isfinite(weight)):
                raise BadRecord(
                    path, f"{weight} is no weight; give a positive number", field=f"{name}.{operation}"
                )
            weights[name][operation] = weight
    return weights


def _default(operation: Operation) -> float:
    if operation.name in {PARAMETER, *VARIABLES}:
        return _VARIABLE_WEIGHT
    if operation.name.isdigit():
        return _CONSTANTS_WEIGHT / len(CONSTANTS)
    return _EMPTY_WEIGHT if operation.name == "empty" else 1.0


def _count(term: Term, scope: int, counts: Counter[tuple[str, str]]) -> None:
    counts[nonterminal(term.operation.result, scope), term.operation.name] += 1
    for place, argument in zip(term.operation.arguments, term.arguments, strict=True):
        _count(argument, max(scope, place.binders), counts)
