"""Paired comparison of two runs: difference, interval and tests."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import msgspec

from truegrade.errors import NotComparable
from truegrade.statistics.mcnemar import mcnemar_p
from truegrade.statistics.p_values import FLIPS
from truegrade.statistics.paired_score import ScoreTest
from truegrade.statistics.reasoning_records import ShareDifference
from truegrade.statistics.tally import TaskTally

METHOD = "paired cluster-robust score interval, with the exact test at 0"
NO_METHOD = "none: a single cluster"
EXACT_UP_TO = 14
"""Clusters with a difference up to which all 2**clusters sign flips are enumerated."""


class PairedComparison(msgspec.Struct, frozen=True, kw_only=True):
    """Run B against run A on the problems both hold. Rates and differences are fractions."""

    rate_a: float
    """Mean over problems of the share of right samples."""
    rate_b: float
    difference: float
    """``rate_b - rate_a``: positive where B is better."""
    low: float | None
    high: float | None
    """None where the problems form a single cluster."""
    confidence: float
    method: str
    permutation_p: float
    """Two-sided p-value of the sign-flip test by cluster, or of the score test where that is larger; the interval
    holds 0 exactly where it is not below ``1 - confidence``."""
    mcnemar_p: float | None
    """Two-sided exact McNemar p-value; None where a problem holds several samples or shares its cluster."""
    wins: tuple[str, ...]
    """Problems on which B has the higher pass rate."""
    losses: tuple[str, ...]
    ties: tuple[str, ...]
    tasks: int
    clusters: int
    only_a: tuple[str, ...]
    """Problems that B lacks: left out of everything above."""
    only_b: tuple[str, ...]
    parts: tuple[ShareDifference, ...] = ()
    """The metrics of execution reasoning, each compared in the same way; empty for other kinds of problem."""


def compare_paired(
    a: Sequence[TaskTally],
    b: Sequence[TaskTally],
    confidence: float = 0.95,
    *,
    flips: int = FLIPS,
    seed: int = 0,
) -> PairedComparison:
    """Compare B with A, paired by problem. Problems without samples count as missing.

    Args:
        a: tallies of the run compared with.
        b: tallies of the run in question.
        confidence: of the interval for the difference.
        flips: random sign flips, where there are too many clusters to enumerate them all.
        seed: of those flips.

    Raises:
        NotComparable: no problem in common, or a problem in different clusters.
    """
    of_a = {tally.task_id: tally for tally in a if tally.n}
    of_b = {tally.task_id: tally for tally in b if tally.n}
    clusters = gains_by_cluster(a, b)
    common = [task_id for task_id in of_a if task_id in of_b]
    gains = {task: of_b[task].c / of_b[task].n - of_a[task].c / of_a[task].n for task in common}
    # McNemar's test takes tasks for independent and knows right and wrong alone.
    single = all(of_a[task].n == of_b[task].n == 1 for task in common) and len(clusters) == len(common)
    wins, losses = [t for t in common if gains[t] > 0], [t for t in common if gains[t] < 0]
    mcnemar = mcnemar_p(len(wins), len(losses)) if single else None
    tested = assess_difference(clusters, confidence, exact_p=mcnemar, flips=flips, seed=seed)
    return PairedComparison(
        rate_a=sum(of_a[task].c / of_a[task].n for task in common) / len(common),
        rate_b=sum(of_b[task].c / of_b[task].n for task in common) / len(common),
        difference=sum(gains.values()) / len(common),
        low=tested.low,
        high=tested.high,
        confidence=confidence,
        method=tested.method,
        permutation_p=tested.p_value,
        mcnemar_p=mcnemar,
        wins=tuple(wins),
        losses=tuple(losses),
        ties=tuple(task for task in common if gains[task] == 0),
        tasks=len(common),
        clusters=len(clusters),
        only_a=tuple(task for task in of_a if task not in of_b),
        only_b=tuple(task for task in of_b if task not in of_a),
    )


def gains_by_cluster(a: Sequence[TaskTally], b: Sequence[TaskTally]) -> list[list[float]]:
    """Pass rate in B less that in A of every problem that both hold, cluster by cluster.

    Raises:
        NotComparable: as for `compare_paired`.
    """
    of_a = {tally.task_id: tally for tally in a if tally.n}
    of_b = {tally.task_id: tally for tally in b if tally.n}
    common = [task_id for task_id in of_a if task_id in of_b]
    _refuse_mismatch(common, of_a, of_b)
    by_cluster: dict[str, list[float]] = defaultdict(list)
    for task in common:
        gain = of_b[task].c / of_b[task].n - of_a[task].c / of_a[task].n
        by_cluster[of_a[task].cluster].append(gain)
    return list(by_cluster.values())


def _refuse_mismatch(common: Sequence[str], of_a: dict[str, TaskTally], of_b: dict[str, TaskTally]) -> None:
    """Raise NotComparable unless the runs share problems and agree on their clusters."""
    if not common:
        raise NotComparable("the two runs have no graded problem in common; compare runs of the same benchmark")
    for task in common:
        if of_a[task].cluster != of_b[task].cluster:
            raise NotComparable(
                f"problem {task} is in cluster {of_a[task].cluster!r} in one run and {of_b[task].cluster!r} in the"
                " other; grade both against the same data set"
            )


class DifferenceTest(msgspec.Struct, frozen=True):
    """Whether a mean paired difference is 0, and which differences it may be: 0 is outside where p is small."""

    low: float | None
    high: float | None
    """None where there is a single cluster."""
    p_value: float
    """Two-sided, that it is 0."""

    @property
    def method(self) -> str:
        """Name of the interval."""
        return NO_METHOD if self.low is None else METHOD


def assess_difference(
    clusters: Sequence[Sequence[float]],
    confidence: float = 0.95,
    *,
    exact_p: float | None = None,
    flips: int = 10_000,
    seed: int = 0,
) -> DifferenceTest:
    """Test and interval of a mean of paired differences in [-1, 1], given cluster by cluster; they always agree.

    The interval is the score interval of `truegrade.statistics.paired_score`. Its test is an approximation, which
    at a difference of 0 can be had exactly, by flipping signs. So 0 is rejected only where both do: p is the
    larger of the two, and the interval is stretched to 0 where p is not below ``1 - confidence``.

    Args:
        clusters: the differences of the problems of each cluster; none is empty.
        confidence: of the interval.
        exact_p: McNemar's p-value, where it is the same test; None flips signs.
        flips: as for `sign_flip_p`.
        seed: the same.
    """
    if exact_p is None:
        exact_p = sign_flip_p([sum(cluster) for cluster in clusters], flips=flips, seed=seed)
    if len(clusters) < 2:
        return DifferenceTest(None, None, exact_p)
    score = ScoreTest(clusters)
    low, high = score.interval(confidence)
    p_value = max(exact_p, score.p_value())
    if p_value >= 1 - confidence:
        low, high = min(low, 0.0), max(high, 0.0)
    return DifferenceTest(low, high, p_value)


def sign_flip_p(differences: Sequence[float], *, flips: int = FLIPS, seed: int = 0) -> float:
    """Two-sided p-value that the summed differences are this far from 0 by chance.

    Under the null hypothesis A and B are interchangeable inside each cluster, so every cluster's difference may
    change its sign (Fisher 1935, The Design of Experiments, section 21). Exact up to `EXACT_UP_TO` clusters that
    differ; beyond, ``flips`` seeded draws with the observed one counted in.
    """
    import numpy as np

    # A cluster without a difference is the same with either sign.
    moved = np.array([difference for difference in differences if difference], dtype=float)
    if len(moved) == 0:
        return 1.0
    # Sums of the same numbers in another order may differ in their last bits and are still ties.
    threshold = abs(float(moved.sum())) - 1e-9
    if len(moved) <= EXACT_UP_TO:
        # Row i flips the clusters whose bit of i is 1; 2**14 rows of 14 numbers take 2 MB.
        patterns = np.arange(2 ** len(moved))[:, None] >> np.arange(len(moved)) & 1
        return float((np.abs((1 - 2 * patterns) @ moved) >= threshold).mean())
    generator = np.random.default_rng(seed)
    as_far = 0
    for _ in range(flips):
        signs = generator.integers(0, 2, size=len(moved)) * 2 - 1
        as_far += abs(float(signs @ moved)) >= threshold
    return (1 + as_far) / (flips + 1)
