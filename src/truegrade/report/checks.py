"""The section on a stored audit; what the samples of a run show by themselves is among its warnings."""

from __future__ import annotations

from truegrade.analysis.audit.findings import Finding
from truegrade.report.markup import Child, Markup, el, join
from truegrade.report.page_parts import folded, section

_NAMED_ROWS = 40


def findings_section(findings: list[Finding]) -> Markup:
    """The section of the page; empty where nothing was found."""
    if not findings:
        return Markup()
    items = (el("li", _item(finding)) for finding in findings)
    return section("audit", "Audit", el("ul", items, class_="findings"))


def _item(finding: Finding) -> Child:
    head = join(
        el("b", finding.severity.value, class_=f"severity {finding.severity.value}"), " ", finding.sentence
    )
    if not finding.rows:
        return head
    more = len(finding.rows) - _NAMED_ROWS
    rows = ", ".join(finding.rows[:_NAMED_ROWS]) + (f", and {more} more" if more > 0 else "")
    return [head, folded(f"{finding.code}: where", el("p", rows, class_="note"))]
