"""Whether the N samples of a problem are exchangeable, by Cochran's Q over their positions.

If a position differs, "pass@1" read off sample 0 measures something else than the mean over samples. Cochran's Q
(Cochran 1950, Biometrika 37:256-266) compares the positions; its p-value comes from shuffling the samples inside
each problem, so no approximation for large numbers of problems is needed.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from truegrade.statistics.claims import told

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
    import numpy as np

    positions = max((len(row) for row in passed), default=0)
    table = np.array([row for row in passed if len(row) == positions], dtype=np.int64)
    if positions < 2:
        return None
    row_totals = table.sum(axis=1)
    # Rows that are all right or all wrong stay as they are when shuffled, and cancel out of Q.
    discordant = table[(row_totals > 0) & (row_totals < positions)]
    if len(discordant) == 0:
        return None

    def spread(verdicts: np.ndarray) -> int:
        """Sum of squared column totals: all of Q that a shuffle changes, in whole numbers."""
        return int((verdicts.sum(axis=0) ** 2).sum())

    observed = spread(discordant)
    generator = np.random.default_rng(seed)
    as_large = sum(spread(generator.permuted(discordant, axis=1)) >= observed for _ in range(permutations))
    return Exchangeability(
        q=_cochran_q(observed, discordant.sum(axis=1).tolist(), positions),
        # The observed order is one of the shuffles: p is never 0, and the test keeps its level (Phipson & Smyth
        # 2010, Statistical Applications in Genetics and Molecular Biology 9:39).
        p_value=(1 + as_large) / (permutations + 1),
        permutations=permutations,
        rates=tuple(table.mean(axis=0).tolist()),
        tasks=len(table),
        positions=positions,
    )


def _cochran_q(squared_columns: int, row_totals: Sequence[int], positions: int) -> float:
    """Cochran's Q; rows that are all right or all wrong cancel out of it."""
    total = sum(row_totals)
    above = (positions - 1) * (positions * squared_columns - total**2)
    return above / (positions * total - sum(row**2 for row in row_totals))
