"""The last sections: findings, what the numbers rest on, and how to measure them again."""

from __future__ import annotations

import shlex
from collections import Counter

from truegrade.assay.reporting.material import AssayMaterial
from truegrade.assay.reporting.words import TERMS
from truegrade.report import format as fmt
from truegrade.report.glossary import explained
from truegrade.report.markup import Child, Markup, el
from truegrade.report.page_parts import facts, folded, section

A_CODE = 20
"""Findings of one code that the page spells out."""


def findings_section(material: AssayMaterial) -> Markup:
    """Findings by code; empty without any."""
    counts = material.summary.findings
    if not any(counts.values()):
        return Markup()
    return section("findings", "Findings", [_code(material, code, number) for code, number in counts.items()])


def _code(material: AssayMaterial, code: str, number: int) -> Child:
    told = [finding for finding in material.findings if finding.code == code]
    items = [
        el("li", finding.sentence, _places(finding.grader, finding.problem_id, finding.probes))
        for finding in told[:A_CODE]
    ]
    more = el("p", f"{number - len(items)} more in findings.jsonl", class_="note") if number > len(items) else None
    return folded(f"{code}: {fmt.count(number)}", el("ul", items, class_="findings"), more)


def _places(grader: str, problem: str, probes: tuple[str, ...]) -> Child:
    named = [name for name in (grader, problem, ", ".join(probes[:3])) if name]
    return el("small", " · ".join(named)) if named else None


def methods_section(material: AssayMaterial) -> Markup:
    """Assumptions, and what the labels rest on."""
    summary = material.summary
    methods = Counter(share.method for measure in summary.measures for share in measure.shares if share.method)
    return section(
        "methods",
        "Assumptions and methods",
        el("ul", (el("li", explained(sentence, TERMS)) for sentence in summary.assumptions), class_="findings"),
        facts(
            *((f"witnesses: {source}", fmt.count(number)) for source, number in summary.witnesses.items()),
            ("mutants equal to the reference, left out", fmt.count(summary.equivalent)),
            *((f"probes: {kind}", fmt.count(number)) for kind, number in summary.battery.items()),
            ("confidence", f"{100 * summary.confidence:g} %"),
            ("intervals of classes by", ", ".join(methods) or "–"),
        ),
    )


def repeat_section(material: AssayMaterial) -> Markup:
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
    return section("repeat", "How to repeat", el("dl", rows, class_="commands"))
