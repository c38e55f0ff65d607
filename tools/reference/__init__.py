"""The pages under ``docs/reference``: written from the code, committed, and compared with it by a test."""

from __future__ import annotations

from pathlib import Path

from tools.reference import benches, commands, interface, records, rules, tasks

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "reference"


def pages() -> dict[str, str]:
    """Every generated file, by its path below ``docs/reference``, as it must read now."""
    return {
        "cli.md": commands.page(),
        "python.md": interface.page(),
        "profiles.md": rules.page(),
        "benchmarks.md": tasks.page(),
        "schemas.md": records.page(),
        "measurements.md": benches.page(),
        **{f"schemas/{name}": text for name, text in records.files().items()},
    }
