"""Charts put numbers where they belong, say them in words, and stand alone as files."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st
from report_parsing import StrictPage

from truegrade.errors import UserError
from truegrade.records import Estimate
from truegrade.report.charts.svg import (
    Chart,
    DotRow,
    HistogramLayer,
    Stack,
    dash,
    difference_rows,
    dot_range,
    heat_map,
    histogram,
    inline,
    interval_plot,
    number_axis,
    png,
    round_ticks,
    series,
    share_axis,
    stacked,
    standalone,
)
from truegrade.report.charts.svg_lines import Line, Point, lines, pass_curve


def an_estimate(metric: str, value: float, low: float | None, high: float | None) -> Estimate:
    return Estimate(metric=metric, value=value, low=low, high=high, method="m", samples=1, tasks=1, clusters=1)


HALF = an_estimate("pass@1", 0.5, 0.4, 0.6)
CHARTS = {
    "lines": lines(
        [Line(f"line {n}", [Point(1, n / 10, 0, 1), Point(5, 0.5)]) for n in range(8)],
        number_axis(1, 5, "k"),
        share_axis(title="share"),
        "lines",
    ),
    "curve": pass_curve([("a@1", [(k, HALF) for k in (1, 10, 100)])]),
    "dots": dot_range(
        [DotRow("a <b>", HALF), DotRow("b", an_estimate("m", 0.7, None, None), 1)], "dots", spread=True
    ),
    "differences": difference_rows([("MC - OC", -0.17, -0.24, -0.1), ("x", 0.0, None, None)], "differences"),
    "stacked": stacked([Stack("a@1", [("passed", 0.25, "passed"), ("killed", 0.5, "failed")])], "why"),
    "histogram": histogram([0, 1, 2, 3],
                           [HistogramLayer("p", [1, 0, 2], "passed"), HistogramLayer("f", [0, 4, 1], "failed")],
                           number_axis(0, 3, "s"), "time"),
    "heat": heat_map(["r", "long name"], ["one", "two"], [[0.0, None], [1.0, 0.5]], "heat"),
}  # fmt: skip


def numbers(drawn: str, attribute: str) -> list[float]:
    return [float(x) for x in re.findall(rf'\b{attribute}="(-?[\d.]+)%?"', drawn)]


def test_interval_lies_at_its_percentages() -> None:
    drawn = interval_plot(an_estimate("pass@1", 0.42, 0.348, 0.497), "strict@6")
    assert 'x="34.80%" width="14.90%"' in drawn
    assert 'cx="42.00%"' in drawn
    assert 'aria-label="strict@6: 42.0 % [34.8, 49.7]"' in drawn
    StrictPage(drawn)


def test_no_interval_draws_no_band() -> None:
    drawn = interval_plot(an_estimate("pass@1", 1.0, None, None), "p")
    assert "band" not in drawn
    assert "[no interval]" in drawn


def test_curve_is_logarithmic_in_k() -> None:
    points = [(k, HALF) for k in (1, 10, 100)]
    drawn = pass_curve([("a@1", points), ("b@1", points[:2])]).body
    assert numbers(drawn, "cx") == [0, 50, 100, 0, 50]
    assert numbers(drawn, "cy") == [120] * 5
    assert 'points="0.00,96.0 50.00,96.0 100.00,96.0 100.00,144.0 50.00,144.0 0.00,144.0"' in drawn


def test_curve_without_intervals_keeps_its_line() -> None:
    drawn = pass_curve([("a@1", [(k, an_estimate(f"pass@{k}", 0.5, None, None)) for k in (1, 2)])]).body
    assert "polygon" not in drawn
    assert 'class="line s0" x1="0.00%" y1="120.0" x2="100.00%" y2="120.0"' in drawn


def test_only_few_lines_have_bands_and_all_look_different() -> None:
    assert CHARTS["lines"].body.count("polygon") == 0  # one of two points has no interval
    banded = [Line(str(n), [Point(1, 0.5, 0.4, 0.6), Point(2, 0.5, 0.4, 0.6)]) for n in range(4)]
    assert lines(banded, number_axis(1, 2), share_axis(), "x").body.count("</polygon>") == 1
    assert lines(banded[:3], number_axis(1, 2), share_axis(), "x").body.count("</polygon>") == 3
    assert len({(series(n), dash(n)) for n in range(30)}) == 30


def test_histogram_stacks_its_layers() -> None:
    drawn = CHARTS["histogram"].body
    heights = [float(h) for h in re.findall(r'height="([\d.]+)"', drawn)]
    # the axis goes to 4, which is 150 px: 1, 4, 2 and 1 samples
    assert heights == [37.5, 150, 75, 37.5]
    assert numbers(drawn, "y")[-4:] == [112.5, 0, 75, 37.5]


def test_zoomed_axis_is_a_round_part() -> None:
    rows = [DotRow("a", an_estimate("m", 0.713, 0.66, 0.77)), DotRow("b", an_estimate("m", 0.744, 0.69, 0.79))]
    drawn = dot_range(rows, "spread", zoomed=True, spread=True).body
    assert re.findall(r">(\d+) %</text>", drawn) == ["65", "70", "75", "80"]
    assert 'class="spread" x="42.00%" width="20.67%"' in drawn


@given(st.floats(-1e6, 1e6), st.floats(1e-3, 1e6))
def test_ticks_are_round_few_and_hold_the_range(low: float, width: float) -> None:
    ticks = round_ticks(low, low + width, 5)
    assert ticks[0] <= low + 1e-6 * width
    assert ticks[-1] >= low + width * (1 - 1e-6) - 1e-6
    assert 2 <= len(ticks) <= 8


@given(st.floats(1e-4, 1e6), st.floats(1.5, 1e6))
def test_logarithmic_axes_have_ticks_inside(low: float, ratio: float) -> None:
    axis = number_axis(low, low * ratio, log=True)
    assert all(low <= value <= low * ratio for value, _ in axis.ticks)
    assert axis.place(low) == 0
    assert abs(axis.place(low * ratio) - 1) < 1e-9


@pytest.mark.parametrize("name", CHARTS)
def test_charts_are_labelled_images(name: str) -> None:
    chart = CHARTS[name]
    drawn = inline(chart)
    page = StrictPage(drawn)
    assert 'role="img"' in drawn
    assert chart.description
    assert f"<title>{chart.name}</title><desc>" in drawn
    assert "<b>" not in drawn
    assert "<one>" not in drawn
    assert page.tags.count("svg") >= 1


@pytest.mark.parametrize("name", CHARTS)
def test_files_are_xml_with_plain_colours(name: str) -> None:
    for scheme in ("light", "dark"):
        document = standalone(CHARTS[name], scheme=scheme)
        root = ET.fromstring(document)
        assert root.tag == "{http://www.w3.org/2000/svg}svg"
        assert "var(" not in document
        assert "http" not in document.replace('xmlns="http://www.w3.org/2000/svg"', "")
        for key in CHARTS[name].legend:
            assert key.name in document


def test_png_is_a_picture_or_says_what_is_missing() -> None:
    chart: Chart = CHARTS["dots"]
    try:
        import resvg_py  # noqa: F401
    except ImportError:
        with pytest.raises(UserError, match=r"pip install 'truegrade\[png\]'"):
            png(standalone(chart))
    else:
        assert png(standalone(chart)).startswith(b"\x89PNG")


def test_long_names_stand_above_their_numbers_so_that_a_phone_shows_both():
    long = "humaneval-openai-gpt-4o-mini-afcba9aa − humaneval-openai-gpt-4o-12345678"
    one, two = (difference_rows([(name, 0.1, 0.0, 0.2)], "differences") for name in ("a − b", long))
    assert two.height > one.height
    assert "humaneval-openai-gpt-…" in two.body and "gpt-4o-12345678<" in two.body
    assert long in two.description and f"<title>{long}: +10.0 [0.0, 20.0]</title>" in two.body


def test_the_line_at_zero_keeps_off_the_labels():
    body = difference_rows([("MC - OC", -0.373, -0.503, -0.236), ("MR - OR", 0.2, 0.1, 0.3)], "differences").body
    labels = [float(y) for y in re.findall(r'class="name"[^>]* y="([\d.]+)"', body)]
    lines = re.findall(r'class="zero"[^>]* y1="([\d.]+)" y2="([\d.]+)"', body)
    assert len(labels) == len(lines) == 2
    assert all(not float(top) < y - 4 < float(bottom) for y in labels for top, bottom in lines)
