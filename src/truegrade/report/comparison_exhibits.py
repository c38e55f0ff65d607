"""The tables of a comparison as data, for papers and spreadsheets. Differences are in percentage points."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set

from truegrade.analysis.comparison import Comparison, RunPairing
from truegrade.analysis.standings import RunStanding
from truegrade.pipeline.summary import TaskLine
from truegrade.records import Estimate
from truegrade.report import comparison_wording as words
from truegrade.report import format as fmt
from truegrade.report.exhibits import Cell, Exhibit, PointsInterval, PValue
from truegrade.report.sequential_parts import sequential_exhibit


def comparison_exhibits(comparison: Comparison) -> list[Exhibit]:
    """All tables that say something."""
    made = [
        _sides(comparison),
        _differences(comparison),
        _problems(comparison),
        _parts(comparison),
        _groups(comparison),
        sequential_exhibit(comparison),
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
    """Models down, benchmarks across, the headline estimate of each run in its cell.

    Runs that the same cell would hold are told apart by their folder.
    """
    profiles = ", ".join(dict.fromkeys(standing.profile for standing in found))
    metrics = " or ".join(dict.fromkeys(standing.headline.metric for standing in found))
    hashes: dict[str, set[str]] = {}
    for standing in found:
        hashes.setdefault(standing.benchmark, set()).add(standing.dataset_sha256)
    columns = dict.fromkeys(_column(standing, hashes) for standing in found)
    cells: dict[str, dict[str, Estimate]] = {}
    for standing in found:
        place = _column(standing, hashes)
        taken = place in cells.get(standing.model, {})
        name = f"{standing.model} ({standing.run.name})" if taken else standing.model
        cells.setdefault(name, {})[place] = standing.headline
    return Exhibit(
        slug="models",
        caption=f"{metrics} with 95 % confidence intervals, under {profiles}",
        head=("model", *columns),
        rows=[[model, *(of.get(column) for column in columns)] for model, of in cells.items()],
    )


def _column(standing: RunStanding, hashes: Mapping[str, Set[str]]) -> str:
    """The benchmark's name; with its hash where runs of that name have different data."""
    several = len(hashes[standing.benchmark]) > 1
    return f"{standing.benchmark} {standing.dataset_sha256[:8]}" if several else standing.benchmark


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
