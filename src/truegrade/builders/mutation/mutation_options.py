"""What may be asked of the mutation engine."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import msgspec

from truegrade.builders.mutation.operators import OPERATORS
from truegrade.builders.mutation.preserving import REWRITINGS
from truegrade.builders.mutation.wider_operators import WIDER_OPERATORS
from truegrade.errors import UnknownName, UserError

PUBLISHED = "published"
"""Instead of names of operators: the table of the published tool."""


class MutationOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How mutants are made, kept and chosen; equal options and rows give equal bytes.

    Raises:
        UnknownName: no operator, selection or rewriting of that name.
        UserError: a number is out of range, or no operator is named.
    """

    operators: tuple[str, ...] = tuple(OPERATORS)
    """Names of `OPERATORS` and `WIDER_OPERATORS`, tried in this order; ``("published",)`` is the published tool's
    own table."""
    select: Literal["coverage", "first", "all"] = "coverage"
    """The mutant that runs most like the original; the first valid one, as the published tool; every valid one."""
    differ: Literal["any", "all"] = "any"
    """On which cases the outputs must differ."""
    preserve: tuple[str, ...] = ()
    """Names of `REWRITINGS`: semantics-preserving variants to add."""
    raw: bool = False
    """Keep the original's layout and change only the mutated span, which gives the mutant away."""
    seed: int = 0
    """Seed of the choice between equally good mutants."""
    cpu_s: float = 2.0
    """CPU seconds of one mutant on all cases; the backstop behind ``max_steps``."""
    max_steps: int = 100_000
    """Executed lines of one case after which a program counts as endless: the same on every machine."""
    max_chars: int = 1000
    """Longest ``repr`` of an output."""
    preamble: str = ""
    """Source that is run before each program and shown to nobody: imports that its authors took for granted. Those
    that LeetCode makes unseen are made anyway, where a program reads their names."""

    def __post_init__(self) -> None:
        known = [*OPERATORS, *WIDER_OPERATORS, PUBLISHED]
        _known("operator", self.operators, known)
        _known("rewriting", self.preserve, REWRITINGS)
        _known("selection", [self.select], ["coverage", "first", "all"])
        _known("rule of difference", [self.differ], ["any", "all"])
        if not self.operators:
            raise UserError(f"no mutation operator is named; choose from {', '.join(known)}")
        if PUBLISHED in self.operators and len(self.operators) > 1:
            raise UserError("the operators `published` are a table of their own and stand alone")
        if self.cpu_s <= 0 or self.max_steps < 1 or self.max_chars < 1:
            raise UserError("cpu_s, max_steps and max_chars must be positive")


def _known(kind: str, names: Iterable[str], known: Iterable[str]) -> None:
    for name in names:
        if name not in (listed := tuple(known)):
            raise UnknownName(kind, name, listed)
