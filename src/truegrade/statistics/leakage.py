"""How large a share of a benchmark a model knows by heart, from originals and changed problems, pair by pair.

A changed problem has another right answer than its original. Each reply is right, or the right answer of the other
problem of its pair ("exchanged"; on a changed problem: a reversion), or otherwise wrong.

**Share.** Let a share ``d`` of the originals be known by heart, drawn without regard to how hard they are. Such an
original is answered rightly; its changed problem is answered from memory with probability ``m``, which is a
reversion, and else like any other. Without memory an original and its changed problem have the same chances: ``p``
right, ``s`` exchanged, ``q = 1 - p - s`` otherwise wrong. With upper-case letters for the shares that are seen::

    originals:  exchanged S = (1 - d) s      otherwise wrong W = (1 - d) q
    changed:    reverted  R = dm + (1 - dm) s      otherwise wrong W' = (1 - dm) q

Hence ``1 - d = S + W (1 - R) / W'``, where ``W' / (1 - R)`` is the share otherwise wrong of those that are not
reverted. Without any exchange it is Abbott's correction (1925, J. Economic Entomology 18:265-267) of the share of
failures on originals by that on changed problems. An original that was seen and not learned counts as not known:
the estimate is of what memory answers, which is at most what was leaked.

**Test.** Where a coin decided which problem of each pair was published, a model that knows none of them answers
each pair as likely the other way round, whatever its skill and however hard either problem is. So the sum of
signed scores has a known distribution, and the p-value is exact.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import isinf
from typing import Literal

import msgspec

from truegrade.statistics.intervals import NO_METHOD
from truegrade.statistics.mover import Bounds, ratio_span, spread
from truegrade.statistics.ratios import Ratios, Share

METHOD = "MOVER of Wilson intervals, with their covariance over clusters"
Reply = Literal["right", "exchanged", "wrong"]


class AnsweredPair(msgspec.Struct, frozen=True):
    """What became of an original and of its changed problem."""

    cluster: str
    """Pairs of one cluster were published together; clusters are independent of each other."""
    original: Reply
    changed: Reply

    @property
    def score(self) -> int:
        """From 2, where the original's answer was given to both, to -2, where the changed problem's was."""
        worth = {"right": 1, "exchanged": -1, "wrong": 0}
        return worth[self.original] - worth[self.changed]


class LeakEstimate(msgspec.Struct, frozen=True, kw_only=True):
    """What pairs say about memory."""

    pairs: int
    clusters: int
    original_rate: float
    """Share of originals that are answered rightly."""
    changed_rate: float
    reversion_rate: float
    """Share of changed problems that are given the original's answer."""
    exchange_rate: float
    """Share of originals that are given the changed problem's answer: as often as reversions, without memory."""
    known: float | None
    """Estimated share of originals that memory answers, below 0 where chance has it so; None where every changed
    problem is answered rightly or by the original's answer, so that memory has nothing to be seen by."""
    low: float | None
    """Ends of its interval, within 0 and 1; None with a single cluster too."""
    high: float | None
    confidence: float
    method: str
    p_value: float
    """One-sided, of no memory at all; exact where a coin decided which problem of a pair was published."""

    @property
    def abbott(self) -> float | None:
        """Abbott's correction, which takes a reversion for a failure of skill; None where nothing changed fails.

        It is nearer the truth where reversions fall on problems that skill would have failed at.
        """
        failing = 1 - self.changed_rate
        return 1 - (1 - self.original_rate) / failing if failing else None


