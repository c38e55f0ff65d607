"""Summary of an evolution for the terminal and as Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from truegrade.evolution.live import described
from truegrade.evolution.reporting.page import final_table, label
from truegrade.evolution.reporting.search_material import SearchMaterial
from truegrade.evolution.reporting.verdict import contenders, verdict
from truegrade.report import format as fmt
from truegrade.report.document import Cautions, Cell, Prose, Table
from truegrade.report.terminal import print_parts
from truegrade.report.text_files import as_markdown

if TYPE_CHECKING:
    from rich.console import Console


def print_summary(material: SearchMaterial, console: Console | None = None) -> None:
    """Print the conclusion, the comparison and the warnings."""
    judged = verdict(material)
    title = f"{material.evolution.name} · {material.evolution.base}: {judged.title}"
    selected = (
        Prose(text=f"{label(each, one)}: {described(each.genome)}", tone="remark")
        for one in contenders(material)
        for each in one.selected
    )
    print_parts(
        Prose(lead=title),
        *(Prose(text=sentence) for sentence in judged.sentences),
        *tables(material),
        *selected,
        Cautions([Prose(text=doubt) for doubt in judged.doubts]),
        console=console,
    )


def markdown_summary(material: SearchMaterial) -> str:
    """The same as Markdown."""
    judged = verdict(material)
    parts = [
        f"## {material.evolution.name} · {material.evolution.base}",
        f"**{judged.title}.**",
        "\n".join(f"- {sentence}" for sentence in judged.sentences),
        *(as_markdown(exhibit).rstrip() for exhibit in tables(material)),
        "\n".join(f"> {doubt}" for doubt in judged.doubts),
    ]
    return "\n\n".join(filter(None, parts)) + "\n"


def tables(material: SearchMaterial) -> list[Table]:
    """The final comparison, or the progress of the searches."""
    return [_so_far(material) if material.final is None else final_table(material)]


def _so_far(material: SearchMaterial) -> Table:
    name = material.headline
    rows: list[list[Cell]] = []
    base = material.anchor("base")
    if base is not None:
        rows.append(["base", "–", fmt.quantity(base.scores.objectives[name]), "–", "–"])
    for track in material.tracks:
        front = track.archive.front
        best = max((one.scores.objectives[name] for one in front), default=None)
        rows.append(
            [
                f"{track.plan.name} #{track.replicate + 1}",
                fmt.count(len(track.events)),
                "–" if best is None else fmt.quantity(best),
                fmt.count(len(front)),
                fmt.quantity(track.archive.volume),
            ]
        )
    head = ("search", "evaluated", f"best {name}", "front", "hypervolume")
    return Table(
        slug="progress",
        caption="On the selection problems (optimistic, because genomes are selected by them)",
        head=head,
        rows=rows,
    )
