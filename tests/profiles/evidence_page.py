"""The parts of ``docs/evidence.md`` that programs write, each between two comments."""

from __future__ import annotations

from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "evidence.md"
END = "<!-- end -->\n"


def replaced(page: str, name: str, text: str) -> str:
    """The page with TEXT as the part NAME.

    Raises:
        ValueError: if the page has no such part.
    """
    before, begin, rest = page.partition(f"<!-- {name} -->\n")
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise ValueError(f"{PAGE} has no part {name!r}")
    return f"{before}{begin}{text}{end}{after}"


def write_part(name: str, text: str) -> None:
    """Write the part NAME of the page anew."""
    PAGE.write_text(replaced(PAGE.read_text(), name, text))
