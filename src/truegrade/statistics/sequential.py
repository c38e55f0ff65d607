"""Comparing two runs while the answers come in: a test that may be looked at after every problem.

A p-value of an ordinary test holds for one look at a number of problems that was fixed before; somebody who looks
after every problem and stops at the first p below 0.05 is wrong far more often than once in twenty. An e-value is
the capital of a fair bet against "there is no difference": it may be looked at any time, because it ever reaches
1/alpha with a probability of alpha at most (Ville 1939). Ramdas, Grünwald, Vovk & Shafer 2023 (Statistical Science
38:576-601) survey them. The order of the problems must be fixed before anything is seen: `seeded_order`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from itertools import accumulate
from math import comb, exp, lgamma, log

import msgspec

from truegrade.statistics.betting import confidence_sequence, log_capital

PAIRS = "e-value of the discordant problems, uniform mixture"
BETTING = "hedged betting on the differences by cluster"
_LARGEST = 1e300
"""An e-value is stored as a number; larger ones as this."""


class Look(msgspec.Struct, frozen=True, kw_only=True):
    """What was known after so many problems. Differences are fractions, second minus first."""

    clusters: int
    problems: int
    difference: float
    low: float
    high: float
    """Confidence sequence for the difference on problems like these."""
    benchmark_low: float
    benchmark_high: float
    """The same for the difference on exactly the problems of the benchmark, those not yet asked among them."""


class AnytimeTest(msgspec.Struct, frozen=True, kw_only=True):
    """A comparison in a fixed order of problems."""

    alpha: float
    method: str
    e: float
    """The largest so far; the comparison is decided where it reaches ``1 / alpha``."""
    p_value: float
    """Anytime-valid: ``1 / e``, at most 1."""
    problems: int
    """Of the benchmark, as far as they can be compared."""
    clusters: int
    decision: Look | None
    """When it was decided; None where it was not."""
    end: Look
    """After the last problem that both answered."""

    @property
    def second_better(self) -> bool:
        """Of a decided comparison: whether the second is the better one."""
        return (self.decision or self.end).difference > 0


def seeded_order(names: Iterable[str], seed: int) -> list[str]:
    """Names in an order that nothing but they and the seed decide: by the SHA-256 of ``seed:name``."""
    return sorted(dict.fromkeys(names), key=lambda name: sha256(f"{seed}:{name}".encode()).digest())


def log_e_value(wins: int, losses: int) -> float:
    """Natural logarithm of ``2^(w+l) B(w+1, l+1)``: the e-value against "a win is as likely as a loss".

    It is the likelihood ratio of "a win has probability x", averaged over all x, to 1/2 (Robbins 1970, Annals of
    Mathematical Statistics 41:1397-1409; B is the beta function). With c(n, w) the binomial coefficient it equals
    ``2^n / ((n + 1) c(n, w))``, n = w + l.
    """
    pairs = wins + losses
    return pairs * log(2) + lgamma(wins + 1) + lgamma(losses + 1) - lgamma(pairs + 2)


def log_e_value_greater(wins: int, losses: int) -> float:
    """The same against "a win is at most as likely as a loss": ``2^(w+l+1)`` times the integral of
    ``x^w (1 - x)^l`` over [1/2, 1].

    By the identity of beta and binomial tails it is ``sum(c(n + 1, i) for i <= w) / ((n + 1) c(n, w))``, which is
    computed in whole numbers. It holds for problems that are independent draws; for the differences among the
    problems of one finite benchmark only the two-sided one does (docs/statistics.md).
    """
    pairs = wins + losses
    tail = sum(comb(pairs + 1, i) for i in range(wins + 1))
    return log(tail) - log(comb(pairs, wins) * (pairs + 1))


def log_e_path(clusters: Sequence[Sequence[float]], *, single: bool, largest: int, alpha: float) -> list[float]:
    """Natural logarithm of the e-value after each cluster.

    Args:
        clusters: differences of the problems of each, in the fixed order.
        single: each cluster is one problem with one sample in either run: a win, a loss or a tie.
        largest: problems of the largest cluster of the benchmark.
        alpha: level that the bets are sized for.
    """
    if not single:
        values = bounded(clusters, largest)
        return [float(row[0]) for row in log_capital(values, [0.5], alpha)] if values else []
    wins = accumulate(int(cluster[0] > 0) for cluster in clusters)
    losses = accumulate(int(cluster[0] < 0) for cluster in clusters)
    return [log_e_value(won, lost) for won, lost in zip(wins, losses, strict=True)]


def bounded(clusters: Iterable[Sequence[float]], largest: int) -> list[float]:
    """Differences of clusters as numbers in [0, 1], 1/2 for none: ``1/2 + sum / (2 largest)``."""
    return [min(1.0, max(0.0, 0.5 + sum(cluster) / (2 * largest))) for cluster in clusters]


def anytime_test(
    clusters: Sequence[Sequence[float]],
    *,
    single: bool,
    sizes: Sequence[int],
    alpha: float = 0.05,
) -> AnytimeTest:
    """Test whether two runs differ, with the look at which that was decided.

    Args:
        clusters: differences of the problems of each cluster that both answered, in the fixed order; one at least.
        single: as for `log_e_path`.
        sizes: problems of every cluster of the benchmark, answered or not.
        alpha: level, strictly between 0 and 1.
    """
    path = log_e_path(clusters, single=single, largest=max(sizes), alpha=alpha)
    decided = next((place for place, e in enumerate(path) if e >= -log(alpha)), None)
    look = _looks(clusters, sizes, alpha)
    return AnytimeTest(
        alpha=alpha,
        method=PAIRS if single else BETTING,
        e=exp(max(path)) if max(path) < log(_LARGEST) else _LARGEST,
        p_value=min(1.0, exp(-max(path))),
        problems=sum(sizes),
        clusters=len(sizes),
        decision=None if decided is None else look(decided),
        end=look(len(path) - 1),
    )


class _Looks(msgspec.Struct, frozen=True):
    """The confidence sequences of a comparison, read at a place."""

    clusters: Sequence[Sequence[float]]
    scale: float
    """Difference a problem for a difference of 1 between bounded means."""
    low: Sequence[float]
    high: Sequence[float]
    benchmark_low: Sequence[float]
    benchmark_high: Sequence[float]

    def __call__(self, place: int) -> Look:
        seen = self.clusters[: place + 1]
        problems = sum(map(len, seen))

        def bound(values: Sequence[float]) -> float:
            return min(1.0, max(-1.0, self.scale * (2 * values[place] - 1)))

        return Look(
            clusters=len(seen),
            problems=problems,
            difference=sum(map(sum, seen)) / problems,
            low=bound(self.low),
            high=bound(self.high),
            benchmark_low=bound(self.benchmark_low),
            benchmark_high=bound(self.benchmark_high),
        )


def _looks(clusters: Sequence[Sequence[float]], sizes: Sequence[int], alpha: float) -> _Looks:
    values = bounded(clusters, max(sizes))
    like_these = confidence_sequence(values, 1 - alpha)
    of_these = confidence_sequence(values, 1 - alpha, population=len(sizes))
    scale = max(sizes) * len(sizes) / sum(sizes)
    return _Looks(clusters, scale, like_these.low, like_these.high, of_these.low, of_these.high)


def ordered_clusters(cluster_of: Mapping[str, str], seed: int) -> list[list[str]]:
    """Problems in the seeded order, those of a cluster together.

    Args:
        cluster_of: cluster of each problem.
        seed: of `seeded_order`, for clusters and inside each.
    """
    members: dict[str, list[str]] = defaultdict(list)
    for problem in seeded_order(cluster_of, seed):
        members[cluster_of[problem]].append(problem)
    return [members[cluster] for cluster in seeded_order(members, seed)]


def share_sequence(clusters: Sequence[Sequence[float]], sizes: Sequence[int], alpha: float) -> tuple[float, float]:
    """Confidence sequence, at the end, for a mean share of problems in clusters that came in a fixed order.

    Args:
        clusters: shares in [0, 1] of the problems of each; one cluster at least.
        sizes: problems of every cluster of the benchmark.
        alpha: 1 less the confidence.
    """
    values = [min(1.0, sum(cluster) / max(sizes)) for cluster in clusters]
    found = confidence_sequence(values, 1 - alpha)
    scale = max(sizes) * len(sizes) / sum(sizes)
    return min(1.0, scale * found.low[-1]), min(1.0, scale * found.high[-1])
