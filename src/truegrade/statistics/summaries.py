"""Summaries of what some samples may lack, means of scores, and whether samples are exchangeable."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import combinations
from math import comb, floor, fsum
from statistics import fmean
from typing import TYPE_CHECKING

import msgspec

from truegrade.errors import UserError
from truegrade.records import Estimate
from truegrade.statistics.claims import told
from truegrade.statistics.paired import bootstrap_interval

if TYPE_CHECKING:
    import numpy as np

# -------------------------------- Plain summaries of tokens, seconds and dollars, which some samples may lack.


class NumberSummary(msgspec.Struct, frozen=True, kw_only=True):
    """Of the known values; all in the unit of the input."""

    count: int
    """Known values."""
    missing: int
    """Values nobody reported; ``total`` lacks them."""
    total: float
    mean: float
    median: float
    p90: float
    p99: float
    low: float
    high: float


def summarise(values: Iterable[float | None]) -> NumberSummary | None:
    """Summarise what is known; None where nothing is."""
    given = list(values)
    known = sorted(value for value in given if value is not None)
    if not known:
        return None
    # Rounded once: the order in which samples arrived does not show.
    total = fsum(known)
    return NumberSummary(
        count=len(known),
        missing=len(given) - len(known),
        total=total,
        mean=total / len(known),
        median=percentile(known, 50),
        p90=percentile(known, 90),
        p99=percentile(known, 99),
        low=known[0],
        high=known[-1],
    )


def percentile(ordered: Sequence[float], percent: float) -> float:
    """Percentile of ascending values, interpolated linearly (definition 7 of Hyndman & Fan 1996).

    Raises:
        UserError: no values, or ``percent`` outside [0, 100].
    """
    if not ordered or not 0 <= percent <= 100:
        raise UserError(f"percentile {percent} of {len(ordered)} values is not defined; give values and 0 to 100")
    place = (len(ordered) - 1) * percent / 100
    below = floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


def totals_by_task(values: Iterable[tuple[str, float | None]]) -> dict[str, float | None]:
    """Sum (problem id, value) pairs per problem; None where a sample lacks its value, for a part is no total."""
    parts: dict[str, list[float | None]] = defaultdict(list)
    for task_id, value in values:
        parts[task_id].append(value)
    return {
        task_id: fsum(known) if len(known := [v for v in given if v is not None]) == len(given) else None
        for task_id, given in parts.items()
    }


# ------------------------ Means of scores that are no shares, and shares of many problems with few draws each.
# The mean of scores that are no shares: they may lie outside [0, 1], so intervals of shares do not apply.

METHOD = "cluster bootstrap, percentile"
NO_CLUSTERS = "none: a single cluster"
NO_SPREAD = "none: all problems have the same score"


class ProblemScores(msgspec.Struct, frozen=True, kw_only=True):
    """The scores of one problem's graded samples."""

    cluster: str
    scores: Sequence[float]


def mean_score(metric: str, problems: Sequence[ProblemScores], confidence: float = 0.95) -> Estimate:
    """Mean over problems of the mean over a problem's samples; problems without one are left out and counted.

    Where all problems have the same score there is no interval: draws from equal values are equal, and a width of
    zero would say that nothing is uncertain.

    Args:
        metric: its name.
        problems: those that count.
        confidence: of the interval, strictly between 0 and 1.

    Raises:
        UserError: no problem has a sample.
    """
    counted = [problem for problem in problems if problem.scores]
    if not counted:
        raise UserError(f"{metric} needs a graded sample of at least one problem")
    clusters: dict[str, list[float]] = defaultdict(list)
    for problem in counted:
        clusters[problem.cluster].append(fmean(problem.scores))
    values = [value for cluster in clusters.values() for value in cluster]
    low = high = None
    method = NO_CLUSTERS if len(clusters) < 2 else NO_SPREAD
    if len(clusters) >= 2 and max(values) > min(values):
        interval = bootstrap_interval(list(clusters.values()), confidence)
        low, high, method = interval.low, interval.high, METHOD
    return Estimate(
        metric=metric,
        value=fmean(values),
        low=low,
        high=high,
        confidence=confidence,
        method=method,
        samples=sum(len(problem.scores) for problem in counted),
        tasks=len(counted),
        clusters=len(clusters),
        left_out=len(problems) - len(counted),
    )


# -------- Shares of many problems with few draws each, drawn towards their mean: for ranking, not for testing.
# The empirical Bayes estimate under a beta-binomial model (Efron & Morris 1975, J. American Statistical
# Association 70:311-319; Kleinman 1973, 68:46-54): a problem with 1 of 1 is no worse than one with 9 of 10.


