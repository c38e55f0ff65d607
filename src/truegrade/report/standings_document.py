"""Several runs in one table, and a suite of them: models by benchmarks, tokens and cost, and every caveat."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote

import msgspec

from truegrade.analysis.standings import (
    LeftOutBenchmark,
    PairStanding,
    PowerPlan,
    RunStanding,
    SuiteStanding,
    known_sum,
    pair_standing,
    titled,
)
from truegrade.errors import UnknownName
from truegrade.files.json_text import encode, read_json
from truegrade.pipeline.cautions import CODES
from truegrade.report import document as doc
from truegrade.report import format as fmt
from truegrade.report import wording
from truegrade.report.document import Cell, On, Part, Prose, Section, Table, only
from truegrade.report.export import FOLDER, make_folder, write_files
from truegrade.report.page_parts import render_page, show
from truegrade.report.terminal import print_parts
from truegrade.report.text_files import TEXTS
from truegrade.statistics.reasoning_records import ShareDifference
from truegrade.store.manifest import write_atomically

if TYPE_CHECKING:
    from rich.console import Console

MAX_ACROSS = 4
"""Benchmarks that stand across; where there are more of them than that and than models, the models do."""


class Placed(NamedTuple):
    """Something that belongs to one model and one benchmark."""

    model: str
    benchmark: str
    run: str
    """Name of its folder, by which it is told apart where the place is taken."""
    what: Cell


# ---------------------------------------------------------------------------------- runs side by side


def grid(slug: str, caption: str, found: Iterable[Placed], look: str = "") -> Table:
    """Models down and benchmarks across; the other way round where the benchmarks would be too many across."""
    by_model: dict[str, dict[str, Cell]] = {}
    for model, benchmark, run, what in found:
        name = f"{model} ({run})" if benchmark in by_model.get(model, {}) else model
        by_model.setdefault(name, {})[benchmark] = what
    benchmarks = list(dict.fromkeys(benchmark for of in by_model.values() for benchmark in of))
    first, across, down = "model", benchmarks, by_model
    if len(benchmarks) > max(MAX_ACROSS, len(by_model)):
        first, across = "benchmark", list(by_model)
        down = {name: {model: of[name] for model, of in by_model.items() if name in of} for name in benchmarks}
    rows: list[list[Cell]] = [[name, *map(of.get, across)] for name, of in down.items()]
    return Table(slug=slug, caption=caption, head=(first, *across), rows=rows, look=look)


def headlines(found: Sequence[RunStanding]) -> Table:
    """The headline estimate of each run by model and benchmark.

    Runs that the same cell would hold are told apart by their folder.
    """
    named = zip(benchmark_names(found), found, strict=True)
    placed = (Placed(each.model, name, each.run.name, each.headline) for name, each in named)
    return grid("models", standings_caption(found), placed)


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
    return f"{metrics} with 95 % confidence intervals, under {profiles}{_unequal(found)}"


def _unequal(found: Sequence[RunStanding]) -> str:
    """How many problems each run is about, where runs of one benchmark are about more or fewer."""
    sizes: dict[str, set[int]] = {}
    for name, standing in zip(benchmark_names(found), found, strict=True):
        sizes.setdefault(name, set()).add(standing.headline.tasks)
    if all(len(size) == 1 for size in sizes.values()):
        return ""
    return f"; problems: {', '.join(f'{each.model} {each.headline.tasks}' for each in found)}"


def metrics(found: Sequence[RunStanding]) -> Table:
    """The estimates of each run, as far as any of them has the metric."""
    columns = [_column(standing) for standing in found]
    if len({(standing.benchmark, standing.dataset_sha256) for standing in found}) > 1:
        columns = [
            {"data set": f"{standing.benchmark} {standing.dataset_sha256[:8]}", **column}
            for standing, column in zip(found, columns, strict=True)
        ]
    if _unequal(found):
        columns = [{"problems": each.headline.tasks, **of} for each, of in zip(found, columns, strict=True)]
    return _side_by_side("metrics", "", found, columns)


def _column(standing: RunStanding) -> dict[str, Cell]:
    """What one run shows under each name."""
    estimates = [standing.headline, *standing.prediction]
    column: dict[str, Cell] = {estimate.metric: estimate for estimate in estimates}
    if standing.gap is not None:
        column[standing.gap.metric] = _points(standing.gap)
    return column | {f"choice {estimate.metric}": estimate for estimate in standing.choice}


def against_first(found: Sequence[RunStanding]) -> Table:
    """Differences of each run from the first, paired by problem."""
    paired = [standing for standing in found[1:] if standing.against_first]
    columns: list[dict[str, Cell]] = [{d.metric: _points(d) for d in each.against_first} for each in paired]
    caption = f"minus {found[0].model}, on the problems of both; p not corrected"
    return _side_by_side("differences", caption, paired, columns)


def _side_by_side(
    slug: str, caption: str, found: Sequence[RunStanding], columns: Sequence[Mapping[str, Cell]]
) -> Table:
    names = dict.fromkeys(name for column in columns for name in column)
    rows: list[list[Cell]] = [[name, *(column.get(name) for column in columns)] for name in names]
    return Table(slug=slug, caption=caption, head=("", *(standing.model for standing in found)), rows=rows)


def _points(difference: ShareDifference) -> str:
    bounds = fmt.bounds(difference.low, difference.high)
    return f"{fmt.points(difference.difference)} {bounds} p {fmt.p_value(difference.p_value)}"


def print_standings(found: Sequence[RunStanding], *, console: Console | None = None) -> None:
    """Print every run with its intervals, and the paired differences from the first run."""
    unpaired = [
        Prose(text=f"{standing.run.name}: different data set or profile, so no paired comparison")
        for standing in found[1:]
        if not standing.against_first
    ]
    print_parts(metrics(found), against_first(found), doc.Cautions(unpaired), console=console)


def export_standings(found: Sequence[RunStanding], file_format: str, out: Path | None = None) -> list[Path]:
    """Write the table of models and benchmarks as a file, and return its path in a list.

    Args:
        found: the runs, in order.
        file_format: one of `TEXTS`, or ``json``.
        out: the file, where its name ends as the format's do, or the folder; None for ``comparison``.

    Raises:
        UnknownName: no such format.
        UserError: ``out`` cannot be made.
    """
    content = standings_text(found, file_format).encode()
    ending = ".json" if file_format == "json" else TEXTS[file_format][0]
    if out is not None and out.suffix == ending:
        return write_files(out.parent, {out.name: content})
    return write_files(out or Path("comparison"), {f"models{ending}": content})


def standings_text(found: Sequence[RunStanding], file_format: str) -> str:
    """The table of models and benchmarks in one of `TEXTS`, or everything as JSON.

    Raises:
        UnknownName: no such format.
    """
    if file_format == "json":
        return encode(found, enc_hook=str, indent=2).decode() + "\n"
    if file_format not in TEXTS:
        raise UnknownName("format of a table", file_format, (*TEXTS, "json"))
    return TEXTS[file_format][1](headlines(found))


def print_plans(plans: Sequence[PowerPlan], *, console: Console | None = None) -> None:
    """Print problems, difference and power for each share of problems on which two runs differ."""
    rows: list[list[Cell]] = [
        [
            f"{plan.discordant:g} % of problems",
            "none" if plan.points is None else f"{plan.points:.3g} points",
            plan.tasks,
            doc.percent(plan.power),
        ]
        for plan in plans
    ]
    head = ("runs differ on", "difference", "problems", "power")
    method = (
        f"McNemar's exact test, one sample per problem, two-sided, significance level {plans[0].alpha:g}; sample"
        " size by Connor 1987 with continuity correction. `truegrade compare RUN RUN --power --points POINTS`"
        " estimates from two runs how often they differ."
    )
    print_parts(Table(slug="power", caption="", head=head, rows=rows), Prose(text=method), console=console)


# ------------------------------------------------------------------------------------------- suites


Pairs = Sequence[PairStanding]
EXPLAINED = (
    "Each number is the rate that its run puts first, with the 95 % confidence interval and problems × samples"
    " below it, and leads to the run's report. No mean over the benchmarks is shown: they ask different things,"
    " and are of different sizes."
)


def results(pairs: Pairs, folder: Path | None = None) -> list[Table]:
    """Models by benchmarks, a table for each profile; a run that is not complete keeps its place in it.

    Args:
        pairs: in the order asked.
        folder: from which links lead to the reports of the runs; None for no page.
    """
    by_profile: dict[str, list[RunStanding]] = {}
    for standing in (standing for pair in pairs for standing in pair.standings):
        by_profile.setdefault(standing.profile, []).append(standing)
    tables = []
    for profile, standings in by_profile.items():
        names = dict(zip((each.run.name for each in standings), benchmark_names(standings), strict=True))
        placed = (
            Placed(
                pair.model, names.get(pair.run.name, pair.benchmark), pair.run.name, _result(pair, profile, folder)
            )
            for pair in pairs
        )
        slug = "results" if len(by_profile) == 1 else f"results-{profile.partition('@')[0]}"
        tables.append(grid(slug, standings_caption(standings), placed, "sortable standing"))
    return tables


def _result(pair: PairStanding, profile: str, folder: Path | None) -> Cell:
    """One number, its interval, what it rests on, and how often it is warned of."""
    state = None if pair.failure is None else "not complete"
    standing = next((each for each in pair.standings if each.profile == profile), None)
    if standing is None:
        counted = [] if pair.so_far is None else pair.so_far.profiles
        so_far = next((f"so far {wording.passes(each)}" for each in counted if each.profile == profile), None)
        return doc.noted(so_far, state)
    rate = standing.headline
    warned = sum(not one.profiles or profile in one.profiles for one in pair.warnings)
    marks = doc.Linked(fmt.plural(warned, "warning"), "#warnings") if warned else None
    asked = f"{fmt.count(rate.tasks)} × {standing.samples_per_task}"
    return doc.noted(_report(pair, rate, folder), asked, marks, state)


def _report(pair: PairStanding, cell: Cell, folder: Path | None) -> Cell:
    """A link to the report of a run."""
    return cell if folder is None else doc.Linked(cell, quote(os.path.relpath(pair.run / "report.html", folder)))


def runs(pairs: Pairs, folder: Path | None = None) -> Table:
    """How each number was made: a row for each run and profile, enough for a spreadsheet to make other tables."""
    rows: list[list[Cell]] = []
    for pair in pairs:
        state = None if pair.failure is None else "not complete"
        codes = " ".join(dict.fromkeys(one.code for one in pair.warnings)) or None
        first = [doc.noted(_report(pair, pair.benchmark, folder), state), pair.model]
        last = [pair.input_tokens, pair.output_tokens, doc.dollars(pair.cost_usd), codes, pair.run.name]
        for each in pair.standings:
            rate = each.headline
            level = wording.level(each.level)
            rows.append(
                [
                    *first,
                    each.profile,
                    rate.metric,
                    rate,
                    rate.tasks,
                    each.samples_per_task,
                    level,
                    rate.method,
                    *last,
                ]
            )
        if not pair.standings:
            rows.append([*first, *(7 * [None]), *last])
    head = (
        "benchmark", "model", "profile", "metric", "rate", "problems", "samples per problem", "protection",
        "interval by", "input tokens", "output tokens", "USD", "warnings", "run",
    )  # fmt: skip
    return Table(slug="runs", caption="How each number was made", head=head, rows=rows, look="sortable made-of")


def cost(pairs: Pairs) -> Table:
    """Tokens and cost by model, of all requests, those of earlier commands too."""
    by_model: dict[str, list[PairStanding]] = {}
    for pair in pairs:
        by_model.setdefault(pair.model, []).append(pair)
    rows: list[list[Cell]] = []
    for model, of in by_model.items():
        unknown = sum(pair.cost_usd is None for pair in of)
        note = f", and {fmt.plural(unknown, 'run')} of unknown cost" if 0 < unknown < len(of) else ""
        tokens = (known_sum([pair.input_tokens for pair in of]), known_sum([pair.output_tokens for pair in of]))
        spent = known_sum([pair.cost_usd for pair in of])
        rows.append([model, *tokens, doc.dollars(spent, note), unknown, len(of)])
    head = ("model", "input tokens", "output tokens", "USD", "runs of unknown cost", "runs")
    caption = "Tokens and cost of all requests, those of earlier commands too, by model"
    return Table(slug="cost", caption=caption, head=head, rows=rows, look="numeric")


def warnings(pairs: Pairs, folder: Path | None = None) -> Table:
    """Every warning of every run, in the order of `truegrade.pipeline.cautions.CODES`, then what the cut-off says;
    runs that are warned of in the same words share a row."""
    found: dict[tuple[str, str], list[PairStanding]] = {}
    for pair in pairs:
        for one in pair.warnings:
            found.setdefault((one.code, one.line), []).append(pair)
        for sentence in _about_cutoff(pair):
            found.setdefault(("cutoff", sentence), []).append(pair)
    order = [*CODES, "cutoff"]
    placed = sorted(found.items(), key=lambda row: order.index(row[0][0]) if row[0][0] in order else len(order))
    rows: list[list[Cell]] = [
        [code, sentence, doc.Several(tuple(_report(pair, _name(pair), folder) for pair in of))]
        for (code, sentence), of in placed
    ]
    caption = "Warnings of the runs, the gravest first"
    return Table(slug="warnings", caption=caption, head=("code", "warning", "runs"), rows=rows, look="cautions")


def _about_cutoff(pair: PairStanding) -> Iterator[str]:
    if pair.cutoff is None:
        return
    for standing in pair.standings:
        said = wording.after_cutoff(standing, pair.cutoff)
        yield said or f"{standing.profile}: no problems are dated on both sides of the cut-off {pair.cutoff}"


def missing(
    pairs: Pairs, left_out: Sequence[LeftOutBenchmark], worded: Callable[[str], str] = str
) -> list[list[Cell]]:
    """What the tables lack, in what state and why: benchmarks left out, and runs that are not complete."""
    rows: list[list[Cell]] = [[each.benchmark, "left out", worded(each.why)] for each in left_out]
    rows += [
        [_name(pair), "not complete", f"{worded(pair.failure)}{wording.so_far(pair.so_far)}"]
        for pair in pairs
        if pair.failure is not None
    ]
    return rows


def _missing_parts(rows: list[list[Cell]]) -> list[Part]:
    said = [Prose(lead=str(what), text=f" is {state}: {why}") for what, state, why in rows]
    table = Table(slug="not-complete", caption="What is missing", head=("what", "state", "why"), rows=rows)
    return [only(On.PAGE | On.TERMINAL, doc.Cautions(said, title="Missing")), only(On.FILES, table)]


def _name(pair: PairStanding) -> str:
    return f"{pair.benchmark} with {pair.model}"


def print_pairs(
    found: Pairs,
    left_out: Sequence[LeftOutBenchmark] = (),
    *,
    console: Console | None = None,
    worded: Callable[[str], str] = str,
) -> None:
    """Print models by benchmarks, each headline with its interval; then folder, cost and warnings of every pair.

    Args:
        found: the pairs, in the order asked.
        left_out: benchmarks that were to be among them.
        console: where to print; None for standard output.
        worded: what the command line makes of sentences, which name arguments as Python has them.
    """
    lines = []
    for pair in found:
        spent = "" if pair.cost_usd is None else f", {fmt.usd(pair.cost_usd)}"
        codes = ", ".join(dict.fromkeys(one.code for one in pair.warnings))
        warned = f"; {fmt.plural(len(pair.warnings), 'warning')}: {codes}" if codes else ""
        lines.append(Prose(text=f"{_name(pair)}: {pair.run}{spent}{warned}", tone="line"))
    print_parts(*results(found), *lines, *_missing_parts(missing(found, left_out, worded)), console=console)


def suite_document(found: SuiteStanding, folder: Path) -> doc.Document:
    """A suite, whose page is to lie in ``folder``: links lead from there to the reports of the runs."""
    ended = sum(pair.failure is None for pair in found.pairs)
    moment = f"{found.updated[:16].replace('T', ' ')} UTC"
    origins = " · ".join(f"{name}: {origin}" for name, origin in found.origins.items())
    warned = warnings(found.pairs, folder)
    lacking = _missing_parts(missing(found.pairs, found.left_out))
    explained = only(On.PAGE, Prose(text=EXPLAINED, tone="prose"))
    none = only(On.PAGE, Prose(text="No run has a warning."))
    return doc.Document(
        kind="suite",
        about=(found.name,),
        lines=(
            Prose(text=found.description, tone="measured"),
            Prose(text=f"{ended} of {fmt.plural(len(found.pairs), 'run')} complete · {moment}", tone="asked"),
            Prose(text=origins, tone="asked"),
        ),
        sections=[
            Section("results", "Results", [*results(found.pairs, folder), *lacking, explained]),
            Section("cost", "Tokens and cost", [cost(found.pairs)], "Cost"),
            Section(
                "warnings", "What must be known of these numbers", [warned if warned.rows else none], "Warnings"
            ),
            Section("runs", "Runs", [runs(found.pairs, folder)]),
        ],
        styles=("standings.css", "suite.css"),
        scripts=("standings.js",),
    )


# ------------------------------------------------- A suite as files: the page, a file for each table, or JSON.


PAGE, RECORD = "suite.html", "suite.json"
FORMATS = ("html", "latex", "markdown", "csv", "json")


class StoredPair(msgspec.Struct, frozen=True, kw_only=True):
    """What `RECORD` says of a run besides its numbers, which the run itself tells."""

    benchmark: str
    model: str
    run: str
    profiles: tuple[str, ...]
    failure: str | None


class StoredSuite(msgspec.Struct, frozen=True, kw_only=True):
    """The part of `RECORD` that is read again."""

    name: str
    description: str
    updated: str
    origins: dict[str, str]
    pairs: list[StoredPair]
    left_out: list[LeftOutBenchmark]


def write_suite(found: SuiteStanding) -> Path:
    """Write the page and the record beside the runs, and return the page's path.

    Raises:
        UserError: the files cannot be written.
    """
    write_files(found.folder, {RECORD: _record(found)})
    return _write_page(found, found.folder / PAGE)


def export_suite(folder: Path, file_format: str, out: Path | None = None) -> list[Path]:
    """Write the page of a suite anew, or its tables as files, with the numbers of its runs; return their paths.

    Args:
        folder: that holds the runs and `RECORD`.
        file_format: one of `FORMATS`.
        out: the page, or the folder of the files; None for `PAGE` or ``report`` in ``folder``.

    Raises:
        UnknownName: no such format.
        BadRecord: the record is damaged, or a run is.
        UserError: ``out`` cannot be made.
    """
    if file_format not in FORMATS:
        raise UnknownName("format of a suite", file_format, FORMATS)
    found = _read(folder)
    if file_format == "html":
        page = out or folder / PAGE
        make_folder(page.parent)
        return [_write_page(found, page)]
    made = {RECORD: _record(found)}
    if file_format != "json":
        made = {name: text.encode() for name, text in show(suite_document(found, folder), file_format).items()}
    return write_files(out or folder / FOLDER, made)


def _write_page(found: SuiteStanding, page: Path) -> Path:
    write_atomically(page, render_page(suite_document(found, page.parent)).encode("utf-8", "replace"))
    return page


def _record(found: SuiteStanding) -> bytes:
    return encode(found, enc_hook=str, indent=2) + b"\n"


def _read(folder: Path) -> SuiteStanding:
    stored = read_json(folder / RECORD, StoredSuite, "run the suite again")
    pairs = [
        pair_standing(
            folder / Path(pair.run).name, pair.profiles,
            benchmark=pair.benchmark, model=pair.model, failure=pair.failure,
        )
        for pair in stored.pairs
    ]  # fmt: skip
    return SuiteStanding(
        name=stored.name, description=stored.description, updated=stored.updated, origins=stored.origins,
        folder=folder, pairs=pairs, left_out=stored.left_out,
    )  # fmt: skip
