"""The tables of suites and of comparisons as data, for papers and spreadsheets.

The tables of a suite as data: results by profile, the runs behind them, what they took, what must be known.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Generic, NamedTuple, TypeVar

from truegrade.analysis.comparison import Comparison, RunPairing
from truegrade.analysis.standings import PairStanding, RunStanding, SuiteStanding, known_sum, titled
from truegrade.pipeline.cautions import CODES
from truegrade.pipeline.summary import TaskLine
from truegrade.report import comparison_wording as words
from truegrade.report import format as fmt
from truegrade.report import wording
from truegrade.report.exhibits import Cell, Exhibit, PointsInterval, PValue

# ----------------------------------------------------------------------------------------------------------------
# How models and benchmarks stand in a table: which go down, which across, what tells two of one name apart.


MAX_ACROSS = 4
"""Benchmarks that stand across; where there are more of them than that and than models, the models do."""

T = TypeVar("T")


class Placed(NamedTuple, Generic[T]):
    """Something that belongs to one model and one benchmark."""

    model: str
    benchmark: str
    run: str
    """Name of its folder, by which it is told apart where the place is taken."""
    what: T


class Grid(NamedTuple, Generic[T]):
    """A table without its words."""

    head: tuple[str, ...]
    """What the rows are, then the names of the other columns."""
    rows: dict[str, dict[str, T]]
    """Name of a row -> name of a column -> what stands there."""


def grid_of(found: Iterable[Placed[T]]) -> Grid[T]:
    """Models down and benchmarks across; the other way round where the benchmarks would be too many across."""
    by_model: dict[str, dict[str, T]] = {}
    for model, benchmark, run, what in found:
        name = f"{model} ({run})" if benchmark in by_model.get(model, {}) else model
        by_model.setdefault(name, {})[benchmark] = what
    benchmarks = list(dict.fromkeys(benchmark for of in by_model.values() for benchmark in of))
    if len(benchmarks) <= max(MAX_ACROSS, len(by_model)):
        return Grid(("model", *benchmarks), by_model)
    turned = {name: {model: of[name] for model, of in by_model.items() if name in of} for name in benchmarks}
    return Grid(("benchmark", *by_model), turned)


def benchmark_names(found: Sequence[RunStanding]) -> list[str]:
    """What each run's benchmark is called: name and arguments, with the hash where one of that name differs."""
    names = [titled(standing.benchmark, standing.args) for standing in found]
    hashes: dict[str, set[str]] = {}
    for name, standing in zip(names, found, strict=True):
        hashes.setdefault(name, set()).add(standing.dataset_sha256)
    return [
        f"{name} {standing.dataset_sha256[:8]}" if len(hashes[name]) > 1 else name
        for name, standing in zip(names, found, strict=True)
    ]


def standings_caption(found: Sequence[RunStanding]) -> str:
    """What the numbers of a table are."""
    profiles = ", ".join(dict.fromkeys(standing.profile for standing in found))
    metrics = " or ".join(dict.fromkeys(standing.headline.metric for standing in found))
    return f"{metrics} with 95 % confidence intervals, under {profiles}"


# ------ The tables of a comparison as data, for papers and spreadsheets. Differences are in percentage points.


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


class RowWarning(NamedTuple):
    """A warning, or another caveat, and the pairs that it holds for."""

    code: str
    """Of the warning; ``cutoff`` for what the cut-off of the training data tells."""
    sentence: str
    pairs: list[PairStanding]


class ModelUse(NamedTuple):
    """What the runs of one model took together."""

    model: str
    input_tokens: int | None
    output_tokens: int | None
    cost_usd: float | None
    unknown: int
    """Runs whose cost is not known; the others make the sum."""
    runs: int


def suite_exhibits(found: SuiteStanding) -> list[Exhibit]:
    """All tables that say something."""
    made = [*results(found), _runs(found), _use(found), _warnings(found), _not_complete(found)]
    return [exhibit for exhibit in made if exhibit.rows]


def by_profile(found: SuiteStanding) -> dict[str, list[RunStanding]]:
    """The numbers under each profile, in the order in which the profiles first occur."""
    standings: dict[str, list[RunStanding]] = {}
    for standing in (standing for pair in found.pairs for standing in pair.standings):
        standings.setdefault(standing.profile, []).append(standing)
    return standings


