"""The tables of a comparison as data, for papers and spreadsheets. Differences are in percentage points."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from truegrade.analysis.comparison import Comparison, RunPairing
from truegrade.analysis.standings import RunStanding
from truegrade.pipeline.summary import TaskLine
from truegrade.report import comparison_wording as words
from truegrade.report import format as fmt
from truegrade.report.exhibits import Cell, Exhibit, PointsInterval, PValue
from truegrade.report.standings_grid import Placed, benchmark_names, grid_of, standings_caption


def comparison_exhibits(comparison: Comparison) -> list[Exhibit]:
    """All tables that say something."""
    made = [
        _sides(comparison),
        _differences(comparison),
        _problems(comparison),
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


def standings_exhibit(found: Sequence[RunStanding]) -> Exhibit:
    """The headline estimate of each run by model and benchmark.

    Runs that the same cell would hold are told apart by their folder.
    """
    named = zip(benchmark_names(found), found, strict=True)
    grid = grid_of(Placed(each.model, name, each.run.name, each.headline) for name, each in named)
    return Exhibit(
        slug="models",
        caption=standings_caption(found),
        head=grid.head,
        rows=[[name, *(of.get(column) for column in grid.head[1:])] for name, of in grid.rows.items()],
    )


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
    confidence = 100 * comparison.pairs[0].paired.confidence
    caption = f"Paired differences in percentage points with {confidence:g} % intervals"
    if words.forced(comparison):
        caption += "; not comparable, forced"
    rows: list[list[Cell]] = [
        [
            words.title(pair),
            _interval(pair.paired.difference, pair.paired.low, pair.paired.high),
            _interval(pair.paired.difference, pair.bootstrap.low, pair.bootstrap.high),
            PValue(pair.p_value, fmt.p_value(pair.p_value, digits=3)),
            PValue(pair.p_adjusted, fmt.corrected_p(pair.p_value, pair.p_adjusted)),
        ]
        for pair in comparison.pairs
    ]
    head = ("difference", "points", "bootstrap", "p", "p corrected")
    return Exhibit(slug="differences", caption=caption, head=head, rows=rows)


def _problems(comparison: Comparison) -> Exhibit:
    """What the differences rest on, and what so many problems can show."""
    rows: list[list[Cell]] = [
        [
            words.title(pair),
            *(len(tasks) for tasks in (pair.paired.wins, pair.paired.losses, pair.paired.ties)),
            pair.paired.tasks,
            pair.paired.clusters,
            None if pair.power is None else _points(pair.power.detectable),
            None if pair.power is None else pair.power.tasks_needed,
        ]
        for pair in comparison.pairs
    ]
    counts = (*words.outcomes(comparison), "same", "problems", "clusters")
    head = ("difference", *counts, "detectable points", "problems needed")
    return Exhibit(slug="problems", caption="Problems behind the differences", head=head, rows=rows)


def _interval(difference: float, low: float | None, high: float | None) -> PointsInterval:
    return PointsInterval(100 * difference, _points(low), _points(high))


def _parts(comparison: Comparison) -> Exhibit:
    return Exhibit(
        slug="reasoning",
        caption="Paired differences of the metrics of execution reasoning, in percentage points, p not corrected",
        head=("difference", "metric", "first", "second", "points", "p", "pairs", "clusters"),
        rows=[
            [
                words.title(pair),
                part.metric,
                _points(part.first),
                _points(part.second),
                _interval(part.difference, part.low, part.high),
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
        head=("difference", "by", "group", "problems", "points", "p"),
        rows=[
            [
                words.title(pair),
                found.by,
                found.value,
                found.paired.tasks,
                _interval(found.paired.difference, found.paired.low, found.paired.high),
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
