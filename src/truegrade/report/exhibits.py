"""The tables of a run as data: what the page shows and what goes into a paper or a spreadsheet."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType

import msgspec

from truegrade.analysis.standings import Matrix
from truegrade.pipeline.summary import Summary
from truegrade.records import Estimate
from truegrade.report import format as fmt
from truegrade.report.reasoning_html import aggregation
from truegrade.report.wording import problems_of, spread_note, tiers
from truegrade.statistics import NumberSummary

MAX_ACROSS = 3
"""Profiles that a table of estimates shows side by side."""


class PValue(msgspec.Struct, frozen=True):
    """A p-value in a table: programs read the number, people what it is worth."""

    value: float
    shown: str


class PointsInterval(msgspec.Struct, frozen=True):
    """A difference in percentage points with the ends of its interval."""

    value: float
    low: float | None
    high: float | None


class LongText(msgspec.Struct, frozen=True):
    """A text of several lines: its name in a table, and the whole behind it."""

    name: str
    text: str


Cell = str | int | float | Estimate | PointsInterval | PValue | LongText | None


class Exhibit(msgspec.Struct, frozen=True, kw_only=True):
    """A table. Floats are as they are; estimates are fractions with their interval."""

    slug: str
    """Name of its file."""
    caption: str
    head: tuple[str, ...]
    rows: list[list[Cell]]


def exhibits(summary: Summary, matrix: Matrix) -> list[Exhibit]:
    """All tables of a run that say something."""
    made = [
        _estimates(summary),
        _warnings(summary),
        *([_rules(matrix)] if len(matrix.rows) > 1 else []),
        _reasons(summary),
        *([_disagreements(summary)] if summary.disagreements else []),
        *([_splits(summary)] if split_rows(summary) else []),
        *_usage(summary),
        *_reasoning(summary),
        _tasks(summary),
    ]
    return [exhibit for exhibit in made if exhibit.rows]


def _estimates(summary: Summary) -> Exhibit:
    """Metrics down; profiles down where they are so many that they would not fit a page across."""
    names = dict.fromkeys(e.metric for profile in summary.profiles for e in profile.estimates)
    known = {profile.profile: {e.metric: e for e in profile.estimates} for profile in summary.profiles}
    codes = ", ".join(dict.fromkeys(one.code for one in summary.warnings))
    caption = f"Estimates with their intervals, {summary.benchmark}, {summary.model}"
    caption = "; ".join([caption, *filter(None, map(tiers, summary.profiles))])
    caption += f"; warnings: {codes}" if codes else ""
    if len(known) > MAX_ACROSS:
        rows: list[list[Cell]] = [[profile, *(of.get(name) for name in names)] for profile, of in known.items()]
        return Exhibit(slug="estimates", caption=caption, head=("profile", *names), rows=rows)
    found = {name: [of.get(name) for of in known.values()] for name in names}
    rows = [[name, problems_of(estimates), *estimates] for name, estimates in found.items()]
    return Exhibit(slug="estimates", caption=caption, head=("metric", "problems", *known), rows=rows)


def _warnings(summary: Summary) -> Exhibit:
    """The list of the summary."""
    rows: list[list[Cell]] = [[one.code, one.line, one.count, one.of] for one in summary.warnings]
    head = ("code", "warning", "count", "of")
    return Exhibit(slug="warnings", caption="What must be known of these numbers", head=head, rows=rows)


def _rules(matrix: Matrix) -> Exhibit:
    ks = sorted({k for row in matrix.rows for k in row.pass_at})
    return Exhibit(
        slug="profiles",
        caption=f"The same replies under each profile; spread {100 * matrix.spread:.1f} points"
        f"{spread_note(matrix.warnings)}",
        head=("profile", *(f"pass@{k}" for k in ks), "any of N", "all solutions", "first sample"),
        rows=[
            [row.profile, *(row.pass_at.get(k) for k in ks), row.any_of_n, row.all_solutions, row.first_sample]
            for row in matrix.rows
        ],
    )


def _reasons(summary: Summary) -> Exhibit:
    names = dict.fromkeys(reason for profile in summary.profiles for reason in profile.reasons)
    return Exhibit(
        slug="reasons",
        caption="Verdicts by reason",
        head=("reason", *(profile.profile for profile in summary.profiles)),
        rows=[[name, *(profile.reasons.get(name, 0) for profile in summary.profiles)] for name in names],
    )


SplitRow = tuple[str, str, int, list[Estimate | None]]
"""Kind of group, group, its tasks under the first profile that has any, and pass@1 under each profile."""


def split_rows(summary: Summary) -> list[SplitRow]:
    """pass@1 by group, profiles side by side."""
    by_profile = [{(s.by, s.value): s.rate for s in profile.splits} for profile in summary.profiles]
    rows = []
    for kind, value in dict.fromkeys(group for rates in by_profile for group in rates):
        rates = [found.get((kind, value)) for found in by_profile]
        rows.append((kind, value, next(rate.tasks for rate in rates if rate is not None), rates))
    return rows


def _splits(summary: Summary) -> Exhibit:
    return Exhibit(
        slug="groups",
        caption="pass@1 by group",
        head=("by", "group", "tasks", *(profile.profile for profile in summary.profiles)),
        rows=[[kind, value, tasks, *rates] for kind, value, tasks, rates in split_rows(summary)],
    )


def _disagreements(summary: Summary) -> Exhibit:
    names = [profile.profile for profile in summary.profiles]
    return Exhibit(
        slug="disagreements",
        caption=f"{summary.disagreeing} samples graded differently; the first {len(summary.disagreements)}",
        head=("problem", "sample", *names),
        rows=[[d.problem_id, d.sample, *(d.reasons.get(name) for name in names)] for d in summary.disagreements],
    )


def _usage(summary: Summary) -> list[Exhibit]:
    used = summary.usage
    named: tuple[tuple[str, NumberSummary | None], ...] = (
        ("input tokens", used.input_tokens),
        ("output tokens", used.output_tokens),
        ("latency, s", used.latency_s),
        ("tokens per task", used.tokens_per_task),
        ("latency per task, s", used.latency_s_per_task),
    )
    rows: list[list[Cell]] = [
        [name, s.count, s.total, s.mean, s.median, s.p90, s.p99, s.high] for name, s in named if s is not None
    ]
    head = ("per sample or task", "known", "total", "mean", "median", "p90", "p99", "largest")
    return [Exhibit(slug="usage", caption="Tokens and seconds", head=head, rows=rows)]


def _tasks(summary: Summary) -> Exhibit:
    passes = [{task.id: task for task in profile.tasks} for profile in summary.profiles]
    first = dict.fromkeys(task.id for profile in summary.profiles for task in profile.tasks)
    head = (
        "task",
        *(f"{profile.profile} {what}" for profile in summary.profiles for what in ("passes", "samples")),
    )
    rows: list[list[Cell]] = []
    for name in first:
        found = [of.get(name) for of in passes]
        rows.append([name, *(number for task in found for number in ((task.c, task.n) if task else (None, None)))])
    return Exhibit(slug="tasks", caption="Passes by task", head=head, rows=rows)


def _reasoning(summary: Summary) -> Iterator[Exhibit]:
    several = len(summary.profiles) > 1
    for profile in summary.profiles:
        found, suffix = profile.reasoning, f"-{profile.profile.partition('@')[0]}" if several else ""
        if found is None:
            continue
        if found.prediction is not None:
            tables = {aggregation(t): t.estimates for t in found.prediction.tables}
            yield _by_metric(f"prediction{suffix}", f"Execution prediction under {profile.profile}", tables)
            if found.prediction.by_mutation:
                caption = f"Execution prediction by operator under {profile.profile}"
                yield _by_metric(f"operators{suffix}", caption, found.prediction.by_mutation)
        if found.choice is not None:
            tables = {aggregation(t): t.estimates for t in found.choice.tables}
            yield _by_metric(f"choice{suffix}", f"Execution choice under {profile.profile}", tables)
            caption = f"Preference by program and by position under {profile.profile}"
            yield _by_metric(f"choice-order{suffix}", caption, {"mean": found.choice.order})


def _by_metric(slug: str, caption: str, rows: Mapping[str, Sequence[Estimate]]) -> Exhibit:
    metrics = dict.fromkeys(e.metric for estimates in rows.values() for e in estimates)
    known = {name: {e.metric: e for e in estimates} for name, estimates in rows.items()}
    return Exhibit(
        slug=slug,
        caption=caption,
        head=("", *metrics),
        rows=[[name, *(of.get(metric) for metric in metrics)] for name, of in known.items()],
    )


# ---------------------------------------------- Tables as text that other programs read: CSV, Markdown, LaTeX.


def as_csv(exhibit: Exhibit) -> str:
    """RFC 4180. An estimate takes four columns: value, low, high, as fractions, and the problems behind them; a
    difference in points the first three."""
    widths = [
        max((len(_numbers(row[place])) for row in exhibit.rows), default=1) for place in range(len(exhibit.head))
    ]
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    titles = zip(exhibit.head, widths, strict=True)
    writer.writerow([f"{name}{part}" for name, width in titles for part in _PARTS[:width]])
    for row in exhibit.rows:
        cells = zip(map(_numbers, row), widths, strict=True)
        writer.writerow([value for numbers, width in cells for value in [*numbers, *[None] * width][:width]])
    return file.getvalue()


def as_markdown(exhibit: Exhibit) -> str:
    """A pipe table under its caption."""
    lines = [
        _pipes(exhibit.head),
        "|" + "|".join([" --- ", *(" ---: " for _ in exhibit.head[1:])]) + "|",
        *(_pipes([read(cell) for cell in row]) for row in exhibit.rows),
    ]
    behind = [f"\n{each.name}\n\n{_fenced(each.text)}\n" for each in _listings(exhibit)]
    return f"{exhibit.caption}\n\n" + "\n".join(lines) + "\n" + "".join(behind)


def _fenced(text: str) -> str:
    """Text between fences that are longer than any in it."""
    fence = "`" * max([3, *(1 + len(run) for run in re.findall("`+", text))])
    return f"{fence}\n{text.rstrip()}\n{fence}"


def _listings(exhibit: Exhibit) -> list[LongText]:
    """Texts behind a table, each once."""
    cells = (cell for row in exhibit.rows for cell in row)
    return list(dict.fromkeys(cell for cell in cells if isinstance(cell, LongText)))


LONG_ROWS = 40
"""Rows from which on a table does not fit a page."""
WIDE = 100
"""Characters from which on the columns of a table do not fit between the margins."""
SENTENCE = 60
"""Characters from which on a cell is set as a paragraph."""


def as_latex(exhibit: Exhibit) -> str:
    """A ``table`` environment, scaled to the text if wider, or ``longtable``s over several pages.

    Needs booktabs; graphicx for wide tables, longtable for long ones.
    """
    cells = [list(exhibit.head), *([read(cell) for cell in row] for row in exhibit.rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    caption, label = rf"\caption{{{latex(exhibit.caption)}}}", rf"\label{{tab:{exhibit.slug}}}"
    if len(exhibit.rows) >= LONG_ROWS:
        again = rf"\caption[]{{{latex(exhibit.caption)} (continued)}}"
        parts = (
            _long(
                [[row[place] for place in part] for row in cells],
                [widths[place] for place in part],
                again if number else f"{caption} {label}",
            )
            for number, part in enumerate(_fitting(widths))
        )
        # A part of a table has the number of the first.
        return "\\addtocounter{table}{-1}\n".join(parts) + _verbatim(exhibit)
    inner = [r"\toprule", _row(cells[0]), r"\midrule", *map(_row, cells[1:]), r"\bottomrule"]
    tabular = [rf"\begin{{tabular}}{{{_columns(widths)}}}", *_indented(inner, 2), r"\end{tabular}"]
    paragraphs = [width for width in widths if width > SENTENCE]
    if len(paragraphs) > 1 or sum(widths) - sum(paragraphs) > WIDE:
        tabular = [rf"\resizebox{{\linewidth}}{{!}}{{{tabular[0]}", *tabular[1:-1], rf"{tabular[-1]}}}"]
    lines = [r"\centering", caption, label, *tabular]
    return "\n".join([r"\begin{table}", *_indented(lines, 2), r"\end{table}", ""]) + _verbatim(exhibit)


def _verbatim(exhibit: Exhibit) -> str:
    return "".join(
        f"\n\\noindent {latex(each.name)}\n\\begin{{verbatim}}\n{each.text.rstrip()}\n\\end{{verbatim}}\n"
        for each in _listings(exhibit)
    )


def _fitting(widths: Sequence[int]) -> list[list[int]]:
    """Columns that fit side by side, each time with the first."""
    parts, width = [[0]], widths[0]
    for place in range(1, len(widths)):
        if width + widths[place] > WIDE and len(parts[-1]) > 1:
            parts.append([0])
            width = widths[0]
        parts[-1].append(place)
        width += min(widths[place], SENTENCE)
    return parts


def _long(cells: Sequence[Sequence[str]], widths: Sequence[int], caption: str) -> str:
    titles = [_row(cells[0]), r"\midrule"]
    top = [rf"{caption} \\", r"\toprule", *titles, r"\endfirsthead", r"\toprule", *titles, r"\endhead"]
    lines = _indented([*top, *map(_row, cells[1:]), r"\bottomrule"], 2)
    return "\n".join([rf"\begin{{longtable}}{{{_columns(widths)}}}", *lines, r"\end{longtable}", ""])


def _columns(widths: Sequence[int]) -> str:
    return "l" + "".join("r" if width <= SENTENCE else r"p{0.6\linewidth}" for width in widths[1:])


def _row(cells: Sequence[str]) -> str:
    return " & ".join(map(latex, cells)) + r" \\"


def _indented(lines: Sequence[str], by: int) -> list[str]:
    return [" " * by + line for line in lines]


TEXTS: Mapping[str, tuple[str, Callable[[Exhibit], str]]] = MappingProxyType(
    {"csv": (".csv", as_csv), "markdown": (".md", as_markdown), "latex": (".tex", as_latex)}
)
"""Format -> ending of its files and writer."""


def read(cell: Cell) -> str:
    """A cell as a person reads it."""
    match cell:
        case None:
            said = "–"
        case Estimate():
            said = fmt.estimate(cell)
        case PointsInterval():
            low, high = (None if end is None else end / 100 for end in (cell.low, cell.high))
            said = f"{fmt.points(cell.value / 100)} {fmt.bounds(low, high)}"
        case PValue():
            said = cell.shown
        case LongText():
            said = cell.name
        case float():
            said = fmt.quantity(cell)
        case int():
            said = fmt.count(cell)
        case _:
            said = str(cell)
    return said


_LATEX = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "{": r"\{",
        "}": r"\}",
        "%": r"\%",
        "&": r"\&",
        "#": r"\#",
        "$": r"\$",
        "_": r"\_",
        "^": r"\textasciicircum{}",
        "~": r"\textasciitilde{}",
        "<": "$<$",
        ">": "$>$",
        "`": r"\textasciigrave{}",
        "–": r"\textendash{}",
        "→": r"$\to$",
        "·": r"\textperiodcentered{}",
        "…": r"\ldots{}",
        "−": "$-$",
    }
)


def latex(text: str) -> str:
    """Text that LaTeX sets as it stands, on one line."""
    return re.sub("-(?=-)", "-{}", " ".join(text.split()).translate(_LATEX))  # two hyphens would be a dash


def _pipes(cells: Sequence[str]) -> str:
    return "| " + " | ".join(" ".join(cell.split()).replace("|", "\\|") for cell in cells) + " |"


_PARTS = ("", " low", " high", " problems")
"""What the columns of one cell are called."""


def _numbers(cell: Cell) -> list[object]:
    if isinstance(cell, Estimate):
        return [cell.value, cell.low, cell.high, cell.tasks]
    if isinstance(cell, PointsInterval):
        return [cell.value, cell.low, cell.high]
    if isinstance(cell, LongText):
        return [cell.text]
    return [cell.value] if isinstance(cell, PValue) else [cell]
