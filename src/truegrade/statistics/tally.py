"""Counts of the samples of one problem, pass@k, and the metrics over many problems."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from math import comb, fsum
from statistics import fmean
from typing import Any

import msgspec

from truegrade.errors import UnknownName, UserError
from truegrade.records import Estimate
from truegrade.statistics.intervals import cluster_interval

# --------------------------- The unbiased pass@k estimator of Chen et al. 2021 (arXiv 2107.03374, equation 1).


def pass_at_k(n: int, c: int, k: int) -> float:
    """Estimate the chance that at least one of ``k`` samples is right, from ``c`` right ones among ``n``.

    ``1 - C(n-c, k) / C(n, k)``, multiplied out as openai/human-eval@6d43fb9 ``human_eval/evaluation.py`` does:
    factors ``1 - k/i`` for i from n-c+1 to n, in that order. The closed form differs from it in the last bits.

    Raises:
        UserError: a count is negative, c exceeds n, or k is not between 1 and n.
    """
    if n < 0 or c < 0:
        raise UserError(f"pass@{k} needs counts of samples, not n = {n} and c = {c}; count them again")
    if c > n:
        raise UserError(f"pass@{k} was given {c} right samples out of {n}; count them again")
    if not 1 <= k <= n:
        raise UserError(f"pass@{k} cannot be estimated from {n} samples; choose k between 1 and {n}")
    if n - c < k:
        return 1.0
    all_wrong = 1.0
    for i in range(n - c + 1, n + 1):
        all_wrong *= 1.0 - k / i
    return 1.0 - all_wrong


METRICS = ("pass@1", "pass@10", "any_correct", "all_correct", "all_solutions")
"""Names that messages offer; ``pass@K`` is known for every whole K."""

_PASS_AT_K = re.compile(r"pass@([1-9][0-9]*)")


class TaskTally(msgspec.Struct, frozen=True, kw_only=True):
    """Counts of one problem's graded samples."""

    task_id: str
    cluster: str
    n: int
    """Samples."""
    c: int
    """Right ones."""
    unanswered: int = 0
    """Samples that held nothing to grade."""
    truncated: int = 0
    """Samples cut at a token limit."""

    def __post_init__(self) -> None:
        """Refuse counts that cannot be.

        Raises:
            UserError: c, unanswered or truncated is negative or exceeds n.
        """
        for field in ("c", "unanswered", "truncated"):
            if not 0 <= getattr(self, field) <= self.n:
                raise UserError(
                    f"problem {self.task_id}: {field} = {getattr(self, field)} of n = {self.n} samples"
                )


class _Term(msgspec.Struct, frozen=True):
    """One problem's part in an estimate ``sum(score) / sum(weight)``."""

    score: float
    weight: float
    draws: int
    """Independent draws that the score rests on at most."""


def samples_needed(metric: str) -> int:
    """How many samples of a problem a metric needs: K for ``pass@K``, else 1."""
    match = _PASS_AT_K.fullmatch(metric)
    return int(match[1]) if match else 1


def is_metric(name: str) -> bool:
    """Whether `estimate` knows the metric."""
    return name in METRICS or _PASS_AT_K.fullmatch(name) is not None


def estimate(metric: str, tallies: Sequence[TaskTally], confidence: float = 0.95) -> Estimate:
    """Compute a metric by name: ``pass@K``, ``any_correct``, ``all_correct`` or ``all_solutions``.

    Raises:
        UnknownName: no such metric.
        UserError: no problem has enough samples for it.
    """
    simple = {"any_correct": any_correct, "all_correct": all_correct, "all_solutions": all_solutions}
    if metric in simple:
        return simple[metric](tallies, confidence)
    if not is_metric(metric):
        raise UnknownName("metric", metric, METRICS)
    return mean_pass_at_k(tallies, samples_needed(metric), confidence)


