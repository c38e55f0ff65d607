"""Do the intervals of an assay hold? Coverage over simulated graders whose error rates are known.

A problem accepts right programs with probability TPR_j and wrong ones with FPR_j: equal for all problems ("alike")
or drawn from a beta distribution with a correlation of 0.3 between programs of a problem ("unlike"). Undecided
programs are accepted, and either none of them is wrong or all are; both worlds are simulated and the worse one is
printed.

    python -m bench assay_coverage [--runs 1000] [--quick] [--audits] [--seed 0] [--workers 2]

Printed, per cell, in percent of the runs: how often each 95 % interval holds the true value, and beside them the
Wilson interval that takes programs for independent ("naive"). Bootstraps are computed in every fifth run.

The second table is of pass@1 corrected by an audit. A model is right on a share of its samples, some problems
always or never; wrong samples are passed with the problem's FPR; and of the passes some are drawn for an audit
that knows which are right. Printed are the coverage, the mean width in points and the mean error of the corrected
rate, and how often the interval of the raw one holds the truth.
"""

from __future__ import annotations

import argparse
import os
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from truegrade.statistics import cluster_interval, wilson
from truegrade.statistics.error_rates import (
    FPR,
    FPR_UPPER,
    TPR,
    AuditedTask,
    GraderCount,
    audited_rate,
    error_ratios,
    j_span,
    share_span,
)
from truegrade.statistics.ratios import Ratios, percentile_interval

CORRELATION = 0.3
RESAMPLES = 600
SHOWN = ("TPR", "FPR", "naive", "J", "J boot")
BOOTSTRAP_EVERY = 5
MODEL_CORRELATION = 0.5
"""Between samples of one problem, of a model."""
_OF = {"J boot": "resampled"}
"""What a column is a share of, where that is not all runs."""


class Cell(NamedTuple):
    """One setting of the grid."""

    problems: int
    fpr: float
    tpr: float
    unlike: bool
    probes: int
    undecided: float


GRID = [Cell(*each) for each in product(
    (20, 164, 400), (0.0, 0.02, 0.1, 0.4), (0.9, 1.0), (False, True), (5, 30), (0.0, 0.2)
)]  # fmt: skip
QUICK = [cell for cell in GRID if cell.problems != 400 and cell.fpr != 0.4 and cell.probes == 5]


class Audit(NamedTuple):
    """One setting of the second table."""

    problems: int
    samples: int
    right: float
    fpr: float
    unlike: bool
    audited: int
    """Passes drawn; all of them where there are fewer."""


AUDITS = [Audit(*size, *rest) for size in ((40, 1), (164, 1), (164, 10)) for rest in product(
    (0.3, 0.6), (0.05, 0.2, 0.5), (False, True), (20, 60, 100_000)
)]  # fmt: skip


def drawn(generator: np.random.Generator, mean: float, correlation: float, size: int) -> Any:
    """Probabilities of problems with a mean and a correlation between draws of one problem."""
    if mean in (0.0, 1.0) or not correlation:
        return np.full(size, mean)
    prior = 1 / correlation - 1
    return generator.beta(mean * prior, (1 - mean) * prior, size)


def simulated(cell: Cell, generator: np.random.Generator) -> list[GraderCount]:
    """Counts of a grader."""
    size, alike = cell.problems, CORRELATION * cell.unlike
    fpr, tpr = drawn(generator, cell.fpr, alike, size), drawn(generator, cell.tpr, alike, size)
    undecided = generator.binomial(cell.probes, drawn(generator, cell.undecided, alike, size))
    rights = generator.binomial(cell.probes, tpr).tolist()
    wrongs = generator.binomial(cell.probes - undecided, fpr).tolist()
    return [
        GraderCount(
            problem_id=str(place), cluster=str(place), right=cell.probes, right_accepted=rights[place],
            wrong=cell.probes - also, wrong_accepted=wrongs[place], undecided_accepted=also,
        )
        for place, also in enumerate(undecided.tolist())
    ]  # fmt: skip


def holds(low: float | None, high: float | None, truth: float) -> bool:
    """Whether an interval holds a value, rounding apart."""
    return low is not None and high is not None and low - 1e-12 <= truth <= high + 1e-12


def coverage(cell: Cell, runs: int, seed: int) -> dict[str, float]:
    """Percent of the runs in which each interval holds the truth, in the worse world."""
    generator = np.random.default_rng([seed, GRID.index(cell)])
    times = generator.multinomial(cell.problems, [1 / cell.problems] * cell.problems, size=RESAMPLES).astype(float)
    found = [Counter[str]() for _ in range(1 + bool(cell.undecided))]
    for turn in range(runs):
        counts = simulated(cell, generator)
        ratios = error_ratios(counts)
        assert ratios is not None
        for world, said in enumerate(found):
            truth = cell.fpr + world * cell.undecided * (1 - cell.fpr)
            said.update(_intervals(cell, counts, ratios, truth))
            if turn % BOOTSTRAP_EVERY == 0:
                said.update(_bootstraps(cell, ratios, truth, times))
    shares = [{name: 100 * each[name] / each[_OF.get(name, "runs")] for name in SHOWN} for each in found]
    return {name: min(share[name] for share in shares) for name in SHOWN}


