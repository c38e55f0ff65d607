"""Which mutants can be asked about: they end, return literals, and return something else than the original."""

from __future__ import annotations

import cmath
from typing import Any

from truegrade.builders.mutation.coverage import similarity
from truegrade.builders.mutation.mutant_choice import Valid
from truegrade.builders.mutation.mutants import Mutant
from truegrade.builders.mutation.mutation_options import MutationOptions
from truegrade.builders.mutation.observing import Observation
from truegrade.extraction.literals import Literal, parse_literal
from truegrade.grading.literals import compare


def judged(original: Observation, mutant: Mutant, seen: Observation, options: MutationOptions) -> Valid | str:
    """The mutant with what was measured, or the kind of reason against it.

    Outputs differ if Python's ``==`` says so: ``1`` for ``True`` is no difference, since a grader may not see it.
    """
    if seen.failure is not None:
        return seen.failure.kind
    if not all(is_askable(text) for text in seen.outputs):
        return "no literal"
    pairs = zip(original.outputs, seen.outputs, strict=True)
    differing = tuple(case for case, pair in enumerate(pairs) if not compare(*pair).python_eq)
    if len(differing) < (len(seen.outputs) if options.differ == "all" else 1):
        return "same output"
    lines, arcs = similarity(original, seen, mutant)
    return Valid(mutant=mutant, seen=seen, discriminating=differing, lines=lines, arcs=arcs)


def is_askable(text: str) -> bool:
    """Whether an output is a literal that a model can be asked for: no nan and no infinity anywhere in it."""
    literal = parse_literal(text)
    return isinstance(literal, Literal) and _is_finite(literal.value)


def _is_finite(value: Any) -> bool:
    match value:
        case float() | complex():
            return cmath.isfinite(value)
        case list() | tuple() | set() | frozenset():
            return all(_is_finite(item) for item in value)
        case dict():
            return all(_is_finite(item) for pair in value.items() for item in pair)
    return True
