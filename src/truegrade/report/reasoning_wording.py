"""The metrics of execution reasoning in words, and the order in which people read them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from truegrade.records import Estimate
from truegrade.statistics.reasoning_covariates import NAMES, Stratum
from truegrade.statistics.reasoning_records import MetricTable

KINDS: Mapping[str, tuple[str, str | None]] = MappingProxyType(
    {"original": ("OC", "OR"), "mutant": ("MC", "MR"), "preserved": ("PC", None)}
)
"""Kind of program -> names of its correctness and its reversion."""

PREDICTION: Mapping[str, str] = MappingProxyType(
    {
        "OC": "correct on originals",
        "MC": "correct on mutants",
        "PC": "correct on semantics-preserving rewritings",
        "MC_differing": "correct on mutants whose value differs from the original's",
        "OR": "shown the original, answers the mutant's value",
        "MR": "shown the mutant, answers the original's value",
        "stability": "same outcome on a rewriting and its original",
        "repeat_agreement": "same outcome on two samples of the same original",
    }
)

CHANGED: Mapping[str, str] = MappingProxyType(
    {
        "OC": "correct on originals",
        "MC": "correct on changed problems",
        "OR": "asked the original, right by the changed problem's tests",
        "MR": "asked the changed problem, right by the original's tests",
    }
)

CHOICE: Mapping[str, str] = MappingProxyType(
    {
        "preference": "chooses the original",
        "OC": "correct, having chosen the original",
        "MC": "correct, having chosen the mutant",
        "OR": "the mutant's value, having chosen the original",
        "MR": "the original's value, having chosen the mutant",
        "accuracy": "correct for the chosen program",
        "same_program": "the same program in both orders",
        "always_A": "A in both orders",
        "always_B": "B in both orders",
        "preference_consistent": "the original, where both orders agree",
        "chose_A": "chooses A",
        "repeat_same": "the same program in two samples of one order",
    }
)

AGGREGATIONS: Mapping[str, str] = MappingProxyType(
    {
        "per_case/mean": "mean over cases",
        "per_case/micro": "mean over samples, case by case",
        "all_cases/mean": "all cases of a program must be correct; mean over programs",
        "all_cases/micro": "all cases of a program must be correct; mean over samples",
    }
)


def aggregation(table: MetricTable) -> str:
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
