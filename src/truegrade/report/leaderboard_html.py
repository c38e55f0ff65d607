"""``leaderboard.html``: runs ranked by benchmark and profile, on a self-contained page."""

from __future__ import annotations

from pathlib import Path

from truegrade.analysis.leaderboard import Board, BoardRow, Leaderboard
from truegrade.report import format as fmt
from truegrade.report.markup import Child, Markup, el, join
from truegrade.report.page_parts import facts, page, section, table
from truegrade.store.manifest import write_atomically

NAME = "leaderboard.html"
_HEAD = ("model", "rank", "pass@1", "95 % interval", "problems × samples", "date", "warnings")
_EXPLAINED = (
    "The rank is the range that paired tests by problem leave open: runs in front of it are significantly better"
    " (p < 0.05, corrected for all pairs of a table), runs behind it significantly worse. A run on other data, on"
    " other problems or with other prompts than the ranked ones is shown below them, without a rank. Each number"
    " leads to how it was made."
)


def write_leaderboard(found: Leaderboard, out: Path | None = None) -> Path:
    """Write the page and return its path.

    Args:
        found: what it shows.
        out: the file; None for `NAME` in the working folder.

    Raises:
        UserError: the file cannot be written.
    """
    path = out or Path(NAME)
    write_atomically(path, render_leaderboard(found).encode("utf-8", "replace"))
    return path


def render_leaderboard(found: Leaderboard) -> str:
    """The whole page; pure."""
    boards = list(enumerate(found.boards))
    body = join(
        section("overview", "All results", el("p", _EXPLAINED, class_="prose"), _overview(found)),
        [_board(place, board) for place, board in boards],
        section("made", "How each number was made", [_made(place, board) for place, board in boards]),
        _left_out(found),
    )
    benchmarks = list(dict.fromkeys(board.benchmark for board in found.boards))
    links = [("overview", "All results"), *((_anchor(place), _title(board)) for place, board in boards)]
    header = [
        el("p", "Truegrade leaderboard", class_="kicker"),
        el("h1", ", ".join(benchmarks)),
        el(
            "p",
            f"pass@1 of {fmt.plural(_runs(found), 'run')}, with 95 % confidence intervals · {found.method}",
            class_="asked",
        ),
        el("nav", (el("a", words, href=f"#{name}") for name, words in links), aria_label="Sections"),
    ]
    return page(
        f"Leaderboard · {', '.join(benchmarks)}",
        header,
        body,
        styles=("leaderboard.css",),
        scripts=("leaderboard.js",),
    )


def _runs(found: Leaderboard) -> int:
    return len({row.run for board in found.boards for row in board.rows})


def _title(board: Board) -> str:
    return f"{board.benchmark}, {board.profile}"


def _anchor(place: int, row: int | None = None) -> str:
    return f"board-{place}" if row is None else f"made-{place}-{row}"


def _overview(found: Leaderboard) -> Markup:
    """Models down, benchmarks and profiles across; the first number of a model on each board."""
    cells: dict[str, dict[int, Markup]] = {}
    for place, board in enumerate(found.boards):
        for number, row in enumerate(board.rows):
            cells.setdefault(_name(row), {}).setdefault(place, _cell(place, number, row))
    head = ["model", *(join(board.benchmark, el("small", board.profile)) for board in found.boards)]
    rows: list[list[Child]] = [
        [model, *(of.get(place, "–") for place in range(len(found.boards)))] for model, of in cells.items()
    ]
    return table("pass@1 of every model under every profile", head, rows, class_="sortable")


def _cell(place: int, number: int, row: BoardRow) -> Markup:
    mark = "not ranked" if row.not_ranked else f"rank {_rank(row)}"
    return join(_number(place, number, row), el("small", f"{fmt.bounds(row.rate.low, row.rate.high)} · {mark}"))


def _number(place: int, number: int, row: BoardRow) -> Markup:
    value = f"{row.rate.value:.6f}"
    return el("a", fmt.percent(row.rate.value), href=f"#{_anchor(place, number)}", data_value=value)


def _board(place: int, board: Board) -> Markup:
    rows = [_line(place, number, row) for number, row in enumerate(board.rows)]
    caption = f"pass@1 on {board.benchmark} under {board.profile}"
    return section(_anchor(place), _title(board), table(caption, _HEAD, rows, class_="sortable"))


def _line(place: int, number: int, row: BoardRow) -> list[Child]:
    warned = el("a", fmt.plural(len(row.warnings), "warning"), href=f"#{_anchor(place, number)}")
    rank = "not ranked" if row.not_ranked else _rank(row)
    order = 10**6 if row.best_rank is None else row.best_rank
    return [
        join(_name(row), el("small", row.run)),
        el("span", rank, class_="badge" if row.not_ranked else None, data_value=order),
        _number(place, number, row),
        fmt.bounds(row.rate.low, row.rate.high),
        f"{fmt.count(row.rate.tasks)} × {row.samples_per_task}",
        row.created[:10],
        warned if row.warnings else "none",
    ]


def _rank(row: BoardRow) -> str:
    return str(row.best_rank) if row.best_rank == row.worst_rank else f"{row.best_rank}–{row.worst_rank}"


def _name(row: BoardRow) -> str:
    return row.model if row.agent is None else f"{row.model} with {row.agent}"


def _made(place: int, board: Board) -> list[Markup]:
    return [
        el(
            "article",
            el("h3", f"{_name(row)} · {_title(board)}: {fmt.estimate(row.rate)}"),
            facts(*_facts(board, row)),
            _told("not ranked", row.not_ranked),
            _told("warnings", row.warnings),
            id=_anchor(place, number),
            class_="card made",
        )
        for number, row in enumerate(board.rows)
    ]


def _told(title: str, sentences: tuple[str, ...]) -> Child:
    if not sentences:
        return None
    return el("div", el("p", title, class_="severity warning"), el("ul", (el("li", each) for each in sentences)))


def _facts(board: Board, row: BoardRow) -> list[tuple[str, Child]]:
    level = "no program was executed" if row.level is None else f"level {row.level}"
    return [
        ("run", row.run),
        ("profile", board.profile),
        ("data set", el("code", f"{row.dataset_sha256[:16]}…", title=row.dataset_sha256)),
        ("problems", f"{fmt.count(row.rate.tasks)} of {fmt.count(row.problems)}"),
        ("samples", f"{fmt.count(row.rate.samples)} ({row.samples_per_task} per problem)"),
        ("interval", f"{row.rate.confidence:.0%}, {row.rate.method}"),
        ("prompt", row.prompt_rule or "replies were imported"),
        ("asked", row.created[:10]),
        ("graded", row.graded[:10] or "unknown"),
        ("Truegrade", row.version or "unknown"),
        ("protection", level),
        ("cost", fmt.usd(row.cost_usd)),
    ]


def _left_out(found: Leaderboard) -> Child:
    if not found.left_out:
        return None
    items = (el("li", el("b", f"{name}: "), why) for name, why in found.left_out.items())
    return section("left-out", "On no board", el("ul", items, class_="findings"))
