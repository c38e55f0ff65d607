"""Variants of one item: programs and mutants, problems and changed ones, and how a problem was changed."""

from __future__ import annotations

from typing import Literal

import msgspec

Family = Literal["words", "sentence", "model"]
"""``words``: words of the statement were replaced. ``sentence``: one was added. ``model``: a model worded it."""


class Covariates(msgspec.Struct, frozen=True, kw_only=True):
    """What else than a mutation may make a program hard to execute."""

    unfamiliar: tuple[str, ...]
    """Kinds of syntax that are rare among the originals of the data set (`truegrade.datasets.identity`)."""
    length: int
    """Nodes of the syntax tree."""
    depth: int
    """Levels of the syntax tree."""
    steps: int | None = None
    """Lines that the original executes on this call; None where the data set does not say."""


class Pairing(msgspec.Struct, frozen=True, kw_only=True):
    """Where a program, or a problem to solve, stands among the variants of one item."""

    item: str
    """Row of the data set; its variants share it."""
    case: int
    """0-based test input of that row."""
    shown: Literal["original", "mutant", "preserved"]
    """``preserved``: rewritten so that it means the same."""
    other: str | None = None
    """What the other program, the original's mutant or the mutant's original, returns on this call; a literal.
    Of a function to write: the tests of the other problem."""
    mutation: str = ""
    """Operator or change rule that made this variant, or for an original its mutant."""
    covariates: Covariates | None = None
    """Of this variant; None where its source does not parse."""


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """How a changed problem was made from its original; a field of a benchmark row."""

    original: str
    """Id of the original's row, which stands in the same file."""
    rule: str
    """Name of the rule that changed program and text together."""
    kind: str
    """What is changed: ``boundary``, ``order``, ``extreme``, ``role``, ..."""
    family: Family
    edits: tuple[tuple[str, str], ...]
    """Texts of the original's statement and what stands in their place; an empty first one was inserted."""
    call: str
    """The witness: a call of the tests, to which the two references answer differently."""
    old: str
    """What the original's reference returns for it; a literal."""
    new: str
    """What the changed problem's reference returns; a literal."""
    differing: int
    """Tests on which the two references differ."""
    tests: int
    """Tests of the changed problem."""
