"""The metrics of execution reasoning in words, and the order in which people read them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from truegrade.records import Estimate
from truegrade.statistics.reasoning_covariates import NAMES, Stratum
from truegrade.statistics.reasoning_records import Table

KINDS: Mapping[str, tuple[str, str | None]] = MappingProxyType(
    {"original": ("OC", "OR"), "mutant": ("MC", "MR"), "preserved": ("PC", None)}
)
"""Kind of program -> names of its correctness and its reversion."""

PREDICTION: Mapping[str, str] = MappingProxyType(
    {
        "OC": "right on originals",
        "MC": "right on mutants",
        "PC": "right on rewritings that mean the same",
        "MC_differing": "right on mutants whose value differs from the original's",
        "OR": "original shown, the mutant's value answered",
        "MR": "mutant shown, the original's value answered",
        "stability": "one outcome on a rewriting and on its original",
        "repeat_agreement": "one outcome on an original asked twice",
    }
)

CHOICE: Mapping[str, str] = MappingProxyType(
    {
        "preference": "chooses the original",
        "OC": "right, having chosen the original",
        "MC": "right, having chosen the mutant",
        "OR": "the mutant's value, having chosen the original",
        "MR": "the original's value, having chosen the mutant",
        "accuracy": "right for the program chosen",
        "same_program": "the same program in both orders",
        "always_A": "A in both orders",
        "always_B": "B in both orders",
        "preference_consistent": "the original, where both orders agree",
        "chose_A": "chooses A",
        "repeat_same": "the same program when asked twice in one order",
    }
)

AGGREGATIONS: Mapping[str, str] = MappingProxyType(
    {
        "per_case/mean": "every case counts for itself and weighs the same",
        "per_case/micro": "every case counts for itself; every sample weighs the same",
        "all_cases/mean": "all cases of an item must hold; every item weighs the same",
        "all_cases/micro": "all cases of an item must hold; every sample weighs the same",
    }
)


def aggregation(table: Table) -> str:
    """Its name, ``per_case/mean``."""
    return f"{table.cases}/{table.weighting}"


def stratum_name(stratum: Stratum) -> str:
    """``unfamiliar syntax``; of numbers also where they are parted: ``deeper (depth above 9)``."""
    if stratum.above is None:
        return stratum.name
    side = "up to" if stratum.name in {low for _, low, _ in NAMES} else "above"
    return f"{stratum.name} ({stratum.covariate} {side} {stratum.above})"


def by_metric(estimates: Sequence[Estimate]) -> dict[str, Estimate]:
    """Estimates by their name."""
    return {estimate.metric: estimate for estimate in estimates}
