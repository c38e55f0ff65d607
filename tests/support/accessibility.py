"""What axe-core finds wrong with a page in a real browser, and what is wider than its window."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from typing import Any

import pytest

GRAVE = frozenset({"serious", "critical"})
ALSO = frozenset({"landmark-unique", "empty-table-header", "heading-order"})
"""Rules of a lower impact that the pages keep too."""
STATES = ((360, "light"), (1280, "dark"))
"""Widths in pixels and themes. No colour depends on the width, so the other two pairs would find nothing new."""
OPEN_ALL = "document.querySelectorAll('details').forEach(node => { node.open = true })"
THIN_OUT = """
for (const repeated of ['tbody tr', '.columns span', '.strip i', 'svg.chart circle', 'svg.chart path'])
  document.querySelectorAll(`${repeated}:nth-of-type(n+4)`).forEach(node => node.remove())
"""
"""Axe takes seconds over a thousand rows and marks, of which each is like the one before."""
RUN = "() => axe.run(document, {resultTypes: ['violations']}).then(found => found.violations)"


@contextmanager
def unguarded_window(chromium: Any) -> Iterator[Any]:
    """A page of playwright's that lets axe in, which the policy of the pages would not."""
    context = chromium.new_context(bypass_csp=True)
    yield context.new_page()
    context.close()


def findings(window: Any) -> list[str]:
    """Every grave finding on the open page, narrow and light, wide and dark, with all that folds unfolded."""
    axe = pytest.importorskip("axe_playwright_python", reason="axe-playwright-python is not installed")
    window.evaluate((files(axe) / "axe.min.js").read_text("utf-8"))
    window.evaluate(OPEN_ALL)
    window.evaluate(THIN_OUT)
    found = []
    for width, theme in STATES:
        window.set_viewport_size({"width": width, "height": 800})
        window.emulate_media(color_scheme=theme)
        if window.evaluate("document.documentElement.scrollWidth") > width:
            found.append(f"{width} {theme}: the page is wider than the window")
        found += [
            f"{width} {theme}: {rule['id']} ({rule['impact']}): {rule['nodes'][0]['html'][:200]}"
            for rule in window.evaluate(RUN)
            if rule["impact"] in GRAVE or rule["id"] in ALSO
        ]
    return found