_NOT_IDENTIFIED = 0.5
"""Correlation within a problem taken where no problem has two draws: a prior worth one draw."""


def intraclass_correlation(successes: Sequence[int], draws: Sequence[int]) -> float | None:
    """How alike the draws of a problem are, by moments: 0 as draws of different problems, 1 all the same.

    The analysis-of-variance estimate for shares (Ridout, Demétrio & Firth 1999, Biometrics 55:137-148), cut to
    [0, 1]. Problems without draws are left out; None with fewer than two others, or without two draws of any.
    """
    cases = [(x, n) for x, n in zip(successes, draws, strict=True) if n]
    total, groups = sum(n for _, n in cases), len(cases)
    if groups < 2 or total == groups:
        return None
    mean = sum(x for x, _ in cases) / total
    between = sum(n * (x / n - mean) ** 2 for x, n in cases) / (groups - 1)
    within = sum(x * (n - x) / n for x, n in cases) / (total - groups)
    size = (total - sum(n * n for _, n in cases) / total) / (groups - 1)
    spread = between + (size - 1) * within
    return 0.0 if spread <= 0.0 else min(1.0, max(0.0, (between - within) / spread))


def shrunken_shares(successes: Sequence[int], draws: Sequence[int]) -> list[float | None]:
    """The posterior mean of each problem's share, in the order given; None for a problem without draws.

    The prior is a beta distribution of the pooled mean, worth ``(1 - r) / r`` draws at the moments' correlation r.
    """
    total = sum(draws)
    if not total:
        return [None] * len(draws)
    mean = sum(successes) / total
    alike = intraclass_correlation(successes, draws)
    alike = _NOT_IDENTIFIED if alike is None else alike
    # (x + s mean) / (n + s) with s = (1 - r) / r, multiplied by r, so that r = 0 gives the mean.
    return [
        None if not n else (alike * x + (1 - alike) * mean) / (alike * n + 1 - alike)
        for x, n in zip(successes, draws, strict=True)
    ]


# ------------------- Whether the N samples of a problem are exchangeable, by Cochran's Q over their positions.
# If a position differs, "pass@1" read off sample 0 measures something else than the mean over samples. Cochran's
# Q (Cochran 1950, Biometrika 37:256-266) compares the positions; its p-value comes from shuffling the samples
# inside each problem, so no approximation for large numbers of problems is needed.

WARN_BELOW = 0.01
"""The p-value under which `Exchangeability.warning` speaks."""


class Exchangeability(msgspec.Struct, frozen=True, kw_only=True):
    """Result of the test."""

    q: float
    """Cochran's Q."""
    p_value: float
    """Share of within-task shuffles with a Q at least as large, the observed one included."""
    permutations: int
    """Shuffles that were drawn."""
    rates: tuple[float, ...]
    """Pass rate at each position."""
    tasks: int
    """Problems that hold a sample at every position."""
    positions: int

    def warning(self) -> str | None:
        """One sentence for the report if the positions differ, else None."""
        if self.p_value >= WARN_BELOW:
            return None
        mean = sum(self.rates) / self.positions
        odd = max(range(self.positions), key=lambda position: abs(self.rates[position] - mean))
        return (
            f"the {self.positions} samples of a problem are not exchangeable (Cochran's Q = {self.q:.1f},"
            f" p {told(self.p_value, self.permutations)}): sample {odd} passes {self.rates[odd]:.1%} of"
            f" {self.tasks} problems; the mean over all samples is {mean:.1%}: report that mean, not sample 0"
        )


def exchangeability(
    passed: Sequence[Sequence[bool]], *, permutations: int = 2000, seed: int = 0
) -> Exchangeability | None:
    """Test whether the pass rate depends on the position of the sample.

    Args:
        passed: one row per problem, one verdict per position; rows shorter than the longest are left out.
        permutations: shuffles; the smallest p-value possible is ``1 / (permutations + 1)``.
        seed: of the shuffles.

    Returns:
        None where Q is not defined: fewer than two positions, or no problem whose samples differ.
    """
    positions = max((len(row) for row in passed), default=0)
    if positions < 2:
        return None
    import numpy as np

    table = np.array([row for row in passed if len(row) == positions], dtype=np.int64)
    row_totals = table.sum(axis=1)
    # Rows that are all right or all wrong stay as they are when shuffled, and cancel out of Q.
    discordant = table[(row_totals > 0) & (row_totals < positions)]
    if len(discordant) == 0:
        return None

    row_totals = discordant.sum(axis=1)
    # All of Q that a shuffle changes, in whole numbers.
    observed = int((discordant.sum(axis=0) ** 2).sum())
    shuffled = _shuffled_columns(row_totals, positions, permutations, np.random.default_rng(seed))
    as_large = int((np.einsum("ij,ij->i", shuffled, shuffled, dtype=np.int64) >= observed).sum())
    return Exchangeability(
        q=_cochran_q(observed, row_totals.tolist(), positions),
        # The observed order is one of the shuffles: p is never 0, and the test keeps its level (Phipson & Smyth
        # 2010, Statistical Applications in Genetics and Molecular Biology 9:39).
        p_value=(1 + as_large) / (permutations + 1),
        permutations=permutations,
        rates=tuple(table.mean(axis=0).tolist()),
        tasks=len(table),
        positions=positions,
    )


