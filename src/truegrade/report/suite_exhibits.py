"""The tables of a suite as data: results by profile, the runs behind them, what they took, what must be known."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from truegrade.analysis.standings import PairStanding, RunStanding, SuiteStanding, known_sum
from truegrade.pipeline.cautions import CODES
from truegrade.report import wording
from truegrade.report.comparison_exhibits import standings_exhibit
from truegrade.report.exhibits import Cell, Exhibit


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
