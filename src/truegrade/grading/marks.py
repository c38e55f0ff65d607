"""Marks of verdicts: facts beside right and wrong that reports count."""

from __future__ import annotations

from typing import Final

REVERTED: Final = "reverted"
"""The answer is what the *other* program of the pair returns."""
CHOSE_ORIGINAL: Final = "chose-original"
CHOSE_MUTANT: Final = "chose-mutant"
CHOSE_A: Final = "chose-A"
CHOSE_B: Final = "chose-B"
TYPES_DIFFER: Final = "types-differ"
"""Right under Python's ``==``, wrong where bool, int and float differ."""
TEXT_DIFFERS: Final = "text-differs"
"""Right under Python's ``==``, but not the ``repr`` of the true value."""
TAMPERING: Final = "tampering"
"""The harness calls it right, but it is not right, or not in time, where it can reach neither grader nor tests."""
TESTS_SKIPPED: Final = "tests-skipped"
"""Tests on which the reference itself takes minutes were not run."""
NEAR: Final = 0.5
"""Part of a time limit from which on a verdict is ``time_sensitive``; also `truegrade.sandbox.outcome.NEAR`."""