def results(found: SuiteStanding) -> Iterator[Exhibit]:
    """Models by benchmarks, a table for each profile."""
    several = by_profile(found)
    for profile, standings in several.items():
        exhibit = standings_exhibit(standings)
        slug = "results" if len(several) == 1 else f"results-{profile.partition('@')[0]}"
        yield Exhibit(slug=slug, caption=exhibit.caption, head=exhibit.head, rows=exhibit.rows)


def model_use(found: SuiteStanding) -> list[ModelUse]:
    """Tokens and cost by model."""
    by_model: dict[str, list[PairStanding]] = {}
    for pair in found.pairs:
        by_model.setdefault(pair.model, []).append(pair)
    return [
        ModelUse(
            model=model,
            input_tokens=known_sum([pair.input_tokens for pair in pairs]),
            output_tokens=known_sum([pair.output_tokens for pair in pairs]),
            cost_usd=known_sum([pair.cost_usd for pair in pairs]),
            unknown=sum(pair.cost_usd is None for pair in pairs),
            runs=len(pairs),
        )
        for model, pairs in by_model.items()
    ]


def row_warnings(found: SuiteStanding) -> list[RowWarning]:
    """Every warning of every run, in the order of `truegrade.pipeline.cautions.CODES`, then what the cut-off says;
    runs that are warned of in the same words share a row."""
    rows: dict[tuple[str, str], list[PairStanding]] = {}
    for pair in found.pairs:
        for one in pair.warnings:
            rows.setdefault((one.code, one.line), []).append(pair)
        for sentence in _about_cutoff(pair):
            rows.setdefault(("cutoff", sentence), []).append(pair)
    order = [*CODES, "cutoff"]
    placed = sorted(rows.items(), key=lambda row: order.index(row[0][0]) if row[0][0] in order else len(order))
    return [RowWarning(code, sentence, pairs) for (code, sentence), pairs in placed]


def _about_cutoff(pair: PairStanding) -> Iterator[str]:
    if pair.cutoff is None:
        return
    for standing in pair.standings:
        said = wording.after_cutoff(standing, pair.cutoff)
        yield said or f"{standing.profile}: no problems are dated on both sides of the cut-off {pair.cutoff}"


def _runs(found: SuiteStanding) -> Exhibit:
    """A row for each run and profile: what a spreadsheet needs to make any other table."""
    head = (
        "benchmark", "model", "profile", "metric", "rate", "problems", "samples per problem", "protection",
        "input tokens", "output tokens", "USD", "warnings", "run",
    )  # fmt: skip
    rows: list[list[Cell]] = [
        [
            pair.benchmark, pair.model, each.profile, each.headline.metric, each.headline, each.headline.tasks,
            each.samples_per_task, wording.level(each.level), pair.input_tokens, pair.output_tokens, pair.cost_usd,
            " ".join(dict.fromkeys(one.code for one in pair.warnings)) or None, pair.run.name,
        ]
        for pair in found.pairs
        for each in pair.standings
    ]  # fmt: skip
    return Exhibit(slug="runs", caption="The runs, one row for each profile", head=head, rows=rows)


def _use(found: SuiteStanding) -> Exhibit:
    head = ("model", "input tokens", "output tokens", "USD", "runs of unknown cost", "runs")
    rows: list[list[Cell]] = [list(use) for use in model_use(found)]
    return Exhibit(slug="cost", caption="Tokens and cost of all requests, by model", head=head, rows=rows)


def _warnings(found: SuiteStanding) -> Exhibit:
    rows: list[list[Cell]] = [
        [code, sentence, ", ".join(f"{pair.benchmark} with {pair.model}" for pair in pairs)]
        for code, sentence, pairs in row_warnings(found)
    ]
    head = ("code", "warning", "runs")
    return Exhibit(slug="warnings", caption="What must be known of these numbers", head=head, rows=rows)


def _not_complete(found: SuiteStanding) -> Exhibit:
    rows: list[list[Cell]] = [[each.benchmark, "left out", each.why] for each in found.left_out]
    rows += [
        [f"{pair.benchmark} with {pair.model}", "not complete", pair.failure]
        for pair in found.pairs
        if pair.failure
    ]
    return Exhibit(slug="not-complete", caption="What is missing", head=("what", "state", "why"), rows=rows)