def mean_pass_at_k(tallies: Sequence[TaskTally], k: int, confidence: float = 0.95) -> Estimate:
    """Mean over problems of the unbiased pass@k; problems with fewer than k samples are left out and counted.

    The mean is numpy's, so that it equals human-eval's and evalplus' to the last bit. n samples hold n // k
    independent groups of k, which bounds what the interval may claim.
    """

    def term(tally: TaskTally) -> _Term:
        return _Term(pass_at_k(tally.n, tally.c, k), 1.0, tally.n // k)

    return _estimate(f"pass@{k}", tallies, k, term, confidence)


def any_correct(tallies: Sequence[TaskTally], confidence: float = 0.95) -> Estimate:
    """Share of problems with at least one right sample. It grows with the number of samples: state that too."""
    return _estimate("any_correct", tallies, 1, lambda tally: _Term(float(tally.c >= 1), 1.0, 1), confidence)


def all_correct(tallies: Sequence[TaskTally], confidence: float = 0.95) -> Estimate:
    """Share of problems whose every sample is right."""
    return _estimate("all_correct", tallies, 1, lambda tally: _Term(float(tally.c == tally.n), 1.0, 1), confidence)


def all_solutions(tallies: Sequence[TaskTally], confidence: float = 0.95) -> Estimate:
    """Share of correct samples among all samples (micro average: problems are weighted by their samples)."""
    return _estimate("all_solutions", tallies, 1, lambda tally: _Term(tally.c, tally.n, tally.n), confidence)


def _estimate(
    metric: str,
    tallies: Sequence[TaskTally],
    needed: int,
    term: Callable[[TaskTally], _Term],
    confidence: float,
) -> Estimate:
    """Average the terms of all problems that have the ``needed`` number of samples."""
    counted = [tally for tally in tallies if tally.n >= needed]
    if not counted:
        most = max((tally.n for tally in tallies), default=0)
        raise UserError(
            f"{metric} needs {needed} samples of at least one problem; {len(tallies)} problems have at most"
            f" {most}; generate more samples (`n`) or ask for another metric"
        )
    terms = [term(tally) for tally in counted]
    clusters = [tally.cluster for tally in counted]
    scores, weights = [t.score for t in terms], [t.weight for t in terms]
    interval = cluster_interval(scores, weights, clusters, [t.draws for t in terms], confidence)
    return Estimate(
        metric=metric,
        value=_ratio(scores, weights),
        low=interval.low,
        high=interval.high,
        confidence=confidence,
        method=interval.method,
        samples=sum(tally.n for tally in counted),
        tasks=len(counted),
        clusters=len(set(clusters)),
        left_out=len(tallies) - len(counted),
        unanswered=sum(tally.unanswered for tally in counted),
        truncated=sum(tally.truncated for tally in counted),
    )


def _ratio(scores: Sequence[float], weights: Sequence[float]) -> float:
    """``sum(scores) / sum(weights)`` by numpy's pairwise summation."""
    if any(weights) and all(float(value).is_integer() for value in (*scores, *weights)):
        return fsum(scores) / fsum(weights)  # the same in any order, and to load numpy takes as long as a sample
    import numpy as np

    # numpy adds in pairs, `sum` from left to right: the last bits differ from those that the harnesses print.
    return float(np.sum(np.array(scores, dtype=float)) / np.sum(np.array(weights, dtype=float)))


def exact_value(metric: str, tallies: Sequence[TaskTally]) -> Fraction:
    """The value of `estimate` before any rounding: 7 of 10 on every problem is seven tenths.

    Raises:
        UnknownName: no such metric.
        UserError: no problem has enough samples for it.
    """
    if not is_metric(metric):
        raise UnknownName("metric", metric, METRICS)
    k = samples_needed(metric)
    alike = Counter((tally.n, tally.c) for tally in tallies if tally.n >= k)
    if not alike:
        raise UserError(f"{metric} needs {k} samples of at least one problem")

    def of(n: int, c: int) -> Fraction:
        if metric in ("any_correct", "all_correct"):
            return Fraction(c >= 1 if metric == "any_correct" else c == n)
        return 1 - Fraction(comb(n - c, k), comb(n, k))

    if metric == "all_solutions":
        return Fraction(
            sum(c * times for (_, c), times in alike.items()), sum(n * times for (n, _), times in alike.items())
        )
    return sum((of(*counts) * times for counts, times in alike.items()), Fraction(0)) / alike.total()


# ------------ The metrics that LiveCodeBench's graders themselves print, with their list of k and their scale.

KS = (1, 5, 10, 20, 40, 50, 75, 100, 125, 150, 200, 500, 1000)
"""``k_list`` of ``codegen_metrics``; EvalScope's adapter and the fork pass (1,)."""


class Scale(msgspec.Struct, frozen=True, kw_only=True):
    """Which k a grader asks for, and whether it prints percent."""

    ks: tuple[int, ...] = KS
    percent: bool = False


OFFICIAL = Scale()
PERCENT = Scale(ks=(1,), percent=True)
"""EvalScope's and the fork's."""


def published_metrics(passed: Mapping[str, Sequence[bool]], scale: Scale = OFFICIAL) -> dict[str, Any]:
    """``{"pass@k": mean, ..., "detail": {"pass@k": {problem: value}}}``.

    A k that one problem has too few samples for is left out. LiveCodeBench/LiveCodeBench@28fef95
    ``lcb_runner/evaluation/pass_k_utils.py``; modelscope/evalscope@fde259d2 and the fork @af0ac9f7 print percent.

    Args:
        passed: of each problem, whether each sample passes.
        scale: the grader's.
    """
    whole = 100.0 if scale.percent else 1.0
    detail = {
        f"pass@{k}": {problem: whole * pass_at_k(len(row), sum(row), k) for problem, row in passed.items()}
        for k in scale.ks
        if passed and all(len(row) >= k for row in passed.values())
    }
    means = {name: fmean(values.values()) for name, values in detail.items()}
    return {**means, "detail": detail}
