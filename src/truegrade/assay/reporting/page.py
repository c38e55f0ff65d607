"""``report.html`` of an assay: a self-contained page that makes no network requests."""

from __future__ import annotations

from pathlib import Path

from truegrade.assay.reporting.channels_html import channels_section, shortest_section
from truegrade.assay.reporting.closing_html import findings_section, methods_section, repeat_section
from truegrade.assay.reporting.headline_html import headline_section, meaning_section
from truegrade.assay.reporting.material import AssayMaterial
from truegrade.assay.reporting.problems_html import classes_section, problems_section
from truegrade.assay.reporting.survivors_html import other_errors_section, refused_section, survivors_section
from truegrade.assay.reporting.terms import TERMS
from truegrade.report import format as fmt
from truegrade.report.glossary import terms_section
from truegrade.report.markup import Child, Markup, el, join
from truegrade.report.page_parts import page
from truegrade.store.manifest import write_atomically

STYLES = ("assay.css",)
_NAVIGATION = (
    ("result", "Result"),
    ("meaning", "What it means"),
    ("classes", "Classes"),
    ("problems", "Problems"),
    ("channels", "Channels"),
    ("shortest", "Shortest paid"),
    ("survivors", "Wrong, accepted"),
    ("refused", "Right, refused"),
    ("others", "Impossible, flaky"),
    ("findings", "Findings"),
    ("methods", "Assumptions"),
    ("repeat", "Repeat"),
    ("glossary", "Terms"),
)


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
    body = join(
        headline_section(material),
        meaning_section(material),
        classes_section(material),
        problems_section(material),
        channels_section(material),
        shortest_section(material),
        survivors_section(material),
        refused_section(material),
        other_errors_section(material),
        findings_section(material),
        methods_section(material),
        repeat_section(material),
        terms_section(TERMS),
    )
    return page(f"Assay · {_subject(material)}", _header(material, body), body, styles=STYLES)


def _subject(material: AssayMaterial) -> str:
    """Graders and benchmarks, the first of many."""
    measures = material.summary.measures
    graders = list(dict.fromkeys(measure.grader for measure in measures))
    benchmarks = list(dict.fromkeys(measure.benchmark for measure in measures))
    return f"{_first(graders)} on {_first(benchmarks)}"


def _first(names: list[str]) -> str:
    return ", ".join(names[:2]) + (f" and {len(names) - 2} more" if len(names) > 2 else "")


def _header(material: AssayMaterial, body: Markup) -> Child:
    links = (el("a", shown, href=f"#{name}") for name, shown in _NAVIGATION if f'<section id="{name}"' in body)
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
