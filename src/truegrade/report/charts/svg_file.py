"""Charts as files: SVG that any reader draws alike, and PNG of it."""

from __future__ import annotations

from truegrade.errors import UserError
from truegrade.report.charts.palette import Scheme, asset, resolved
from truegrade.report.charts.svg import CHAR_PX, KEY_WIDTH_PX, Chart, Key, key_mark
from truegrade.report.markup import Markup, el, join

WIDTH_PX = 640
FONT = "system-ui, 'Noto Sans', 'DejaVu Sans', Arial, sans-serif"
PNG_SCALE = 2
"""Pixels of a PNG for each of the SVG: sharp in print at the width of a column."""


def standalone(chart: Chart, *, width: int = WIDTH_PX, scheme: Scheme = "light", background: bool = True) -> str:
    """The whole SVG document of a chart.

    Args:
        chart: what to draw.
        width: of the picture, in pixels.
        scheme: light or dark colours.
        background: paint the card's colour under the chart; else it is transparent.
    """
    room = chart.margin
    key_rows = _legend(chart.legend, width - room.left - room.right)
    height = room.top + chart.height + room.bottom + 20 * len(key_rows)
    style = resolved(asset("chart.css"), scheme) + f"text {{ font-family: {FONT}; }}"
    plot = {"x": room.left, "y": room.top, "width": width - room.left - room.right, "height": chart.height}
    keys = (
        el("g", row, transform=f"translate({room.left} {room.top + chart.height + room.bottom + 20 * place})")
        for place, row in enumerate(key_rows)
    )
    return el(
        "svg",
        el("title", chart.name),
        el("desc", chart.description),
        el("style", Markup(style)),
        el("rect", width=width, height=height, fill=_paper(scheme)) if background else None,
        el("svg", chart.body, overflow="visible", **plot),
        keys,
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {width} {height}",
        width=width,
        height=height,
        role="img",
    )


def png(svg: str) -> bytes:
    """A picture of an SVG document, `PNG_SCALE` times its size.

    resvg draws it: a wheel of 3 MB without dependencies. A browser would be 414 MB; cairosvg needs the system's
    cairo.

    Raises:
        UserError: resvg is not installed.
    """
    try:
        import resvg_py
    except ImportError:
        message = "PNG needs resvg-py: pip install 'truegrade[png]', or use `file_format` svg"
        raise UserError(message) from None
    return bytes(resvg_py.svg_to_bytes(svg_string=svg, zoom=PNG_SCALE))


def _legend(keys: tuple[Key, ...], width: int) -> list[Markup]:
    """The keys of the series, as many in a line as fit."""
    if len(keys) < 2:
        return []
    rows: list[list[Markup]] = [[]]
    left = 0
    for key in keys:
        needed = KEY_WIDTH_PX + 24 + round(CHAR_PX * len(key.name))
        if rows[-1] and left + needed > width:
            rows.append([])
            left = 0
        rows[-1].append(key_mark(key, left))
        rows[-1].append(el("text", key.name, class_="name", x=left + KEY_WIDTH_PX + 6, y=11))
        left += needed
    return [join(row) for row in rows]


def _paper(scheme: Scheme) -> str:
    return resolved("var(--card)", scheme)
