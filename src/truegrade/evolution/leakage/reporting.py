"""What an experiment found: two figures, and a table in Markdown and for the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from truegrade.evolution.leakage.summary import ArmFound, LeakResults
from truegrade.report.charts.svg import Axis, Chart, number_axis
from truegrade.report.charts.svg_file import standalone
from truegrade.report.charts.svg_lines import Line, Point, lines
from truegrade.report.exhibit_text import as_markdown
from truegrade.report.exhibits import Exhibit
from truegrade.report.tables import open_console, plain_table, row
from truegrade.store.manifest import write_atomically

FIGURE, REPEATS, TABLE = "figure.svg", "repeats.svg", "table.md"
HEAD = (
    "planted",
    "times each",
    "trainings",
    "remembered",
    "known in truth",
    "estimate",
    "holds truth",
    "holds planted",
    "detected",
    "detection rate",
    "originals right",
    "changed right",
    "reverted",
)
SHOWN = 9
"""Columns that a terminal has room for."""
CAPTION = (
    "In percent, means over trainings. Remembered: of planted originals that skill cannot answer, those answered"
    " rightly; known in truth: the same as a share of all originals that skill cannot answer. Estimate: of the"
    " share known by heart, with a 95 % t interval over trainings; holds truth, planted: trainings whose own 95 %"
    " interval holds that share; detected: p at most 0.05, with Wilson's 95 % interval"
)
LIMITS = (
    "This is a model of 0.9 million parameters that is fine-tuned on generated repairs, three in five of which"
    " skill cannot answer. It shows whether the method recovers what memory does, and says nothing about how many"
    " repeats a large model needs to remember a problem."
)


def write_pages(folder: Path, results: LeakResults) -> Path:
    """Write the figures and the table; the path of the first figure."""
    shown = Exhibit(slug="leakage", caption=CAPTION, head=HEAD, rows=[list(_cells(arm)) for arm in results.arms])
    text = as_markdown(shown) + "".join(f"\n{line}\n" for line in alarm_lines(results))
    write_atomically(folder / TABLE, text.encode())
    for name, chart in ((FIGURE, dose_curve(results)), (REPEATS, repeats_curve(results))):
        write_atomically(folder / name, standalone(chart).encode())
    return folder / FIGURE


def print_results(results: LeakResults) -> None:
    """Print a line an arm, without the last columns of the file, and the false alarms."""
    out, shown = open_console(None), plain_table(*HEAD[:SHOWN])
    for arm in results.arms:
        row(shown, *_cells(arm)[:SHOWN])
    out.print(shown)
    for line in (CAPTION, *alarm_lines(results), LIMITS):
        out.print(line)


def alarm_lines(results: LeakResults) -> list[str]:
    """The false alarms of the arm without a leak, in a sentence."""
    return [
        f"False alarms where nothing is planted: {arm.detected} of {len(arm.trainings)} trainings;"
        f" {arm.redraw_alarms} of {arm.redraws} ({100 * arm.redraw_alarms / arm.redraws:.1f} %) where each of"
        " their models is looked at as if other problems of its pairs had been published."
        for arm in results.arms
        if arm.redraws
    ]


def dose_curve(results: LeakResults) -> Chart:
    """The estimate against what was planted, at the usual number of repeats; shaded: all trainings."""
    usual = {0, results.settings.repeats}
    arms = sorted((arm for arm in results.arms if arm.repeats in usual), key=lambda arm: arm.dose)
    found = _points([(100 * arm.dose, arm) for arm in arms])
    planted = Line("planted", [Point(0, 0), Point(100, 100)])
    truth = Line("known in truth", [Point(100 * arm.dose, 100 * (arm.mean("truth") or 0.0)) for arm in arms])
    name = f"Estimated share known by heart against the share planted {results.settings.repeats} times, %"
    axis = number_axis(0, 100, "planted, % of the originals")
    return lines([Line("estimate", found), truth, planted], axis, _heights(found), name)


def repeats_curve(results: LeakResults) -> Chart:
    """The estimate, and what is right of the planted originals, against how often each was seen."""
    dose = results.settings.others_dose
    arms = sorted((arm for arm in results.arms if arm.dose == dose and dose), key=lambda arm: arm.repeats)
    found = _points([(arm.repeats, arm) for arm in arms])
    last = max([arm.repeats for arm in arms], default=1)
    planted = Line("planted", [Point(0, 100 * dose), Point(last, 100 * dose)])
    truth = Line("known in truth", [Point(arm.repeats, 100 * (arm.mean("truth") or 0.0)) for arm in arms])
    name = f"Estimated share known by heart, %, where {100 * dose:g} % is planted, against how often each was seen"
    drawn = [Line("estimate", found), truth, planted]
    return lines(drawn, number_axis(0, last, "times each"), _heights(found), name)


def _heights(points: Sequence[Point]) -> Axis:
    lows = [point.low if point.low is not None else point.y for point in points]
    return number_axis(min([0.0, *lows]), 100, "%")


def _points(arms: Sequence[tuple[float, ArmFound]]) -> list[Point]:
    points = []
    for x, arm in arms:
        known = [100 * one.estimate.known for one in arm.trainings if one.estimate.known is not None]
        if known:
            points.append(Point(x, sum(known) / len(known), min(known), max(known)))
    return points


def _cells(arm: ArmFound) -> list[str]:
    size, known = len(arm.trainings), arm.known
    ends = "" if known is None or known.low is None or known.high is None else (
        f" [{100 * known.low:.1f}, {100 * known.high:.1f}]"
    )  # fmt: skip
    rate = f"{100 * arm.detected / size:.0f} [{100 * arm.detection_low:.0f}, {100 * arm.detection_high:.0f}]"
    return [
        f"{100 * arm.dose:g}",
        str(arm.repeats) if arm.dose else "–",
        str(size),
        _mean(arm, "remembered"),
        _mean(arm, "truth"),
        "–" if known is None else f"{100 * known.mean:.1f}{ends}",
        f"{arm.holds_truth} of {size}",
        f"{arm.holds} of {size}",
        f"{arm.detected} of {size}",
        rate,
        *(_mean(arm, name) for name in ("original_rate", "changed_rate", "reversion_rate")),
    ]


def _mean(arm: ArmFound, name: str) -> str:
    mean = arm.mean(name)
    return "–" if mean is None else f"{100 * mean:.1f}"
