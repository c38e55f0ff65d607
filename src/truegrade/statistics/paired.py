"""Paired comparison of two runs: difference, interval and tests."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from math import comb, sqrt
from statistics import NormalDist

import msgspec

from truegrade.errors import NotComparable
from truegrade.statistics.claims import FLIPS
from truegrade.statistics.intervals import two_sided_z
from truegrade.statistics.reasoning_records import ShareDifference
from truegrade.statistics.tally import TaskTally, exact_value

# ------------------ The score interval for a mean paired difference in clusters, and the test that it inverts.
# For one sample a problem and problems by themselves this is Tango's score interval for the difference of paired
# proportions (Tango 1998, Statistics in Medicine 17:891-908; recommended by Fagerland, Lydersen & Laake 2014,
# Statistics in Medicine 33:2850-2875): all differences that the score test does not reject, whose variance is
# that of the hypothesis, not of the data. At a difference of 0 it is McNemar's test. Runs that agree on every
# problem get an interval of a width that the number of clusters warrants.
#
# In clusters the variance is multiplied by the design effect about the same hypothesis: squared residuals of
# whole clusters over those of single problems (Miller 2024, arXiv 2411.00640). At a difference of 0 the variance
# is then the sum of squared cluster sums, which is that of the sign-flip test: the two are the same test, one by
# the normal approximation and one by counting.


# Halvings of [-1, 1]: 2e-15 is left, ten times the last bit of a double near 1.
_BISECTIONS = 50
# Sums of squares below this are 0 but for rounding.
_NOTHING = 1e-12


class ScoreTest:
    """Of the paired differences, each in [-1, 1], of the problems of each cluster; none is empty."""

    def __init__(self, clusters: Sequence[Sequence[float]]) -> None:
        self._sums = [sum(cluster) for cluster in clusters]
        self._sizes = [float(len(cluster)) for cluster in clusters]
        self._tasks, self._total = sum(self._sizes), sum(self._sums)
        moved = [abs(gain) for cluster in clusters for gain in cluster if gain]
        self._least_effect = min(moved, default=1.0)
        """Several samples make a problem steadier than one, but not steadier than as many problems: as gains are
        shares of samples, the smallest says how many there are.
        """
        self._won = sum(gain for cluster in clusters for gain in cluster if gain > 0)
        self._lost = self._won - self._total

    def p_value(self) -> float:
        """Two-sided, that the mean difference is 0."""
        variance = self._variance(0.0)
        if variance <= _NOTHING:
            return 1.0
        return 2 * NormalDist().cdf(-abs(self._total) / sqrt(variance))

    def interval(self, confidence: float) -> tuple[float, float]:
        """Ends of the differences around the mean that are not rejected; beyond a rejected one all others are.

        Raises:
            UserError: ``confidence`` is not strictly between 0 and 1.
        """
        square = two_sided_z(confidence) ** 2
        return self._end(-1.0, square), self._end(1.0, square)

    def _end(self, outside: float, square: float) -> float:
        """Where rejection begins between the mean and an end of the range."""
        inside = self._total / self._tasks
        # 0 lies between: if it is rejected so is all beyond it, and the interval ends before 0, as p says.
        if inside * outside < 0 and self._rejects(0.0, square):
            outside = 0.0
        if not self._rejects(outside, square):
            return outside
        for _ in range(_BISECTIONS):
            middle = (inside + outside) / 2
            if self._rejects(middle, square):
                outside = middle
            else:
                inside = middle
        return inside

    def _rejects(self, difference: float, square: float) -> bool:
        return (self._total - self._tasks * difference) ** 2 > square * self._variance(difference)

    def _variance(self, difference: float) -> float:
        """Of the summed gains, if this were their mean."""
        squares = self._won + self._lost - 2 * difference * self._total + self._tasks * difference**2
        if squares > _NOTHING:
            pairs = zip(self._sums, self._sizes, strict=True)
            effect = sum((total - difference * size) ** 2 for total, size in pairs) / squares
        else:
            # Nothing moved, so nothing is known of likeness: tasks of a cluster are taken for identical.
            effect = sum(size**2 for size in self._sizes) / self._tasks
        return max(effect, self._least_effect) * self._trinomial(difference)

    def _trinomial(self, difference: float) -> float:
        """Tango's variance: wins and losses at their most likely rates under the hypothesis."""
        more, fewer = (self._won, self._lost) if difference >= 0 else (self._lost, self._won)
        shift = abs(difference)
        a = 2 * self._tasks
        b = (a - more + fewer) * shift - more - fewer
        c = -fewer * shift * (1 - shift)
        # The likelihood under the hypothesis is greatest at the positive root of a x² + b x + c (Tango 1998); x is
        # the rate of tasks that move against the difference.
        rate = (sqrt(max(0.0, b * b - 4 * a * c)) - b) / (2 * a)
        return self._tasks * max(0.0, 2 * rate + shift * (1 - shift))


