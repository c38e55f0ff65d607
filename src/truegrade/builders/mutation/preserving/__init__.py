"""Rewritings that leave a program's meaning alone: what a model should answer the same."""

from __future__ import annotations

import ast
from collections.abc import Callable

from truegrade.builders.mutation.preserving.forms import (
    add_dead_code,
    apply_de_morgan,
    change_loops,
    expand_augmented,
    swap_comparisons,
)
from truegrade.builders.mutation.preserving.rename import rename_variables

Rewriting = Callable[[ast.Module], ast.Module]
"""Rewrites a tree, in place or not, wherever the rule applies and is safe."""

REWRITINGS: dict[str, Rewriting] = {
    "rename": rename_variables,
    "dead-code": add_dead_code,
    "loops": change_loops,
    "de-morgan": apply_de_morgan,
    "swap": swap_comparisons,
    "augmented": expand_augmented,
}
"""By name."""
