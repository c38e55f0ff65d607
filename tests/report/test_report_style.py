"""The page can be read: contrast of every text on every ground, and series that colour-blind people can tell."""

from __future__ import annotations

import re
from itertools import combinations

import pytest

from truegrade.report.charts.svg import asset, colours, resolved

STYLES = "".join(map(asset, ("colours.css", "chart.css", "report.css", "browser.css")))
TEXT = ("ink", "soft", "accent", "vermilion", "green", "purple", "amber", "slate")
SERIES = ("accent", "vermilion", "green", "purple", "amber", "slate")
SCHEMES = ("light", "dark")
# Machado, Oliveira and Fernandes (2009), severity 1, on linear RGB
BLINDNESS = {
    "protan": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "deutan": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
}


def linear(colour: str) -> list[float]:
    """Linear RGB of ``#rrggbb`` as WCAG 2.2 defines it."""
    channels = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    return [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]


def luminance(colour: str) -> float:
    red, green, blue = linear(colour)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    """Contrast ratio as WCAG 2.2 defines it."""
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def lab(rgb: list[float]) -> tuple[float, float, float]:
    """CIELAB (D65) of linear RGB."""
    weights = ((0.4124, 0.3576, 0.1805), (0.2126, 0.7152, 0.0722), (0.0193, 0.1192, 0.9505))
    white = (0.95047, 1.0, 1.08883)
    scaled = [sum(w * c for w, c in zip(row, rgb, strict=True)) / n for row, n in zip(weights, white, strict=True)]
    x, y, z = (t ** (1 / 3) if t > 0.008856 else 7.787 * t + 16 / 116 for t in scaled)
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def seen(colour: str, blindness: str) -> tuple[float, float, float]:
    rgb = linear(colour)
    return lab([min(1, max(0, sum(w * c for w, c in zip(row, rgb, strict=True)))) for row in BLINDNESS[blindness]])


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("text", TEXT)
def test_text_stands_out(text: str, scheme: str) -> None:
    known = colours(scheme)
    for ground in ("paper", "card"):
        assert contrast(known[text], known[ground]) >= 4.5


@pytest.mark.parametrize("scheme", SCHEMES)
def test_text_on_other_grounds_stands_out(scheme: str) -> None:
    known = colours(scheme)
    pairs = [("ink", "amber-soft"), ("amber", "amber-soft"), ("accent", "amber-soft"), ("ink", "mark")]
    # a row chosen in the list: name, line and badge; the number in a heat map's dark cell
    pairs += [(text, "blank") for text in ("ink", "soft", "accent", "vermilion", "purple", "slate")]
    for text, ground in [*pairs, ("card", "accent")]:
        assert contrast(known[text], known[ground]) >= 4.5, (text, ground)


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("blindness", BLINDNESS)
def test_outcomes_and_first_series_are_told_apart_without_red_or_green(scheme: str, blindness: str) -> None:
    known = colours(scheme)
    for group in (("accent", "vermilion", "slate", "purple"), ("accent", "vermilion", "green")):
        for one, other in combinations(group, 2):
            apart = zip(seen(known[one], blindness), seen(known[other], blindness), strict=True)
            assert sum((a - b) ** 2 for a, b in apart) ** 0.5 > 10, (one, other)


def test_every_colour_that_is_used_exists() -> None:
    defined = set(re.findall(r"--([\w-]+):", STYLES)) | {"p"}
    assert set(re.findall(r"var\(--([\w-]+)\)", STYLES)) <= defined


def test_charts_in_files_need_no_variables() -> None:
    for scheme in SCHEMES:
        style = resolved(asset("chart.css"), scheme)
        assert "var(" not in style
        assert not re.search(r"color-mix|light-dark|calc\(", style)
