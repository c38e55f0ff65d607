"""Photographs the head of a report for the README: ``python -m tools.picture PAGE``, by Debian's chromium.

PAGE is a ``report.html``; the pictures are ``docs/figures/report-light.png`` and ``report-dark.png``.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "figures"
WIDTH, HEIGHT = 1000, 760
"""Of the window, in pixels."""


def photograph(page: Path) -> None:
    """Write both pictures.

    Raises:
        SystemExit: chromium or playwright is not installed.
    """
    executable = shutil.which("chromium")
    if executable is None:
        raise SystemExit("chromium is not installed: make browser")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as engine:
        browser = engine.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        for theme in ("light", "dark"):
            context = browser.new_context(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme=theme)
            window = context.new_page()
            window.goto(page.resolve().as_uri())
            window.screenshot(path=FOLDER / f"report-{theme}.png")
        browser.close()


if __name__ == "__main__":
    photograph(Path(sys.argv[1]))
