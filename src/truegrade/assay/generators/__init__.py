"""Inputs of the domain of a problem, beyond those that its tests use."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence

from truegrade.assay.generators.domain import Arguments, Domain, ValueMutator, infer_domain
from truegrade.assay.generators.edges import boundary_calls, constants_of
from truegrade.assay.written_calls import written_call
from truegrade.builders.in_order import by_turns

__all__ = ["Arguments", "Domain", "generated_calls", "infer_domain"]

_TRIES = 6
"""Inputs drawn for each one wanted: many of a narrow domain are drawn twice."""


def generated_calls(
    known: Sequence[Arguments],
    programs: Iterable[str],
    *,
    seed: int | str,
    limit: int,
    domain: Domain | None = None,
) -> list[Arguments]:
    """New inputs: up to half of them at the edges of the domain, the others near known ones.

    Whether they are inputs of the problem is not decided here: the references are to be asked.

    Args:
        known: argument tuples of plain values.
        programs: whose constants are of interest, the references and those to be told from them.
        seed: equal seeds and arguments give equal inputs.
        limit: the most to give.
        domain: of the known calls, where it was inferred before.
    """
    if not known or limit <= 0:
        return []
    domain = domain or infer_domain(known)
    constants = constants_of(programs)
    rng = random.Random(f"{seed}")
    mutator = ValueMutator(rng, constants)
    seen = {written_call("", arguments) for arguments in known}
    kept: list[Arguments] = []

    def keep(candidates: Iterable[Arguments], most: int) -> None:
        for arguments in candidates:
            if len(kept) >= most:
                return
            try:
                call = written_call("", arguments)
            except ValueError:
                continue
            if call not in seen:
                seen.add(call)
                kept.append(arguments)

    edges = [boundary_calls(signature, constants, mutator) for signature in domain.signatures]
    keep(by_turns(edges), (limit + 1) // 2)
    weights = [len(signature.known) for signature in domain.signatures]
    drawn = rng.choices(domain.signatures, weights, k=_TRIES * limit)
    keep((mutator.mutated_call(signature) for signature in drawn), limit)
    return kept
