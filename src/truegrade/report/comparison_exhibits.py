"""The tables of a comparison as data, for papers and spreadsheets. Differences are in percentage points."""

from __future__ import annotations

from collections.abc import Iterator

from truegrade.analysis.comparison import Comparison, RunPairing
from truegrade.pipeline.summary import TaskLine
from truegrade.report import comparison_wording as words
from truegrade.report import format as fmt
from truegrade.report.exhibits import Cell, Exhibit, PValue


def comparison_exhibits(comparison: Comparison) -> list[Exhibit]:
    """All tables that say something."""
    made = [
        _sides(comparison),
        _differences(comparison),
        _parts(comparison),
        _groups(comparison),
        *([_obstacles(comparison)] if words.forced(comparison) else []),
        _discordant(comparison),
        _tasks(comparison),
    ]
    return [exhibit for exhibit in made if exhibit.rows]


def discordant(comparison: Comparison, pair: RunPairing) -> Iterator[tuple[TaskLine, TaskLine]]:
    """The tasks on which the sides of a pair have different pass rates, won ones first."""
    known = {side.label: {task.id: task for task in side.tasks} for side in comparison.sides}
    for task in (*pair.paired.wins, *pair.paired.losses):
        yield known[pair.first][task], known[pair.second][task]


def _sides(comparison: Comparison) -> Exhibit:
    return Exhibit(
        slug="runs",
        caption="The runs compared",
        head=("run", "model", "benchmark", "profile", "pass@1", "tasks", "samples per task"),
        rows=[
            [s.label, s.model, s.benchmark, s.profile, s.rate, s.rate.tasks, s.samples_per_task]
            for s in comparison.sides
        ],
    )


def _differences(comparison: Comparison) -> Exhibit:
    head = [
        "difference", "points", "low", "high", "bootstrap low", "bootstrap high", "p", "p corrected",
        *words.outcomes(comparison), "same", "tasks", "clusters", "detectable points", "tasks needed",
    ]  # fmt: skip
    confidence = 100 * comparison.pairs[0].paired.confidence
    caption = f"Paired differences in percentage points with {confidence:g} % intervals"
    if words.forced(comparison):
        caption += "; not comparable, forced"
    return Exhibit(slug="differences", caption=caption, head=tuple(head), rows=list(map(_row, comparison.pairs)))


def _row(pair: RunPairing) -> list[Cell]:
    c, power = pair.paired, pair.power
    bounds = (c.low, c.high, pair.bootstrap.low, pair.bootstrap.high)
    return [
        words.title(pair),
        100 * c.difference,
        *map(_points, bounds),
        PValue(pair.p_value, fmt.p_value(pair.p_value, digits=3)),
        PValue(pair.p_adjusted, fmt.corrected_p(pair.p_value, pair.p_adjusted)),
        *(len(tasks) for tasks in (c.wins, c.losses, c.ties)),
        c.tasks,
        c.clusters,
        None if power is None else _points(power.detectable),
        None if power is None else power.tasks_needed,
    ]


def _parts(comparison: Comparison) -> Exhibit:
    return Exhibit(
        slug="reasoning",
        caption="Paired differences of the metrics of execution reasoning, in percentage points, p not corrected",
        head=("difference", "metric", "first", "second", "points", "low", "high", "p", "pairs", "clusters"),
        rows=[
            [
                words.title(pair),
                part.metric,
                *map(_points, (part.first, part.second, part.difference, part.low, part.high)),
                PValue(part.p_value, fmt.p_value(part.p_value, digits=3)),
                part.pairs,
                part.clusters,
            ]
            for pair in comparison.pairs
            for part in pair.paired.parts
        ],
    )


def _groups(comparison: Comparison) -> Exhibit:
    return Exhibit(
        slug="groups",
        caption="Differences by group, in percentage points; p-values of sign flips, not corrected",
        head=("difference", "by", "group", "tasks", "points", "low", "high", "p"),
        rows=[
            [
                words.title(pair),
                found.by,
                found.value,
                found.paired.tasks,
                *map(_points, (found.paired.difference, found.paired.low, found.paired.high)),
                found.paired.permutation_p,
            ]
            for pair in comparison.pairs
            for found in pair.splits
        ],
    )


def _obstacles(comparison: Comparison) -> Exhibit:
    rows: list[list[Cell]] = [[sentence] for sentence in words.forced(comparison)]
    return Exhibit(slug="not-comparable", caption="Not comparable, forced", head=("because",), rows=rows)


def _discordant(comparison: Comparison) -> Exhibit:
    """Every task that one side of a pair wins."""
    rows: list[list[Cell]] = [
        [
            words.title(pair),
            one.id,
            one.c,
            one.n,
            two.c,
            two.n,
            pair.second if two.c * one.n > one.c * two.n else pair.first,
        ]
        for pair in comparison.pairs
        for one, two in discordant(comparison, pair)
    ]
    counts = ("first passes", "first samples", "second passes", "second samples")
    head = ("difference", "task", *counts, words.outcomes(comparison)[0])
    return Exhibit(slug="discordant", caption="Tasks on which the runs differ", head=head, rows=rows)


def _tasks(comparison: Comparison) -> Exhibit:
    """Passes of every task in every run."""
    known = [{task.id: task for task in side.tasks} for side in comparison.sides]
    names = dict.fromkeys(task.id for side in comparison.sides for task in side.tasks)
    head = ("task", *(f"{side.label} {what}" for side in comparison.sides for what in ("passes", "samples")))
    rows: list[list[Cell]] = []
    for name in names:
        found = [of.get(name) for of in known]
        rows.append([name, *(number for t in found for number in ((t.c, t.n) if t else (None, None)))])
    return Exhibit(slug="tasks", caption="Passes by task", head=head, rows=rows)


def _points(fraction: float | None) -> float | None:
    return None if fraction is None else 100 * fraction
