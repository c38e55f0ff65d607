"""Explanations of objectives, anchors, origins and roles for readers of the report."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

OBJECTIVES: Mapping[str, str] = MappingProxyType(
    {
        "pass_rate": "share of the tests passed",
        "patch": "minus the token edit distance to the buggy program, per token",
        "cost": "minus the executed lines per line of the reference",
        "findings": "minus the linters' findings that the buggy program does not have",
        "tokens": "minus the tokens generated",
        "solved": "share of replies that pass every test",
        "parameters": "minus the adapter's parameters, in thousands",
        "training": "minus the tokens it was trained on, in thousands",
        "bugfix": "as in CORAL-X: share of tests passed, 0.2 for a valid program that passes none",
        "style": "as in CORAL-X: flake8",
        "security": "as in CORAL-X: bandit",
        "runtime": "as in CORAL-X: estimated from the text of the program",
        "syntax": "as in CORAL-X: whether the program parses",
    }
)
"""All are to be maximised."""

ANCHORS: Mapping[str, str] = MappingProxyType(
    {
        "base": "the model without an adapter",
        "identity": "returns the buggy program",
        "stub": "returns a function that returns None",
        "reference": "returns the correct program",
    }
)

ORIGINS: Mapping[str, str] = MappingProxyType(
    {
        "random": "drawn at random",
        "automaton": "by a cellular automaton",
        "mutation": "one genome, changed a little",
        "crossover": "genes of two genomes",
        "tpe": "proposed by the Parzen estimator",
    }
)
_ORIGIN_COLOURS = {
    "random": "s5",
    "automaton": "s5",
    "mutation": "s0",
    "crossover": "s1",
}

ROLES: Mapping[str, str] = MappingProxyType(
    {
        "train": "used to train adapters",
        "selection": "used to score and select genomes, so the best scores here are optimistic",
        "final": "evaluated once, after all choices",
        "forgetting": "kinds of problems that the base was trained on",
    }
)


def objective(name: str) -> str:
    """What an objective measures; nothing for one of the user's own."""
    return OBJECTIVES.get(name, "")


def origin_colour(name: str) -> str:
    """Class of the colour of an origin."""
    return _ORIGIN_COLOURS.get(name, "s3")
