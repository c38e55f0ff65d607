"""The interface of search strategies to the loop that runs them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from truegrade.evolution.genomes import Evaluated, Fidelity, Genome


class Searcher(Protocol):
    """A strategy. It keeps no clock and no files: told the same, it asks the same, in any process.

    So a search resumes by telling a fresh searcher everything that was evaluated, generation by generation.
    """

    @property
    def name(self) -> str:
        """``nsga2``, ``random``, ``tpe``, ..."""

    def ask(self, generation: int, size: int) -> Sequence[Genome]:
        """Genomes to evaluate next, at most ``size``; none ends the search."""

    def fidelity(self, generation: int) -> Fidelity:
        """What is spent on each genome of a generation: everything, unless the strategy screens cheaply first."""

    def tell(self, evaluated: Sequence[Evaluated]) -> None:
        """The scores of a generation, in the order in which its genomes were asked for."""
