"""``report.html`` of an assay: a self-contained page that makes no network requests."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from truegrade.apps.assay.records import AssayFinding
from truegrade.apps.assay.reporting import measures_html, survivors_html
from truegrade.apps.assay.reporting.material import AssayMaterial
from truegrade.apps.assay.reporting.words import TERMS
from truegrade.report import format as fmt
from truegrade.report.document import Document, Prose
from truegrade.report.glossary import explained, terms_section
from truegrade.report.markup import Child, el
from truegrade.report.page_parts import drawn_section, facts, folded, render_page
from truegrade.store.manifest import write_atomically

A_CODE = 20
"""Findings of one code that the page spells out."""


def findings_content(material: AssayMaterial) -> Child:
    """Findings by code; None without any."""
    counts = material.summary.findings
    return [_code(material, *each) for each in counts.items()] if any(counts.values()) else None


def _code(material: AssayMaterial, code: str, number: int) -> Child:
    told = [finding for finding in material.findings if finding.code == code]
    items = [el("li", finding.sentence, _places(finding)) for finding in told[:A_CODE]]
    more = el("p", f"{number - len(items)} more in findings.jsonl", class_="note") if number > len(items) else None
    return folded(f"{code}: {fmt.count(number)}", el("ul", items, class_="findings"), more)


def _places(of: AssayFinding) -> Child:
    named = [name for name in (of.grader, of.problem_id, ", ".join(of.probes[:3])) if name]
    return el("small", " · ".join(named)) if named else None


def methods_content(material: AssayMaterial) -> Child:
    """Assumptions, and what the labels rest on."""
    summary = material.summary
    methods = Counter(share.method for measure in summary.measures for share in measure.shares if share.method)
    return [
        el("ul", (el("li", explained(sentence, TERMS)) for sentence in summary.assumptions), class_="findings"),
        facts(
            *((f"witnesses: {source}", fmt.count(number)) for source, number in summary.witnesses.items()),
            ("mutants equal to the reference, left out", fmt.count(summary.equivalent)),
            *((f"probes: {kind}", fmt.count(number)) for kind, number in summary.battery.items()),
            ("confidence", f"{100 * summary.confidence:g} %"),
            ("intervals of classes by", ", ".join(methods) or "–"),
        ),
    ]


def repeat_content(material: AssayMaterial) -> Child:
    """The commands that measure, replay and use this assay."""
    folder = shlex.quote(material.folder)
    commands = [
        ("measure this again", material.command),
        ("replay one probe and its witness", f"truegrade assay replay {folder} PROBE"),
        ("correct the pass rate of a run", "truegrade assay verdicts RUN --corrected"),
        *(
            (
                f"write tests that refuse the accepted programs of {name}",
                f"truegrade assay harden {shlex.quote(name)}",
            )
            for name in dict.fromkeys(measure.benchmark for measure in material.summary.measures)
        ),
    ]
    rows = (el("div", el("dt", what), el("dd", el("code", command))) for what, command in commands if command)
    return el("dl", rows, class_="commands")


STYLES = ("assay.css",)
_SECTIONS: tuple[tuple[str, str, str, Callable[[AssayMaterial], Child]], ...] = (
    ("result", "Result", "Result", measures_html.headline_content),
    ("meaning", "What it means", "What the numbers mean", measures_html.meaning_content),
    ("classes", "Classes", "Accepted by class", measures_html.classes_content),
    ("problems", "Problems", "J by problem", measures_html.problems_content),
    ("channels", "Channels", "Channels of cheating", survivors_html.channels_content),
    ("shortest", "Shortest paid", "Shortest programs paid wrongly", survivors_html.shortest_content),
    ("survivors", "Wrong, accepted", "Wrong programs accepted", survivors_html.survivors_content),
    ("refused", "Right, refused", "Right programs refused", survivors_html.refused_content),
    ("others", "Impossible, flaky", "Impossible tests and flaky verdicts", survivors_html.other_errors_content),
    ("findings", "Findings", "Findings", findings_content),
    ("methods", "Assumptions", "Assumptions and methods", methods_content),
    ("repeat", "Repeat", "How to repeat", repeat_content),
)
"""Anchor, name in the navigation, title, and what the section holds; without content there is no section."""


def write_assay_page(material: AssayMaterial, path: Path) -> Path:
    """Write the page of an assay and return its path."""
    write_atomically(path, render_assay(material).encode("utf-8", "replace"))
    return path


def render_assay(material: AssayMaterial) -> str:
    """The whole page; pure."""
    battery = material.summary.battery
    probes = ", ".join(f"{fmt.count(number)} {kind}" for kind, number in battery.items() if number)
    asked = f"{fmt.plural(sum(battery.values()), 'probe')}: {probes}"
    said = "How often a grader is wrong, measured with programs whose correctness is known."
    made = ((anchor, shown, title, make(material)) for anchor, shown, title, make in _SECTIONS)
    document = Document(
        kind="assay",
        about=(_subject(material),),
        lines=(Prose(text=said, tone="measured"), Prose(text=asked, tone="asked")),
        sections=[
            *(
                drawn_section(anchor, title, content, menu=shown)
                for anchor, shown, title, content in made
                if content
            ),
            terms_section(TERMS),
        ],
        styles=STYLES,
    )
    return render_page(document)


def _subject(material: AssayMaterial) -> str:
    """Graders and benchmarks, the first of many."""
    measures = material.summary.measures
    names = ({measure.grader: None for measure in measures}, {measure.benchmark: None for measure in measures})
    return " on ".join(
        ", ".join([*each][:2]) + (f" and {len(each) - 2} more" if len(each) > 2 else "") for each in names
    )
