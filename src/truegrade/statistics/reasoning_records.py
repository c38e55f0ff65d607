"""The records of a run of execution reasoning that its metrics need.

A *program* is one prompt of execution prediction: an original, its mutant or a rewriting that means the same, on
one call. A *pair* is one prompt of execution choice: original and mutant in one of the two orders.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import msgspec

from truegrade.records import Covariates, Estimate

Shown = Literal["original", "mutant", "preserved"]
Chosen = Literal["original", "mutant"]


class Draw(msgspec.Struct, frozen=True):
    """One graded sample. Equal ones may be one object, so a sample costs a pointer."""

    right: bool
    """The value predicted is that of the program shown, or chosen, under Python's ``==``."""
    typed: bool
    """The same, and the types agree at every place."""
    exact: bool
    """The same, and written as ``repr`` writes it."""
    reverted: bool
    """The value predicted is that of the *other* program."""
    answered: bool
    truncated: bool
    chosen: Chosen | None = None
    """Of a choice; None where no program was named."""


Draws = Mapping[str, Sequence[Draw | None]]
"""By problem id, then by sample; None where there is no verdict."""


class PredictionPrompt(msgspec.Struct, frozen=True, kw_only=True):
    """One prompt of execution prediction."""

    id: str
    cluster: str
    item: str
    case: int
    shown: Shown
    mutation: str = ""
    differs: bool = False
    """The original and its mutant return different values on this call, under Python's ``==``."""
    boolean: bool = False
    """One of the two values is True or False."""
    booleans: bool = False
    """One of the two values is a list of True and False, and not empty."""
    covariates: Covariates | None = None


class Pair(msgspec.Struct, frozen=True, kw_only=True):
    """One prompt of execution choice."""

    id: str
    cluster: str
    item: str
    case: int
    original: Literal["A", "B"]
    """The letter under which the original stands: the order."""
    mutation: str = ""
    differs: bool = True
    boolean: bool = False


class MetricTable(msgspec.Struct, frozen=True, kw_only=True):
    """The metrics under one aggregation."""

    cases: Literal["per_case", "all_cases"]
    """``per_case``: every case counts for itself. ``all_cases``: the cases of an item count as one."""
    weighting: Literal["mean", "micro"]
    """``mean``: over cases or items, each weighing the same. ``micro``: over samples."""
    estimates: list[Estimate]


class ShareDifference(msgspec.Struct, frozen=True, kw_only=True):
    """A paired difference ``second - first`` of two shares; all numbers are fractions."""

    metric: str
    """``MC - OC`` inside a run; the metric's name between two runs."""
    first: float
    second: float
    difference: float
    low: float | None
    high: float | None
    """None where the pairs form a single cluster."""
    confidence: float
    method: str
    p_value: float
    """Two-sided, by sign flips of clusters."""
    pairs: int
    clusters: int