def leak_estimate(pairs: Sequence[AnsweredPair], confidence: float = 0.95) -> LeakEstimate:
    """Estimate and test how much of a benchmark a model knows by heart.

    Args:
        pairs: at least one.
        confidence: of the interval, strictly between 0 and 1.
    """
    ones = [1] * len(pairs)
    kept = [int(pair.changed != "exchanged") for pair in pairs]
    shares = [
        Share([pair.original == "exchanged" for pair in pairs], ones, ones),
        Share([pair.original == "wrong" for pair in pairs], ones, ones),
        Share([pair.changed == "wrong" for pair in pairs], kept, kept),
    ]
    known, bounds = (None, None) if not any(shares[2].tops) else _known(shares, pairs, confidence)
    low, high = bounds or (None, None)
    size = len(pairs)
    return LeakEstimate(
        pairs=size,
        clusters=len({pair.cluster for pair in pairs}),
        original_rate=sum(pair.original == "right" for pair in pairs) / size,
        changed_rate=sum(pair.changed == "right" for pair in pairs) / size,
        reversion_rate=sum(pair.changed == "exchanged" for pair in pairs) / size,
        exchange_rate=sum(pair.original == "exchanged" for pair in pairs) / size,
        known=known,
        low=low,
        high=high,
        confidence=confidence,
        method=METHOD if bounds else NO_METHOD,
        p_value=sign_flip_tail(_cluster_scores(pairs)),
    )


def sign_flip_tail(scores: Sequence[int]) -> float:
    """Probability that the sum of these numbers, each with a random sign, is at least the sum that they have.

    Exact: the distribution is convolved number by number, in whole counts.
    """
    sums: Counter[int] = Counter({0: 1})
    for size in filter(None, map(abs, scores)):
        after: Counter[int] = Counter()
        for total, ways in sums.items():
            after[total + size] += ways
            after[total - size] += ways
        sums = after
    observed = sum(scores)
    return sum(ways for total, ways in sums.items() if total >= observed) / sums.total()


def _cluster_scores(pairs: Sequence[AnsweredPair]) -> list[int]:
    totals: Counter[str] = Counter()
    for pair in pairs:
        totals[pair.cluster] += pair.score
    return list(totals.values())


def _known(
    shares: Sequence[Share], pairs: Sequence[AnsweredPair], confidence: float
) -> tuple[float, Bounds | None]:
    """``1 - S - W / (W' / (1 - R))`` and its interval.

    The terms S and W / ... are taken for uncorrelated, which is wide. The correlation of W with W' is that of the
    pairs and one more of each kind of disagreement: without it, pairs that all agree would make the ratio certain
    (after Agresti & Min 2005, Statistics in Medicine 24:729-740, who add to each cell of matched pairs).
    """
    ratios = Ratios(shares, [pair.cluster for pair in pairs], confidence)
    exchanged, wrong, skill = ratios.values
    value = 1 - exchanged - wrong / skill
    found = [ratios.bounds(place, ratios.z) for place in range(3)]
    if any(bounds is None for bounds in found):
        return value, None
    of_exchanged, of_wrong, of_skill = (bounds for bounds in found if bounds is not None)
    term = ratio_span(wrong, skill, of_wrong, of_skill, _correlation(shares[1:], pairs))
    values, bounds = (exchanged, wrong / skill), (of_exchanged, term)
    if isinf(term[1]):
        return value, (0.0, min(1.0, max(0.0, value + spread((1, 1), values, bounds, _uncorrelated, -1))))
    below, above = (spread((1, 1), values, bounds, _uncorrelated, side) for side in (1, -1))
    return value, (min(1.0, max(0.0, value - below)), min(1.0, max(0.0, value + above)))


def _correlation(shares: Sequence[Share], pairs: Sequence[AnsweredPair]) -> float:
    """Of two shares, with a pair more that is of the first alone, and one that is of the second alone."""
    more = ((1, 0), (0, 1))
    smoothed = [
        Share([*share.tops, *tops], [*share.bottoms, 1, 1], [*share.draws, 1, 1])
        for share, tops in zip(shares, more, strict=True)
    ]
    clusters = [*(f"pair {pair.cluster}" for pair in pairs), "first", "second"]
    return Ratios(smoothed, clusters).correlation(0, 1)


def _uncorrelated(_: int, __: int) -> float:
    return 0.0
