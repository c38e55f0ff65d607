"""``report.html`` of an evolution: a self-contained page that makes no network requests."""

from __future__ import annotations

from pathlib import Path

from truegrade.evolution.reporting.apart_html import apart_section
from truegrade.evolution.reporting.budget_html import budget_section
from truegrade.evolution.reporting.final_html import final_section
from truegrade.evolution.reporting.front_html import front_section
from truegrade.evolution.reporting.genes_html import genes_section
from truegrade.evolution.reporting.lineage_html import lineage_section
from truegrade.evolution.reporting.methods_html import methods_section
from truegrade.evolution.reporting.objectives_html import objectives_section
from truegrade.evolution.reporting.overview_html import overview
from truegrade.evolution.reporting.problems_html import problems_section
from truegrade.evolution.reporting.search_material import SearchMaterial
from truegrade.report import format as fmt
from truegrade.report.markup import Child, Markup, el, join
from truegrade.report.page_parts import page
from truegrade.store.manifest import write_atomically

FILE = "report.html"
STYLES = ("evolution.css",)
_NAVIGATION = (
    ("result", "Result"),
    ("final", "Final"),
    ("front", "Front"),
    ("budget", "Budget"),
    ("problems", "Problems"),
    ("objectives", "Objectives"),
    ("lineage", "Lineage"),
    ("genes", "Genes"),
    ("apart", "Splits"),
    ("methods", "Methods"),
)


def write_report(material: SearchMaterial, path: Path | None = None) -> Path:
    """Write the page of an evolution, finished or not, and return its path.

    Args:
        material: of the evolution (`truegrade.evolution.reporting.search_material.gather`).
        path: of the page; None for ``report.html`` in its folder.
    """
    content = render(material).encode("utf-8", "replace")
    path = path or material.folder / FILE
    write_atomically(path, content)
    return path


def render(material: SearchMaterial) -> str:
    """The whole page; pure."""
    body = join(
        overview(material),
        final_section(material),
        front_section(material),
        budget_section(material),
        problems_section(material),
        objectives_section(material),
        lineage_section(material),
        genes_section(material),
        apart_section(material),
        methods_section(material),
    )
    evolution = material.evolution
    return page(f"{evolution.name} · {evolution.base}", _header(material, body), body, styles=STYLES)


def _header(material: SearchMaterial, body: Markup) -> Child:
    evolution = material.evolution
    links = (el("a", words, href=f"#{name}") for name, words in _NAVIGATION if f'<section id="{name}"' in body)
    done = "finished" if material.final is not None else "not finished"
    evaluations = fmt.plural(len(material.events), "evaluation")
    asked = f"{evolution.benchmark} · graded under {evolution.profile} · {evaluations} · {done}"
    return [
        el("p", "Truegrade evolution", class_="kicker"),
        el("h1", evolution.name, el("span", " · ", class_="dim"), evolution.base),
        el("p", asked, class_="asked"),
        el("nav", links, aria_label="Sections"),
    ]
