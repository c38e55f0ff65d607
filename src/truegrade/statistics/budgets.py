"""Pass rate against token budget: what share of replies is right and not longer than so many output tokens.

For a budget up to the limit that the replies were generated with, every reply shows whether it is right and how
long it is: the rate is known. A reply that was cut without being right could have become right at a larger limit,
or not: beyond the place where it was cut the rate lies between that without it and that with it, and no data of
the run say where (Manski 1989, J. Human Resources 24:343-360). Nothing is extrapolated.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from itertools import compress

import msgspec

from truegrade.statistics.intervals import cluster_interval

POINTS = 48
"""Budgets that a curve holds at most: quantiles of the lengths of right replies, the limit, the longest reply."""
KNOWN_SHARE = 0.99
"""Replies whose length must be known; those few whose is not widen the bounds."""


class SizedReply(msgspec.Struct, frozen=True, gc=False):
    """A graded reply."""

    task: str
    cluster: str
    passed: bool
    tokens: int | None
    """Output tokens; None where the service did not say."""
    cut: bool
    """At a token limit."""


class BudgetPoint(msgspec.Struct, frozen=True, array_like=True):
    """``[tokens, low, high, interval_low, interval_high]``: rates as fractions."""

    tokens: int
    low: float
    high: float
    """Bounds of the rate in these replies; equal where it is known."""
    interval_low: float | None
    interval_high: float | None
    """Cluster intervals: lower end of that of ``low``, upper end of that of ``high``; None for one cluster."""


class BudgetStretch(msgspec.Struct, frozen=True, kw_only=True):
    """Budgets at which the rates of two runs differ for certain."""

    start: int
    end: int | None
    """The last budget of the stretch that either curve holds; None where it goes on without end."""
    second_higher: bool


class BudgetCurve(msgspec.Struct, frozen=True, kw_only=True):
    """The rate at several budgets."""

    samples: int
    known: int
    """Samples whose length is known."""
    limit: int | None
    """The largest budget at which the rate is known: the length of the shortest reply that was cut without being
    right. None where there is none: the rate is then known at every budget."""
    cut: int = 0
    """Samples that were cut without being right."""
    points: list[BudgetPoint] = []
    """In order of budget; empty where too few lengths are known."""
    beyond: BudgetPoint | None = None
    """Bounds for every budget larger than the longest reply; None where the rate is known at every budget."""
    confidence: float = 0.95

    def bounds(self, tokens: float) -> tuple[float, float]:
        """What is known of the rate at a budget: between two stored ones it lies between theirs."""
        low = max((point.low for point in self.points if point.tokens <= tokens), default=0.0)
        after = next((point for point in self.points if point.tokens >= tokens), self.beyond or self.points[-1])
        if tokens < self.points[0].tokens and self.known == self.samples:
            return 0.0, 0.0  # no right reply is so short, and none was cut: the limit is one of the points
        return low, after.high


def budget_curve(replies: Iterable[SizedReply], confidence: float = 0.95) -> BudgetCurve:
    """The rate at the budgets where it changes, as a mean over problems.

    Args:
        replies: graded; one at least. They are read once.
        confidence: of the intervals.
    """
    columns = _Columns(replies)
    samples, known = len(columns.tokens), columns.known.count(1)
    cut = columns.cut.count(1)
    curve = BudgetCurve(samples=samples, known=known, limit=None, cut=cut, confidence=confidence)
    if known < KNOWN_SHARE * samples:
        return curve
    at = _Rates(columns, confidence)
    longest = max(compress(columns.tokens, columns.known))
    limit = min(
        compress(compress(columns.tokens, columns.known), compress(columns.cut, columns.known)), default=None
    )
    return msgspec.structs.replace(
        curve,
        limit=limit,
        points=[at(tokens) for tokens in _budgets(columns, limit, longest)],
        beyond=at(longest, beyond=True) if cut else None,
    )


def surely_apart(first: BudgetCurve, second: BudgetCurve) -> list[BudgetStretch]:
    """Budgets at which the bounds of two curves do not meet, whatever the cut replies would have become.

    It says nothing about chance: another draw of replies may differ.
    """
    if not first.points or not second.points:
        return []
    budgets = sorted({point.tokens for curve in (first, second) for point in curve.points})
    found: list[BudgetStretch] = []
    before: bool | None = None
    for tokens in [*budgets, budgets[-1] + 1]:
        (low, high), (other_low, other_high) = first.bounds(tokens), second.bounds(tokens)
        side = True if other_low > high else False if low > other_high else None
        end = None if tokens > budgets[-1] else tokens
        if side is not None and side == before:
            found[-1] = msgspec.structs.replace(found[-1], end=end)
        elif side is not None and end is not None:
            found.append(BudgetStretch(start=tokens, end=end, second_higher=side))
        before = side
    return found


class _Columns:
    """Replies by what the curve needs of each, in fifteen bytes."""

    def __init__(self, replies: Iterable[SizedReply]) -> None:
        self.clusters: dict[str, str] = {}
        """Of each problem, in the order in which they came."""
        places: dict[str, int] = {}
        self.of, self.tokens = array("i"), array("q")
        """The place of its problem; output tokens, -1 where they are not known."""
        self.known, self.passed, self.cut = bytearray(), bytearray(), bytearray()
        """``cut``: and not right."""
        for reply in replies:
            self.clusters.setdefault(reply.task, reply.cluster)
            self.of.append(places.setdefault(reply.task, len(places)))
            self.tokens.append(-1 if reply.tokens is None else reply.tokens)
            self.known.append(reply.tokens is not None)
            self.passed.append(reply.passed)
            self.cut.append(reply.cut and not reply.passed)


def _budgets(columns: _Columns, limit: int | None, longest: int) -> list[int]:
    """Lengths at which the rate rises, a bounded number of them, the limit and the longest reply."""
    right = sorted(compress(compress(columns.tokens, columns.known), compress(columns.passed, columns.known)))
    most = POINTS - 2
    places = {round(share * (len(right) - 1) / (most - 1)) for share in range(most)} if right else set()
    return sorted({right[place] for place in places} | {longest} | ({limit} if limit is not None else set()))


class _Rates:
    """The rate of these replies at a budget, and its interval."""

    def __init__(self, columns: _Columns, confidence: float) -> None:
        import numpy as np

        self._confidence = confidence
        self._clusters = list(columns.clusters.values())
        self._of = np.frombuffer(columns.of, np.int32)
        self._samples = np.bincount(self._of)
        self._tokens = np.frombuffer(columns.tokens, np.int64)
        self._passed, self._cut = (np.frombuffer(column, bool) for column in (columns.passed, columns.cut))

    def __call__(self, budget: int, *, beyond: bool = False) -> BudgetPoint:
        """At this budget, or at every larger one that no reply reached."""
        import numpy as np

        unknown = self._tokens < 0
        low = self._passed & (self._tokens <= budget) & ~unknown
        open_ended = self._cut & ((self._tokens < budget) | unknown | beyond)
        high = low | open_ended | (self._passed & unknown)
        rates = [np.bincount(self._of, weights=each) / self._samples for each in (low, high)]
        ones, draws = [1.0] * len(self._samples), self._samples.tolist()
        ends = [cluster_interval(rate.tolist(), ones, self._clusters, draws, self._confidence) for rate in rates]
        return BudgetPoint(budget, float(rates[0].mean()), float(rates[1].mean()), ends[0].low, ends[1].high)
