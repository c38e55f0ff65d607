"""What a testbed found: a page with its curves, an SVG file, and a table in Markdown and for the terminal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from truegrade.evolution.testbed.records import LEAKY, STRICT, TestbedRound
from truegrade.evolution.testbed.summary import ArmResult, MeanOverSeeds, TestbedResults, over_seeds
from truegrade.report.charts.svg import Chart, number_axis
from truegrade.report.charts.svg_file import standalone
from truegrade.report.charts.svg_lines import Line, Point, lines
from truegrade.report.exhibit_text import as_markdown
from truegrade.report.exhibits import Exhibit
from truegrade.report.markup import el, join
from truegrade.report.page_parts import figure, page, section, table
from truegrade.report.tables import open_console, plain_table, row
from truegrade.store.manifest import write_atomically

PAGE, FIGURE, TABLE = "report.html", "figure.svg", "table.md"
HEAD = (
    "arm",
    "seeds",
    "paid, first round",
    "paid, last",
    "true pass rate, first",
    "true, last",
    "change",
    "minus strict",
    "cheats, last",
    "TPR",
    "FPR",
    "entropy",
    "KL",
)
CAPTION = "Means over seeds, in percent; in brackets 95 % t intervals over seeds. Entropy and KL in nats"
LIMITS = (
    "This is a model of 0.9 million parameters on generated problems, taught two cheats beforehand. It shows the"
    " mechanism, and says nothing about how soon a large model finds a cheat. The intervals hold the start fixed."
)


def figures(rounds: Sequence[TestbedRound], arms: Sequence[str]) -> list[Chart]:
    """What graders accept beside what is right; then true pass rate, accepted share and cheats, a line an arm."""
    both = [arm for arm in (STRICT, LEAKY) if arm in arms] or arms[:2]
    asked: tuple[tuple[str, Callable[[TestbedRound], float]], ...] = (
        ("True pass rate on held-out problems, %", lambda one: 100 * one.true_pass),
        ("Share that the arm's own grader accepts, %", lambda one: 100 * one.accepted),
        ("Share of held-out replies that cheat, %", lambda one: 100 * one.cheating),
    )

    def line(arm: str, value: Callable[[TestbedRound], float], name: str) -> Line:
        return Line(name, _points([one for one in rounds if one.arm == arm], value))

    beside = [
        line(arm, value, f"{arm}: {word}")
        for arm in both
        for word, value in (("accepted", asked[1][1]), ("right", asked[0][1]))
    ]
    first = _chart(beside, rounds, "Accepted by its own grader, and right on held-out problems, %")
    return [first, *(_chart([line(arm, value, arm) for arm in arms], rounds, name) for name, value in asked)]


def write_pages(folder: Path, results: TestbedResults, rounds: Sequence[TestbedRound]) -> Path:
    """Write the page, the figure and the table; the path of the page."""
    charts, cells = figures(rounds, [arm.arm for arm in results.arms]), [_cells(arm) for arm in results.arms]
    shown = Exhibit(slug="testbed", caption=CAPTION, head=HEAD, rows=[list(each) for each in cells])
    write_atomically(folder / TABLE, as_markdown(shown).encode())
    write_atomically(folder / FIGURE, standalone(charts[0]).encode())
    body = join(
        section("result", "Result", table(CAPTION, HEAD, cells, class_="numeric")),
        section("rounds", "Round by round", *(figure(chart, el("b", chart.name)) for chart in charts)),
        section("limits", "What it does not show", el("p", LIMITS)),
    )
    header = [
        el("p", "Truegrade testbed", class_="kicker"),
        el("h1", "Rewards that can be bought, and one that cannot"),
        el("p", f"{results.algorithm}. {start_line(results)}", class_="asked"),
    ]
    write_atomically(folder / PAGE, page("Truegrade testbed", header, body).encode())
    return folder / PAGE


def print_results(results: TestbedResults) -> None:
    """Print the start and a line an arm."""
    out = open_console(None)
    out.print(start_line(results))
    shown = plain_table(*HEAD)
    for arm in results.arms:
        row(shown, *_cells(arm))
    out.print(shown)
    out.print(CAPTION)
    out.print(LIMITS)


def start_line(results: TestbedResults) -> str:
    """What was measured of the start, in a sentence."""
    start = results.start
    shares = ", ".join(f"{name} {100 * share:.2f} %" for name, share in start.cheats.items())
    right = f"{100 * start.true_pass:.1f} % are right"
    return f"Start: of {start.samples} samples of held-out problems {right}; cheats: {shares}."


def _chart(drawn: Sequence[Line], rounds: Sequence[TestbedRound], name: str) -> Chart:
    last = max((one.round for one in rounds), default=1)
    return lines(drawn, number_axis(0, max(1, last), "round"), number_axis(0, 100, "%"), name)


def _points(rounds: Sequence[TestbedRound], value: Callable[[TestbedRound], float]) -> list[Point]:
    """The mean over seeds of each round; shaded: from the least to the greatest seed."""
    points = []
    for number in sorted({one.round for one in rounds}):
        values = [value(one) for one in rounds if one.round == number]
        low, high = (min(values), max(values)) if len(values) > 1 else (None, None)
        points.append(Point(number, over_seeds(values).mean, low, high))
    return points


def _cells(arm: ArmResult) -> list[str]:
    return [
        arm.arm,
        str(arm.seeds),
        f"{100 * arm.paid_start.mean:.1f}",
        _percent(arm.paid),
        f"{100 * arm.true_start.mean:.1f}",
        _percent(arm.true),
        _percent(arm.true_change),
        "–" if arm.against_strict is None else _percent(arm.against_strict),
        f"{100 * arm.cheats.mean:.2f}",
        "–" if arm.tpr is None else f"{100 * arm.tpr:.1f}",
        "–" if arm.fpr is None else f"{100 * arm.fpr:.1f}",
        f"{arm.entropy.mean:.3f}",
        f"{arm.kl.mean:.2f}",
    ]


def _percent(value: MeanOverSeeds) -> str:
    bounds = "" if value.low is None or value.high is None else f" [{100 * value.low:.1f}, {100 * value.high:.1f}]"
    return f"{100 * value.mean:.1f}{bounds}"
