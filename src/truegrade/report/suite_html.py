"""``suite.html``: models by benchmarks with intervals, cost and every caveat, on a self-contained page."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import msgspec

from truegrade.analysis.standings import LeftOutBenchmark, PairStanding, RunStanding, SuiteStanding, pair_standing
from truegrade.errors import UnknownName
from truegrade.files.json_text import encode, read_json
from truegrade.report import format as fmt
from truegrade.report import wording
from truegrade.report.export import FOLDER, make_folder
from truegrade.report.markup import Child, Markup, el, join
from truegrade.report.page_parts import page, section, table
from truegrade.report.suite_exhibits import (
    ModelUse,
    Placed,
    benchmark_names,
    by_profile,
    grid_of,
    model_use,
    row_warnings,
    standings_caption,
    suite_exhibits,
)
from truegrade.report.text_files import TEXTS
from truegrade.store.manifest import write_atomically

_EXPLAINED = (
    "Each number is the rate that its run puts first, with the 95 % confidence interval and problems × samples"
    " below it, and leads to the run's report. No mean over the benchmarks is shown: they ask different things,"
    " and are of different sizes."
)


def render_suite(found: SuiteStanding, folder: Path) -> str:
    """The whole page; pure.

    Args:
        found: what it shows.
        folder: in which the page is to lie: links lead from there to the reports of the runs.
    """
    found = msgspec.structs.replace(found, folder=folder)
    body = join(
        section("results", "Results", el("p", _EXPLAINED, class_="prose"), _missing(found), list(_results(found))),
        section("cost", "Tokens and cost", _use(found)),
        section("warnings", "What must be known of these numbers", _warnings(found)),
        section("runs", "Runs", _runs(found)),
    )
    titles = (("results", "Results"), ("cost", "Cost"), ("warnings", "Warnings"), ("runs", "Runs"))
    ended = sum(pair.failure is None for pair in found.pairs)
    origins = (f"{name}: {origin}" for name, origin in found.origins.items())
    header = [
        el("p", "Truegrade suite", class_="kicker"),
        el("h1", found.name),
        el("p", found.description, class_="measured"),
        el("p", f"{ended} of {fmt.plural(len(found.pairs), 'run')} complete · {_moment(found)}", class_="asked"),
        el("p", " · ".join(origins), class_="asked"),
        el("nav", (el("a", words, href=f"#{name}") for name, words in titles), aria_label="Sections"),
    ]
    return page(
        f"Suite · {found.name}",
        header,
        body,
        styles=("leaderboard.css", "suite.css"),
        scripts=("leaderboard.js",),
    )


def _moment(found: SuiteStanding) -> str:
    return f"{found.updated[:16].replace('T', ' ')} UTC"


def _missing(found: SuiteStanding) -> Child:
    """What the tables lack: benchmarks left out, and runs that are not complete."""
    items = [el("li", el("b", each.benchmark), f" is left out: {each.why}") for each in found.left_out]
    items += [
        el("li", el("b", f"{pair.benchmark} with {pair.model}"), f" is not complete: {pair.failure}")
        for pair in found.pairs
        if pair.failure is not None
    ]
    if not items:
        return None
    return el("aside", el("h3", "Missing"), el("ul", items), class_="warnings", aria_label="Missing")


def _results(found: SuiteStanding) -> Iterator[Markup]:
    """A table for each profile; a run that is not complete keeps its place in it."""
    for standings in by_profile(found).values():
        profile = standings[0].profile
        names = dict(zip((s.run.name for s in standings), benchmark_names(standings), strict=True))
        grid = grid_of(
            Placed(
                pair.model, names.get(pair.run.name, pair.benchmark), pair.run.name, _cell(found, pair, profile)
            )
            for pair in found.pairs
        )
        rows: list[list[Child]] = [
            [name, *(of.get(column, "–") for column in grid.head[1:])] for name, of in grid.rows.items()
        ]
        yield table(standings_caption(standings), list(grid.head), rows, class_="sortable standing")


def _cell(found: SuiteStanding, pair: PairStanding, profile: str) -> Markup:
    """One number, its interval, what it rests on, and how often it is warned of."""
    standing = next((each for each in pair.standings if each.profile == profile), None)
    state = None if pair.failure is None else el("small", "not complete", class_="state")
    if standing is None:
        return state or Markup("–")
    rate = standing.headline
    number = _report(found, pair, fmt.percent(rate.value), data_value=f"{rate.value:.6f}")
    warned = len(_of_profile(pair, profile))
    marks = el("small", el("a", fmt.plural(warned, "warning"), href="#warnings")) if warned else None
    asked = f"{fmt.count(rate.tasks)} × {standing.samples_per_task}"
    return join(number, el("small", fmt.bounds(rate.low, rate.high)), el("small", asked), marks, state)


def _of_profile(pair: PairStanding, profile: str) -> list[str]:
    return [one.sentence for one in pair.warnings if not one.profiles or profile in one.profiles]


def _report(found: SuiteStanding, pair: PairStanding, words: str, **attributes: object) -> Markup:
    """A link to the report of a run."""
    path = os.path.relpath(pair.run / "report.html", found.folder)
    return el("a", words, href=quote(path), **attributes)


def _use(found: SuiteStanding) -> Markup:
    rows: list[list[Child]] = [
        [use.model, _count(use.input_tokens), _count(use.output_tokens), _cost(use), str(use.runs)]
        for use in model_use(found)
    ]
    head = ["model", "input tokens", "output tokens", "cost", "runs"]
    return table("Of all requests, those of earlier commands too", head, rows, class_="numeric")


def _count(number: int | None) -> str:
    return "unknown" if number is None else fmt.count(number)


def _cost(use: ModelUse) -> str:
    """The sum of what is known, said to be a part where a run's cost is not."""
    if use.unknown in (0, use.runs):
        return fmt.usd(use.cost_usd)
    return f"{fmt.usd(use.cost_usd)}, and {fmt.plural(use.unknown, 'run')} of unknown cost"


