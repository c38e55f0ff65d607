"""Do the intervals of an assay hold? Coverage over simulated graders whose error rates are known.

A problem accepts right programs with probability TPR_j and wrong ones with FPR_j: equal for all problems ("alike")
or drawn from a beta distribution with a correlation of 0.3 between programs of a problem ("unlike"). Undecided
programs are accepted, and either none of them is wrong or all are; both worlds are simulated and the worse one is
printed. A model is right on half of the samples, some problems always or never, with one sample a problem.

    python bench/assay_coverage.py [--runs 1000] [--quick] [--seed 0] [--workers 2]

Printed, per cell, in percent of the runs: how often each 95 % interval holds the true value; beside them the
Wilson interval that takes programs for independent ("naive"), the raw pass@1 for the true one ("raw"), and the
mean error of the raw and of the corrected rate in points. The last part shows models whose problems are graded
the more strictly the more often they are solved, which no correction by mean error rates can know. Bootstraps
are computed in every fifth run.
"""

from __future__ import annotations

import argparse
import os
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from truegrade.assay.correcting import corrected_pass
from truegrade.statistics import TaskTally, wilson
from truegrade.statistics.corrected_rates import PASSED, correctable, corrected_draws, corrected_span
from truegrade.statistics.error_rates import (
    FPR,
    FPR_UPPER,
    TPR,
    GraderCount,
    error_ratios,
    j_span,
    share_span,
)
from truegrade.statistics.ratios import Ratios, Share, percentile_interval

CORRELATION = 0.3
RIGHT = 0.5
RESAMPLES = 600
SHOWN = ("TPR", "FPR", "naive", "J", "J boot", "corrected", "corr boot", "raw")
ERRORS = ("err raw", "err corr")
BOOTSTRAP_EVERY = 5
_OF = {"J boot": "resampled", "corrected": "corrections", "err corr": "corrections", "corr boot": "recorrected"}
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


def drawn(generator: np.random.Generator, mean: float, correlation: float, size: int) -> Any:
    """Probabilities of problems with a mean and a correlation between draws of one problem."""
    if mean in (0.0, 1.0) or not correlation:
        return np.full(size, mean)
    prior = 1 / correlation - 1
    return generator.beta(mean * prior, (1 - mean) * prior, size)


def simulated(cell: Cell, generator: np.random.Generator) -> tuple[list[GraderCount], list[list[int]]]:
    """Counts of a grader, and the passes of a model's single samples in each of the two worlds."""
    size, alike = cell.problems, CORRELATION * cell.unlike
    fpr, tpr = drawn(generator, cell.fpr, alike, size), drawn(generator, cell.tpr, alike, size)
    hidden = drawn(generator, cell.undecided, alike, size)
    undecided = generator.binomial(cell.probes, hidden)
    rights = generator.binomial(cell.probes, tpr).tolist()
    wrongs = generator.binomial(cell.probes - undecided, fpr).tolist()
    counts = [
        GraderCount(
            problem_id=str(place), cluster=str(place), right=cell.probes, right_accepted=rights[place],
            wrong=cell.probes - also, wrong_accepted=wrongs[place], undecided_accepted=also,
        )
        for place, also in enumerate(undecided.tolist())
    ]  # fmt: skip
    right = drawn(generator, RIGHT, 0.5, size)
    worlds = [fpr, (1 - hidden) * fpr + hidden] if cell.undecided else [fpr]
    return counts, [generator.binomial(1, right * tpr + (1 - right) * wrong).tolist() for wrong in worlds]


def holds(low: float | None, high: float | None, truth: float) -> bool:
    """Whether an interval holds a value, rounding apart."""
    return low is not None and high is not None and low - 1e-12 <= truth <= high + 1e-12


def coverage(cell: Cell, runs: int, seed: int) -> dict[str, float]:
    """Percent of the runs in which each interval holds the truth, in the worse world."""
    generator = np.random.default_rng([seed, GRID.index(cell)])
    times = generator.multinomial(cell.problems, [1 / cell.problems] * cell.problems, size=RESAMPLES).astype(float)
    found = [Counter[str]() for _ in range(1 + bool(cell.undecided))]
    for turn in range(runs):
        counts, passes = simulated(cell, generator)
        for world, passed in enumerate(passes):
            truth = cell.fpr + world * cell.undecided * (1 - cell.fpr)
            ratios = error_ratios(counts, Share(passed, [1] * len(counts), [1] * len(counts)))
            assert ratios is not None
            found[world].update(_intervals(cell, counts, ratios, truth))
            if turn % BOOTSTRAP_EVERY == 0:
                found[world].update(_bootstraps(cell, ratios, truth, times))
    shares = [
        {name: 100 * each[name] / each[_OF.get(name, "runs")] for name in (*SHOWN, *ERRORS)} for each in found
    ]
    worst = {name: min(share[name] for share in shares) for name in SHOWN}
    return worst | {name: max((share[name] for share in shares), key=abs) for name in ERRORS}


