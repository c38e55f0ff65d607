"""The measurements of ``bench/``, from their own descriptions."""

from __future__ import annotations

from bench import commands
from tools.reference.markdown import page as as_page

ABOUT = """\
Every figure on these pages comes from `python -m bench NAME`; `python -m bench` lists the names. They run from a
checkout (`make test` sets the environment up) and print what they measure; nothing is written unless it says so.
Figures of one run may be compared with each other, not with those of another machine: of what is measured in
several ways, a row for each pair has the medians, and the median, least and largest of the rounds' ratios, in CPU
of all processes and by the wall. `make bench` runs two that need nothing but the package index."""


def page() -> str:
    """A section for each measurement."""
    return as_page("Measurements", ABOUT, *(_section(name, text) for name, text in commands().items()))


def _section(name: str, text: str) -> str:
    parts = [
        f"```text\n{_command(paragraph)}\n```" if paragraph.startswith("    ") else paragraph.replace("``", "`")
        for paragraph in text.split("\n\n")
    ]
    return "\n\n".join([f"## {name}", *parts])


def _command(paragraph: str) -> str:
    return "\n".join(line.removeprefix("    ") for line in paragraph.splitlines())
