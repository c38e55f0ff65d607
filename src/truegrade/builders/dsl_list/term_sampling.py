"""Draw terms from a probabilistic grammar, no deeper than asked."""

from __future__ import annotations

import random
from itertools import accumulate

from truegrade.builders.dsl_list.operations import Operation, Type
from truegrade.builders.dsl_list.terms import Term
from truegrade.builders.dsl_list.weights import Grammar, Weights, nonterminal, productions


class TermSampler:
    """Draws terms; an operation that the remaining depth cannot hold is not offered.

    Args:
        grammar: its operations.
        weights: of every production.
    """

    def __init__(self, grammar: Grammar, weights: Weights) -> None:
        self._grammar, self._weights = grammar, weights
        self._choices: dict[tuple[Type, int, int], tuple[list[Operation], list[float]]] = {}
        self._least = _least_depths(grammar)

    def draw(self, wanted: Type, max_depth: int, rng: random.Random) -> Term:
        """A term of some type that is no terminal; ``max_depth`` is at least 3."""
        while True:
            term = self._draw(wanted, 0, max_depth, rng)
            if term.arguments:
                return term

    def _draw(self, wanted: Type, scope: int, depth: int, rng: random.Random) -> Term:
        key = (wanted, scope, depth)
        if key not in self._choices:
            self._choices[key] = self._offer(wanted, scope, depth)
        operations, cumulated = self._choices[key]
        operation = rng.choices(operations, cum_weights=cumulated)[0]
        arguments = [
            self._draw(place.type, max(scope, place.binders), depth - 1, rng) for place in operation.arguments
        ]
        return Term(operation, tuple(arguments))

    def _offer(self, wanted: Type, scope: int, depth: int) -> tuple[list[Operation], list[float]]:
        weights = self._weights[nonterminal(wanted, scope)]
        offered = [
            operation
            for operation in productions(self._grammar, wanted, scope)
            if all(self._least[place.type] < depth for place in operation.arguments)
        ]
        return offered, list(accumulate(weights[operation.name] for operation in offered))


def _least_depths(grammar: Grammar) -> dict[Type, int]:
    """The depth of the flattest term of each type: 1 where there is a terminal, else 2."""
    with_terminal = {operation.result for operation in grammar.values() if not operation.arguments}
    return {wanted: 1 if wanted in with_terminal else 2 for wanted in Type}
