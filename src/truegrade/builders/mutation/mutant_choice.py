"""Which of the valid mutants of a program is taken."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from truegrade.builders.mutation.mutants import Mutant
from truegrade.builders.mutation.mutation_options import MutationOptions
from truegrade.builders.mutation.observing import Observation
from truegrade.records import sha256_json


@dataclass(frozen=True, kw_only=True)
class Valid:
    """A mutant that ends, returns literals, and is told from the original by some case."""

    mutant: Mutant
    seen: Observation
    discriminating: tuple[int, ...]
    """Cases on which the outputs differ."""
    lines: float
    """Similarity of the places visited."""
    arcs: float
    """Similarity of the steps between them."""


def ranked(valid: Sequence[Valid], row_id: str | int, options: MutationOptions) -> list[Valid]:
    """The candidates, best first.

    ``coverage``: the most similar lines, then arcs (arXiv 2504.05518, Algorithm 1). Among equals each operator has
    the same chance whatever the number of its mutants, so that the many arithmetic ones do not crowd out the rest.
    A hash of seed, row and name decides, so neither other rows nor the order of work play a part.
    ``first`` and ``all``: the order in which operators were tried.
    """
    if options.select != "coverage":
        return list(valid)

    def drawn(name: str) -> str:
        return sha256_json([options.seed, row_id, name])

    return sorted(
        valid,
        key=lambda one: (-one.lines, -one.arcs, drawn(one.mutant.operator), drawn(one.mutant.id)),
    )
