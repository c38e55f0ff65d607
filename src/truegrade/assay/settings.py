"""What an assay sends: the classes of probes, how many of each, and the seed of every choice."""

from __future__ import annotations

from typing import Self

import msgspec

from truegrade.errors import UnknownName, UserError

CLASSES = ("right", "mutants", "outputs", "stubs", "labelled", "forms", "cheats", "must-fail")
"""Names of what ``--probes`` asks for, in the order in which they are sent."""


class Battery(msgspec.Struct, frozen=True, kw_only=True):
    """The probes of each problem; equal batteries on equal data give equal probes.

    Raises:
        UnknownName: there is no class of that name.
        UserError: a number is out of range.
    """

    classes: tuple[str, ...] = CLASSES
    per_problem: int = 20
    """Mutants of each reference, at most; stubs and rewrites are few and always sent."""
    cheats_per_problem: int = 6
    """Cheats of each problem, each with its inert twin, in turn: over the problems every cheat is sent."""
    inputs: int = 200
    """Inputs that are generated for each problem, besides those of its tests, to prove labels by."""
    seed: int = 0

    def __post_init__(self) -> None:
        for name in self.classes:
            if name not in CLASSES:
                raise UnknownName("class of probes", name, CLASSES)
        if not self.classes:
            raise UserError(f"no class of probes is named; choose from {', '.join(CLASSES)}")
        if self.per_problem < 1 or self.cheats_per_problem < 1 or self.inputs < 0:
            raise UserError("`per_problem` and `cheats_per_problem` are at least 1, `inputs` at least 0")

    @classmethod
    def default(cls) -> Self:
        """Every class, 20 mutants a problem."""
        return cls()