def _intervals(cell: Cell, counts: Sequence[GraderCount], ratios: Ratios, fpr: float) -> dict[str, float]:
    """What one run adds."""
    tpr_span, fpr_span, j = share_span(ratios, TPR, TPR), share_span(ratios, FPR, FPR_UPPER), j_span(ratios)
    wrong, accepted = sum(count.wrong for count in counts), sum(count.wrong_accepted for count in counts)
    raw = ratios.values[PASSED]
    said: dict[str, float] = {
        "runs": 1,
        "TPR": holds(tpr_span.low, tpr_span.high, cell.tpr),
        "FPR": holds(fpr_span.low, fpr_span.high, fpr),
        "naive": holds(*wilson(accepted, wrong), fpr),
        "J": holds(j.low, j.high, cell.tpr - fpr),
        "raw": holds(*wilson(raw * cell.problems, cell.problems), RIGHT),
        "err raw": raw - RIGHT,
    }
    if correctable(ratios):
        span = corrected_span(ratios)
        held = holds(span.low, span.high, RIGHT)
        said |= {"corrections": 1, "corrected": held, "err corr": span.value - RIGHT}
    return said


def _bootstraps(cell: Cell, ratios: Ratios, fpr: float, times: Any) -> dict[str, float]:
    """The same by the bootstrap, which takes longest."""
    draws = ratios.at(times)
    low, high = (percentile_interval(draws[TPR] - draws[place], 0.95) for place in (FPR_UPPER, FPR))
    said: dict[str, float] = {
        "resampled": 1,
        "J boot": bool(low and high and holds(low[0], high[1], cell.tpr - fpr)),
    }
    if correctable(ratios):
        low, high = (percentile_interval(corrected_draws(draws, place), 0.95) for place in (FPR_UPPER, FPR))
        said |= {"recorrected": 1, "corr boot": bool(low and high and holds(low[0], high[1], RIGHT))}
    return said


def _job(job: tuple[Cell, int, int]) -> dict[str, float]:
    return coverage(*job)


# ---------------------------------------------------------------- where the correction's assumptions do not hold


def tied_models(
    runs: int, seed: int, problems: int = 164, probes: int = 30
) -> Iterator[tuple[str, dict[str, float]]]:
    """Models that solve two of three easy problems and one of three hard ones, whose tests differ or do not."""
    probes = 30
    for name, easy, hard in (
        ("same tests", 0.15, 0.15), ("hard problems graded less strictly", 0.0, 0.3), ("more strictly", 0.3, 0.0)
    ):  # fmt: skip
        generator = np.random.default_rng([seed, 1])
        found: dict[str, float] = defaultdict(float)
        for _ in range(runs):
            is_easy = np.arange(problems) % 2 == 0
            right, fpr = np.where(is_easy, 2 / 3, 1 / 3), np.where(is_easy, easy, hard)
            wrongs = generator.binomial(probes, fpr).tolist()
            passes = generator.binomial(1, right + (1 - right) * fpr).tolist()
            names = [str(place) for place in range(problems)]
            counts = {
                each: GraderCount(
                    problem_id=each, cluster=each, right=5, right_accepted=5, wrong=probes, wrong_accepted=accepted
                )
                for each, accepted in zip(names, wrongs, strict=True)
            }
            tallies = [
                TaskTally(task_id=each, cluster=each, n=1, c=c) for each, c in zip(names, passes, strict=True)
            ]
            strata = {each: "easy" if place % 2 == 0 else "hard" for place, each in enumerate(names)}
            result = corrected_pass(tallies, counts, strata=strata, bootstrap=False)
            assert result.corrected is not None
            assert result.stratified is not None
            assert result.covariance is not None
            truth = 0.5
            for label, value in (
                ("raw", result.raw), ("corrected", result.corrected), ("by strata", result.stratified)
            ):  # fmt: skip
                assert value.value is not None
                found[f"{label}: covers"] += 100 * holds(value.low, value.high, truth)
                found[f"{label}: error"] += 100 * (value.value - truth)
            found["covariance band: covers"] += 100 * holds(*result.covariance, truth)
        yield name, {label: total / runs for label, total in found.items()}


def main() -> None:
    """Simulate and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--quick", action="store_true", help="a part of the grid")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    asked = parser.parse_args()
    grid = QUICK if asked.quick else GRID
    print("problems   FPR  TPR problems probes undecided " + "".join(f"{name:>10}" for name in (*SHOWN, *ERRORS)))
    rows = []
    with ProcessPoolExecutor(asked.workers) as pool:
        for cell, row in zip(grid, pool.map(_job, [(cell, asked.runs, asked.seed) for cell in grid]), strict=True):
            kind = "unlike" if cell.unlike else "alike"
            head = (
                f"{cell.problems:>8} {cell.fpr:5.2f} {cell.tpr:4} {kind:>8} {cell.probes:>6} {cell.undecided:>9} "
            )
            print(head + "".join(f"{row[name]:10.1f}" for name in (*SHOWN, *ERRORS)), flush=True)
            rows.append(row)
    for name in SHOWN:
        values = [row[name] for row in rows]
        low, high = sum(value < 92 for value in values), sum(value > 98 for value in values)
        print(
            f"{name:<10} mean {np.mean(values):5.1f}, lowest {min(values):5.1f}; of {len(values)} cells"
            f" {low} below 92, {high} above 98"
        )
    for name, figures in tied_models(asked.runs, asked.seed):
        print(f"{name}: " + ", ".join(f"{label} {value:.1f}" for label, value in figures.items()))


if __name__ == "__main__":
    main()
