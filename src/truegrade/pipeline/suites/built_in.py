"""The suites that come with the package: the TOML files in this folder."""

from __future__ import annotations

from pathlib import Path

from truegrade.pipeline.suites import read_suite

_FOLDER = Path(__file__).parent

QUICK = read_suite(_FOLDER / "quick.toml")
CLASSIC = read_suite(_FOLDER / "classic.toml")
TODAY = read_suite(_FOLDER / "today.toml")
