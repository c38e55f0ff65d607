"""The pages under ``docs/reference``: written from the code, committed, and compared with it by a test."""

from __future__ import annotations

from pathlib import Path

from tools.reference import catalogues, commands, interface, records

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "reference"


def pages() -> dict[str, str]:
    """Every generated file, by its path below ``docs/reference``, as it must read now."""
    return {
        "cli.md": commands.page(),
        "python.md": interface.page(),
        "profiles.md": catalogues.profiles_page(),
        "benchmarks.md": catalogues.benchmarks_page(),
        "schemas.md": records.page(),
        "measurements.md": catalogues.measurements_page(),
        **{f"schemas/{name}": text for name, text in records.files().items()},
    }
