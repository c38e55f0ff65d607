"""``leaderboard.html``: runs ranked by benchmark and profile, on a self-contained page."""

from __future__ import annotations

from pathlib import Path

from truegrade.analysis.leaderboard import Board, BoardRow, Leaderboard
from truegrade.report import document as doc
from truegrade.report import format as fmt
from truegrade.report.document import Cell, Prose, Section, Table
from truegrade.report.markup import Child, Markup, el
from truegrade.report.page_parts import facts, render_page
from truegrade.store.manifest import write_atomically

NAME = "leaderboard.html"
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
    return render_page(leaderboard_document(found))


def leaderboard_document(found: Leaderboard) -> doc.Document:
    """A leaderboard: a section for each board, all results, and how each number was made, folded."""
    benchmarks = list(dict.fromkeys(board.benchmark for board in found.boards))
    count = len({row.run for each in found.boards for row in each.rows})
    asked = f"pass@1 of {fmt.plural(count, 'run')}, with 95 % confidence intervals · {found.method}"
    boards = list(enumerate(found.boards))
    made = [card for place, each in boards for card in _made(place, each)]
    left_out: list[str | Prose] = [Prose(lead=f"{name}: ", text=why) for name, why in found.left_out.items()]
    return doc.Document(
        kind="leaderboard",
        about=(", ".join(benchmarks),),
        lines=(Prose(text=asked, tone="asked"),),
        sections=[
            *(Section(_anchor(place), _title(each), [board(place, each)]) for place, each in boards),
            Section("overview", "All results", [overview(found)]) if len(boards) > 1 else None,
            Section("ranks", "How runs are ranked", [Prose(text=_EXPLAINED, tone="prose")], "Ranks"),
            Section("made", "How each number was made", list(made)),
            Section("left-out", "On no board", [doc.Bullets(left_out, "findings")]) if left_out else None,
        ],
        styles=("leaderboard.css",),
        scripts=("leaderboard.js",),
    )


def overview(found: Leaderboard) -> Table:
    """Models down, benchmarks and profiles across; the first number of a model on each board."""
    cells: dict[str, dict[int, Cell]] = {}
    for place, each in enumerate(found.boards):
        for number, row in enumerate(each.rows):
            rank = "not ranked" if row.not_ranked else f"rank {_rank(row)}"
            shown = doc.noted(doc.Linked(row.rate, f"#{_anchor(place, number)}"), rank)
            cells.setdefault(_name(row), {}).setdefault(place, shown)
    head: tuple[str | doc.Noted, ...] = (
        "model",
        *(doc.Noted(each.benchmark, (each.profile,)) for each in found.boards),
    )
    rows: list[list[Cell]] = [[model, *map(of.get, range(len(found.boards)))] for model, of in cells.items()]
    caption = "pass@1 of every model under every profile"
    return Table(slug="overview", caption=caption, head=head, rows=rows, look="sortable")


def board(place: int, found: Board) -> Table:
    """The runs of one benchmark under one profile, ranked ones first."""
    rows: list[list[Cell]] = []
    for number, row in enumerate(found.rows):
        href = f"#{_anchor(place, number)}"
        warned = doc.Linked(fmt.plural(len(row.warnings), "warning"), href) if row.warnings else "none"
        rows.append(
            [
                doc.noted(_name(row), row.run),
                "not ranked" if row.not_ranked else _rank(row),
                doc.Linked(row.rate, href),
                f"{fmt.count(row.rate.tasks)} × {row.samples_per_task}",
                row.created[:10],
                warned,
            ]
        )
    return Table(
        slug=_anchor(place),
        caption=f"pass@1 on {found.benchmark} under {found.profile}",
        head=("model", "rank", "pass@1", "problems × samples", "date", "warnings"),
        rows=rows,
        look="sortable",
    )


def _title(found: Board) -> str:
    return f"{found.benchmark}, {found.profile}"


def _anchor(place: int, row: int | None = None) -> str:
    return f"board-{place}" if row is None else f"made-{place}-{row}"


def _rank(row: BoardRow) -> str:
    return str(row.best_rank) if row.best_rank == row.worst_rank else f"{row.best_rank}–{row.worst_rank}"


def _name(row: BoardRow) -> str:
    return row.model if row.agent is None else f"{row.model} with {row.agent}"


def _made(place: int, board: Board) -> list[Markup]:
    return [
        el(
            "details",
            el("summary", f"{_name(row)} · {_title(board)}: {fmt.estimate(row.rate)}"),
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
