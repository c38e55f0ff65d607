"""Mutants: programs that differ from an original in one place and return something else, and ones that do not."""

from truegrade.builders.mutation.file import Mutated, mutate_file
from truegrade.builders.mutation.mutation_options import PUBLISHED, MutationOptions
from truegrade.builders.mutation.one_row import mutate_rows
from truegrade.builders.mutation.operators import OPERATORS
from truegrade.builders.mutation.preserving import REWRITINGS
from truegrade.builders.mutation.wider_operators import WIDER_OPERATORS

__all__ = [
    "OPERATORS",
    "PUBLISHED",
    "REWRITINGS",
    "WIDER_OPERATORS",
    "Mutated",
    "MutationOptions",
    "mutate_file",
    "mutate_rows",
]
