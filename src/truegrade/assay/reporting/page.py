"""``report.html`` of an assay: a self-contained page that makes no network requests."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from truegrade.assay.reporting.channels_html import channels_section, shortest_section
from truegrade.assay.reporting.closing_html import findings_section, methods_section, repeat_section
from truegrade.assay.reporting.material import AssayMaterial
from truegrade.assay.reporting.measures_html import (
    classes_section,
    headline_section,
    meaning_section,
    problems_section,
)
from truegrade.assay.reporting.survivors_html import other_errors_section, refused_section, survivors_section
from truegrade.assay.reporting.words import TERMS
from truegrade.report import format as fmt
from truegrade.report.glossary import terms_section
from truegrade.report.markup import Child, Markup, el, join
from truegrade.report.page_parts import page
from truegrade.store.manifest import write_atomically

STYLES = ("assay.css",)
_SECTIONS: tuple[tuple[str, str, Callable[[AssayMaterial], Markup]], ...] = (
    ("result", "Result", headline_section),
    ("meaning", "What it means", meaning_section),
    ("classes", "Classes", classes_section),
    ("problems", "Problems", problems_section),
    ("channels", "Channels", channels_section),
    ("shortest", "Shortest paid", shortest_section),
    ("survivors", "Wrong, accepted", survivors_section),
    ("refused", "Right, refused", refused_section),
    ("others", "Impossible, flaky", other_errors_section),
    ("findings", "Findings", findings_section),
    ("methods", "Assumptions", methods_section),
    ("repeat", "Repeat", repeat_section),
    ("glossary", "Terms", lambda _: terms_section(TERMS)),
)
"""Anchor, its name in the navigation, and what makes the section."""


def write_assay_page(material: AssayMaterial, path: Path) -> Path:
    """Write the page of an assay and return its path.

    Args:
        material: of the assay (`truegrade.assay.reporting.material.gather`).
        path: of the page.
    """
    write_atomically(path, render_assay(material).encode("utf-8", "replace"))
    return path


def render_assay(material: AssayMaterial) -> str:
    """The whole page; pure."""
    body = join(*(make(material) for _, _, make in _SECTIONS))
    return page(f"Assay · {_subject(material)}", _header(material, body), body, styles=STYLES)


def _subject(material: AssayMaterial) -> str:
    """Graders and benchmarks, the first of many."""
    measures = material.summary.measures
    names = ({measure.grader: None for measure in measures}, {measure.benchmark: None for measure in measures})
    return " on ".join(
        ", ".join([*each][:2]) + (f" and {len(each) - 2} more" if len(each) > 2 else "") for each in names
    )


def _header(material: AssayMaterial, body: Markup) -> Child:
    links = (el("a", shown, href=f"#{name}") for name, shown, _ in _SECTIONS if f'<section id="{name}"' in body)
    battery = material.summary.battery
    probes = ", ".join(f"{fmt.count(number)} {kind}" for kind, number in battery.items() if number)
    return [
        el("p", "Truegrade assay", class_="kicker"),
        el("h1", _subject(material)),
        el(
            "p",
            "How often a grader is wrong, measured with programs whose correctness is known.",
            class_="measured",
        ),
        el("p", f"{fmt.plural(sum(battery.values()), 'probe')}: {probes}", class_="asked"),
        el("nav", links, aria_label="Sections"),
    ]