_SHUFFLED_AT_ONCE = 1 << 15
"""Cells: the shuffles are the same as of one call, in bounded memory."""


def _shuffled_columns(
    row_totals: np.ndarray, positions: int, permutations: int, generator: np.random.Generator
) -> np.ndarray:
    """Column totals after each of many shuffles inside all rows: a row a shuffle, a column a position.

    Rows of one total are alike: how many of them get each arrangement is multinomial, which is drawn at once where
    there are no more arrangements than rows. Other rows are drawn column by column where they are many for their
    totals. Elsewhere each row is shuffled.
    """
    import numpy as np

    columns = np.zeros((permutations, positions), dtype=np.int32)  # at most as many as there are rows
    found = list(zip(*np.unique(row_totals, return_counts=True), strict=True))
    others = np.zeros(positions, dtype=np.int64)  # rows of each total that are not drawn by arrangement
    for total, rows in found:
        others[total] = rows if comb(positions, int(total)) > rows else 0
    totals = np.flatnonzero(others)
    together = len(totals) > 0 and others.sum() >= max(
        _FEWEST_TOGETHER, _MANY_OF_A_TOTAL * (totals[-1] - totals[0] + 1)
    )
    for total, rows in found:
        if not others[total]:
            columns += _by_arrangement(int(total), rows, positions, permutations, generator)
        elif not together:
            some = max(1, _SHUFFLED_AT_ONCE // positions)
            row = np.tile(np.arange(positions) < total, (some, 1)).astype(np.int64)  # the type shuffled fastest
            for _ in range(rows):
                for begin in range(0, permutations, some):
                    part = columns[begin : begin + some]
                    part += generator.permuted(row[: len(part)], axis=1)
    if together:
        columns += _by_column(others, permutations, generator)
    return columns


_FEWEST_TOGETHER, _MANY_OF_A_TOTAL = 64, 4
"""Rows, and rows for each total between the least and the largest one, from which on they are drawn together."""


def _by_arrangement(
    total: int, rows: int, positions: int, permutations: int, generator: np.random.Generator
) -> np.ndarray:
    """The same of rows of one total, by how many of them get each arrangement."""
    import numpy as np

    arrangements = comb(positions, total)
    chosen = np.zeros((arrangements, positions), dtype=np.int32)
    for each, places in zip(chosen, combinations(range(positions), total), strict=True):
        each[list(places)] = 1
    counts = generator.multinomial(rows, [1 / arrangements] * arrangements, size=permutations)
    made: np.ndarray = counts.astype(np.int32) @ chosen
    return made


def _by_column(rows: np.ndarray, permutations: int, generator: np.random.Generator) -> np.ndarray:
    """The same of rows of all totals, column by column.

    A row that lacks ``s`` passes before the last ``m`` columns has one in the next with the chance ``s / m``,
    whatever it had before: rows that lack as many are alike from there on.

    Args:
        rows: how many there are of each total from 0 to one less than the columns.
        permutations: shuffles.
        generator: draws them.
    """
    import numpy as np

    positions = len(rows)
    lacking = np.tile(rows, (permutations, 1))
    columns = np.empty((permutations, positions), dtype=np.int32)
    for place in range(positions):
        used = np.flatnonzero(lacking.any(axis=0))
        low, high = max(used[0], 1), used[-1] + 1  # rows that lack nothing get nothing
        drawn = generator.binomial(lacking[:, low:high], np.arange(low, high) / (positions - place))
        lacking[:, low:high] -= drawn
        lacking[:, low - 1 : high - 1] += drawn
        columns[:, place] = drawn.sum(axis=1)
    return columns


def _cochran_q(squared_columns: int, row_totals: Sequence[int], positions: int) -> float:
    """Cochran's Q; rows that are all right or all wrong cancel out of it."""
    total = sum(row_totals)
    above = (positions - 1) * (positions * squared_columns - total**2)
    return above / (positions * total - sum(row**2 for row in row_totals))