def _warnings(found: SuiteStanding) -> Markup:
    rows: list[list[Child]] = [
        [
            el("code", code),
            sentence,
            el("ul", (el("li", _report(found, pair, f"{pair.benchmark} with {pair.model}")) for pair in pairs)),
        ]
        for code, sentence, pairs in row_warnings(found)
    ]
    if not rows:
        return el("p", "No run has a warning.")
    return table("Warnings of the runs, the gravest first", ["code", "warning", "runs"], rows, class_="cautions")


def _runs(found: SuiteStanding) -> Markup:
    """How each number was made."""
    rows = [_run(found, pair, each) for pair in found.pairs for each in (pair.standings or (None,))]
    head = ["run", "profile", "result", "problems × samples", "protection", "tokens in / out", "cost"]
    return table("How each number was made", head, rows, class_="sortable made-of")


def _run(found: SuiteStanding, pair: PairStanding, standing: RunStanding | None) -> list[Child]:
    name = f"{pair.benchmark} with {pair.model}"
    tokens = f"{_count(pair.input_tokens)} / {_count(pair.output_tokens)}"
    state = None if pair.failure is None else el("small", "not complete", class_="state")
    if standing is None:
        return [join(name, state), "–", "–", "–", "–", tokens, fmt.usd(pair.cost_usd)]
    rate = standing.headline
    return [
        join(_report(found, pair, name), state),
        standing.profile,
        join(f"{rate.metric} {fmt.estimate(rate)}", el("small", rate.method)),
        f"{fmt.count(rate.tasks)} × {standing.samples_per_task}",
        wording.level(standing.level),
        tokens,
        fmt.usd(pair.cost_usd),
    ]


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
    make_folder(found.folder)
    write_atomically(found.folder / RECORD, _record(found))
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
    made = {"suite.json": _record(found)}
    if file_format != "json":
        ending, write = TEXTS[file_format]
        made = {f"{exhibit.slug}{ending}": write(exhibit).encode() for exhibit in suite_exhibits(found)}
    files = out or folder / FOLDER
    make_folder(files)
    for name, content in made.items():
        write_atomically(files / name, content)
    return [files / name for name in made]


def _write_page(found: SuiteStanding, page: Path) -> Path:
    write_atomically(page, render_suite(found, page.parent).encode("utf-8", "replace"))
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