def _intervals(cell: Cell, counts: Sequence[GraderCount], ratios: Ratios, fpr: float) -> dict[str, float]:
    """What one run adds."""
    tpr_span, fpr_span, j = share_span(ratios, TPR, TPR), share_span(ratios, FPR, FPR_UPPER), j_span(ratios)
    wrong, accepted = sum(count.wrong for count in counts), sum(count.wrong_accepted for count in counts)
    return {
        "runs": 1,
        "TPR": holds(tpr_span.low, tpr_span.high, cell.tpr),
        "FPR": holds(fpr_span.low, fpr_span.high, fpr),
        "naive": holds(*wilson(accepted, wrong), fpr),
        "J": holds(j.low, j.high, cell.tpr - fpr),
    }


def _bootstraps(cell: Cell, ratios: Ratios, fpr: float, times: Any) -> dict[str, float]:
    """The same by the bootstrap, which takes longest."""
    draws = ratios.at(times)
    low, high = (percentile_interval(draws[TPR] - draws[place], 0.95) for place in (FPR_UPPER, FPR))
    return {"resampled": 1, "J boot": bool(low and high and holds(low[0], high[1], cell.tpr - fpr))}


def audited_coverage(cell: Audit, runs: int, seed: int) -> dict[str, float]:
    """Of the corrected pass@1 coverage in percent, mean width and error in points; coverage of the raw one."""
    generator = np.random.default_rng([seed, AUDITS.index(cell)])
    found: Counter[str] = Counter()
    places = np.arange(2 * cell.problems)
    for _ in range(runs):
        solved = drawn(generator, cell.right, MODEL_CORRELATION, cell.problems)
        fpr = drawn(generator, cell.fpr, CORRELATION * cell.unlike, cell.problems)
        right = generator.binomial(cell.samples, solved)
        wrong = generator.binomial(cell.samples - right, fpr)
        passes = np.repeat(places, np.concatenate([right, wrong]))
        of = np.bincount(generator.permutation(passes)[: cell.audited], minlength=2 * cell.problems).tolist()
        rows = [
            AuditedTask(
                task_id=str(place), cluster=str(place), n=cell.samples, c=c, right=of[place],
                audited=of[place] + of[cell.problems + place],
            )
            for place, c in enumerate((right + wrong).tolist())
        ]  # fmt: skip
        span = audited_rate(rows)
        assert span.low is not None and span.high is not None
        passed = ((right + wrong) / cell.samples).tolist()
        names, sizes = [row.cluster for row in rows], [cell.samples] * cell.problems
        raw = cluster_interval(passed, [1.0] * cell.problems, names, sizes)
        found["covers"] += holds(span.low, span.high, cell.right)
        found["width"] += span.high - span.low
        found["error"] += span.value - cell.right
        found["raw covers"] += holds(raw.low, raw.high, cell.right)
    return {name: 100 * found[name] / runs for name in ("covers", "width", "error", "raw covers")}


def _job(job: tuple[Cell | Audit, int, int]) -> dict[str, float]:
    cell, runs, seed = job
    return coverage(cell, runs, seed) if isinstance(cell, Cell) else audited_coverage(cell, runs, seed)


def main() -> None:
    """Simulate and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--quick", action="store_true", help="a part of the grid")
    parser.add_argument("--audits", action="store_true", help="the second table alone")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    asked = parser.parse_args()
    grid = QUICK if asked.quick else GRID
    with ProcessPoolExecutor(asked.workers) as pool:
        if not asked.audits:
            print("problems   FPR  TPR problems probes undecided " + "".join(f"{name:>10}" for name in SHOWN))
            found = list(pool.map(_job, [(cell, asked.runs, asked.seed) for cell in grid]))
            for cell, row in zip(grid, found, strict=True):
                kind = "unlike" if cell.unlike else "alike"
                size = f"{cell.problems:>8} {cell.fpr:5.2f} {cell.tpr:4} {kind:>8}"
                head = f"{size} {cell.probes:>6} {cell.undecided:>9} "
                print(head + "".join(f"{row[name]:10.1f}" for name in SHOWN), flush=True)
            _print_spread(found, SHOWN)
        print("problems samples right   FPR problems audited    covers     width     error raw covers")
        audits = list(pool.map(_job, [(cell, asked.runs, asked.seed) for cell in AUDITS]))
        for one, row in zip(AUDITS, audits, strict=True):
            kind, count = "unlike" if one.unlike else "alike", "all" if one.audited > 60 else str(one.audited)
            head = f"{one.problems:>8} {one.samples:>7} {one.right:5.1f} {one.fpr:5.2f} {kind:>8} {count:>7} "
            print(head + "".join(f"{value:10.1f}" for value in row.values()))
        _print_spread(audits, ("covers", "raw covers"))


def _print_spread(rows: Sequence[dict[str, float]], names: Sequence[str]) -> None:
    for name in names:
        values = [row[name] for row in rows]
        low, high = sum(value < 92 for value in values), sum(value > 98 for value in values)
        print(
            f"{name:<10} mean {np.mean(values):5.1f}, from {min(values):5.1f} to {max(values):5.1f}; of"
            f" {len(values)} cells {low} below 92, {high} above 98"
        )