# ----------------------------------- McNemar's exact test on the problems that exactly one of two runs solves.
# Problems on which both are right or both are wrong say nothing about which is better, so only the others count.
# It holds for one sample a problem and problems independent of each other; elsewhere `sign_flip_p` of the module
# ``paired`` takes its place, and with single samples the two are the same number.


def mcnemar_p(wins: int, losses: int) -> float:
    """Two-sided exact McNemar test (McNemar 1947, Psychometrika 12:153-157): wins ~ B(wins + losses, 1/2)."""
    pairs = wins + losses
    # Whole numbers up to the one division: exact for any number of tasks.
    tail = sum(comb(pairs, i) for i in range(min(wins, losses) + 1))
    # Where wins equal losses the two tails share their middle term.
    return min(1.0, 2 * tail / (1 << pairs))


METHOD = "paired cluster-robust score interval, with the exact test at 0"
NO_METHOD = "none: a single cluster"
EXACT_UP_TO = 14
"""Clusters with a difference up to which all 2**clusters sign flips are enumerated."""
CHUNK_CELLS = 2_000_000
"""Numbers drawn at once: draws times clusters or kinds of them, in memory at eight bytes each."""


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
    # Rounded once, at the end: equal totals differ by 0, not by the last bits of thirds.
    rates = [exact_value("pass@1", [of[task] for task in common]) for of in (of_a, of_b)]
    return PairedComparison(
        rate_a=float(rates[0]),
        rate_b=float(rates[1]),
        difference=float(rates[1] - rates[0]),
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

    The interval is the score interval above. Its test is an approximation, which
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
    rows = max(1, CHUNK_CELLS // len(moved))
    for start in range(0, flips, rows):
        signs = generator.integers(0, 2, size=(min(rows, flips - start), len(moved))) * 2 - 1
        as_far += int((np.abs(signs @ moved) >= threshold).sum())
    return (1 + as_far) / (flips + 1)


# ----------------------- The paired bootstrap: an interval for a mean difference that assumes no distribution.
# Whole clusters are drawn with replacement, each with its paired differences (Efron 1979, Annals of Statistics
# 7:1-26; by cluster: Field & Welsh 2007, J. Royal Statistical Society B 69:369-390). Pairs stay pairs, and
# samples of a problem and problems of a question stay together. The interval is the percentile one. It is too
# narrow with few clusters, and of width zero where no problem differs; so it stands beside the score interval,
# never in its place.


DRAWS = 10_000


class BootstrapInterval(msgspec.Struct, frozen=True, kw_only=True):
    """Ends of the interval, as fractions; None where the pairs form a single cluster."""

    low: float | None
    high: float | None
    confidence: float
    draws: int
    seed: int


def bootstrap_interval(
    clusters: Sequence[Sequence[float]], confidence: float = 0.95, *, draws: int = DRAWS, seed: int = 0
) -> BootstrapInterval:
    """Percentile interval for the mean of paired differences, given cluster by cluster.

    Args:
        clusters: the differences of the problems of each cluster; none is empty.
        confidence: strictly between 0 and 1.
        draws: resamples.
        seed: of the draws: the same data give the same interval.
    """
    import numpy as np

    # A single cluster drawn with replacement is always itself: the interval would have width zero.
    if len(clusters) < 2:
        return BootstrapInterval(low=None, high=None, confidence=confidence, draws=draws, seed=seed)
    # Clusters that are alike are drawn as one kind: single samples have three kinds, however many the tasks.
    totals = np.array([(sum(cluster), len(cluster)) for cluster in clusters], dtype=float)
    kinds, counts = np.unique(totals, axis=0, return_counts=True)
    sums, sizes = kinds.T
    generator = np.random.default_rng(seed)
    rows = max(1, CHUNK_CELLS // len(kinds))
    means = []
    for start in range(0, draws, rows):
        # How often each kind is drawn is multinomial: one call in place of a draw for every cluster.
        times = generator.multinomial(len(clusters), counts / len(clusters), size=min(rows, draws - start))
        # A ratio of sums: clusters of several sizes make the number of tasks vary from draw to draw as well.
        means.append((times @ sums) / (times @ sizes))
    tail = (1.0 - confidence) / 2.0
    low, high = np.quantile(np.concatenate(means), (tail, 1.0 - tail)).tolist()
    return BootstrapInterval(low=low, high=high, confidence=confidence, draws=draws, seed=seed)
