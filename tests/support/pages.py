"""Code of the documentation's pages, so that page and test cannot differ."""

from __future__ import annotations

import re
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"


def blocks(page: str, language: str, section: str = "") -> list[str]:
    """The fenced blocks of a language on a page below ``docs``, or in its part below the heading SECTION."""
    text = (DOCS / page).read_text(encoding="utf-8")
    if section:
        level, _, rest = re.split(rf"^(#+) ({re.escape(section)})$", text, maxsplit=1, flags=re.MULTILINE)[1:]
        text = re.split(rf"^#{{1,{len(level)}}} ", rest, maxsplit=1, flags=re.MULTILINE)[0]
    return re.findall(rf"^```{language}\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)
