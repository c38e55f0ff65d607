"""The page of the viewer, put together of its own assets and those of the reports, so that both look the same."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from truegrade.report.charts.svg import asset

_STYLES = ("colours.css", "chart.css", "report.css", "browser.css")
_SCRIPTS = ("theme.js", "detail.js")
_OWN_SCRIPTS = (
    "asking.js",
    "numbers.js",
    "runs.js",
    "samples.js",
    "run.js",
    "compare.js",
    "others.js",
    "routes.js",
)


@cache
def frame() -> str:
    """The HTML that the script fills."""
    return _own("page.html")


@cache
def style() -> str:
    """The style sheet of the reports, then the viewer's own."""
    return "\n".join((*map(asset, _STYLES), _own("viewing.css")))


@cache
def script() -> str:
    """What the reports' pages share, then the viewer's own, in the order they need each other."""
    return "\n".join((*map(asset, _SCRIPTS), *map(_own, _OWN_SCRIPTS)))


def _own(name: str) -> str:
    return files("truegrade.web.viewer").joinpath("assets", name).read_text(encoding="utf-8")
