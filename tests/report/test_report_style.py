"""The page can be read: contrast of every text colour, on both papers, in light and in dark."""

from __future__ import annotations

import re
from importlib.resources import files

import pytest

CSS = files("truegrade.report").joinpath("assets", "report.css").read_text(encoding="utf-8")
COLOURS = {name: pair for name, *pair in re.findall(r"--([\w-]+): light-dark\((#\w{6}), (#\w{6})\)", CSS)}
TEXT = ("ink", "soft", "accent", "amber", "red", "violet")


def luminance(colour: str) -> float:
    """Relative luminance as WCAG 2.2 defines it."""
    channels = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    """Contrast ratio as WCAG 2.2 defines it."""
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize("text", TEXT)
def test_text_stands_out(text: str, scheme: int) -> None:
    for paper in ("paper", "card"):
        assert contrast(COLOURS[text][scheme], COLOURS[paper][scheme]) >= 4.5


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_warnings_stand_out(scheme: int) -> None:
    for text in ("ink", "amber"):
        assert contrast(COLOURS[text][scheme], COLOURS["amber-soft"][scheme]) >= 4.5


def test_every_colour_that_is_used_exists() -> None:
    defined = set(re.findall(r"--([\w-]+):", CSS)) | {"p"}
    assert set(re.findall(r"var\(--([\w-]+)\)", CSS)) <= defined
