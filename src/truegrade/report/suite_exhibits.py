"""The tables of a suite: results by profile, the runs behind them, what they took, what must be known."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Generic, NamedTuple, TypeVar

from truegrade.analysis.standings import PairStanding, RunStanding, SuiteStanding, known_sum, titled
from truegrade.pipeline.cautions import CODES
from truegrade.report import wording
from truegrade.report.document import Cell, Table

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


def standings_exhibit(found: Sequence[RunStanding]) -> Table:
    """The headline estimate of each run by model and benchmark.

    Runs that the same cell would hold are told apart by their folder.
    """
    named = zip(benchmark_names(found), found, strict=True)
    grid = grid_of(Placed(each.model, name, each.run.name, each.headline) for name, each in named)
    return Table(
        slug="models",
        caption=standings_caption(found),
        head=grid.head,
        rows=[[name, *(of.get(column) for column in grid.head[1:])] for name, of in grid.rows.items()],
    )


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


def suite_exhibits(found: SuiteStanding) -> list[Table]:
    """All tables that say something."""
    made = [*results(found), _runs(found), _use(found), _warnings(found), _not_complete(found)]
    return [exhibit for exhibit in made if exhibit.rows]


def by_profile(found: SuiteStanding) -> dict[str, list[RunStanding]]:
    """The numbers under each profile, in the order in which the profiles first occur."""
    standings: dict[str, list[RunStanding]] = {}
    for standing in (standing for pair in found.pairs for standing in pair.standings):
        standings.setdefault(standing.profile, []).append(standing)
    return standings


def results(found: SuiteStanding) -> Iterator[Table]:
    """Models by benchmarks, a table for each profile."""
    several = by_profile(found)
    for profile, standings in several.items():
        exhibit = standings_exhibit(standings)
        slug = "results" if len(several) == 1 else f"results-{profile.partition('@')[0]}"
        yield Table(slug=slug, caption=exhibit.caption, head=exhibit.head, rows=exhibit.rows)


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


def _runs(found: SuiteStanding) -> Table:
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
    return Table(slug="runs", caption="The runs, one row for each profile", head=head, rows=rows)


def _use(found: SuiteStanding) -> Table:
    head = ("model", "input tokens", "output tokens", "USD", "runs of unknown cost", "runs")
    rows: list[list[Cell]] = [list(use) for use in model_use(found)]
    return Table(slug="cost", caption="Tokens and cost of all requests, by model", head=head, rows=rows)


def _warnings(found: SuiteStanding) -> Table:
    rows: list[list[Cell]] = [
        [code, sentence, ", ".join(f"{pair.benchmark} with {pair.model}" for pair in pairs)]
        for code, sentence, pairs in row_warnings(found)
    ]
    head = ("code", "warning", "runs")
    return Table(slug="warnings", caption="What must be known of these numbers", head=head, rows=rows)


def _not_complete(found: SuiteStanding) -> Table:
    rows: list[list[Cell]] = [[each.benchmark, "left out", each.why] for each in found.left_out]
    rows += [
        [f"{pair.benchmark} with {pair.model}", "not complete", pair.failure]
        for pair in found.pairs
        if pair.failure
    ]
    return Table(slug="not-complete", caption="What is missing", head=("what", "state", "why"), rows=rows)
