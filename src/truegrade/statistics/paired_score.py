"""The score interval for a mean paired difference in clusters, and the test that it inverts.

For one sample a problem and problems by themselves this is Tango's score interval for the difference of paired
proportions (Tango 1998, Statistics in Medicine 17:891-908; recommended by Fagerland, Lydersen & Laake 2014,
Statistics in Medicine 33:2850-2875): all differences that the score test does not reject, whose variance is that
of the hypothesis, not of the data. At a difference of 0 it is McNemar's test. Runs that agree on every problem get
an interval of a width that the number of clusters warrants.

In clusters the variance is multiplied by the design effect about the same hypothesis: squared residuals of whole
clusters over those of single problems (Miller 2024, arXiv 2411.00640). At a difference of 0 the variance is then
the sum of squared cluster sums, which is that of the sign-flip test: the two are the same test, one by the normal
approximation and one by counting.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from statistics import NormalDist

from truegrade.statistics.quantiles import two_sided_z

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
