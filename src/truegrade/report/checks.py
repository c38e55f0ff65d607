"""Warnings about the samples of a run: the audit checks that a stored run allows, and a stored audit."""

from __future__ import annotations

from collections import Counter, defaultdict

from truegrade.analysis.audit.check_samples import check_samples
from truegrade.analysis.audit.evidence import Evidence
from truegrade.analysis.audit.findings import Finding
from truegrade.analysis.audit.survey import AuditSurvey, SampleFact
from truegrade.analysis.replication import stored_audit
from truegrade.pipeline.verdict_table import VerdictTable
from truegrade.report.markup import Child, Markup, el, join
from truegrade.report.page_parts import folded, section
from truegrade.store import Run

_IN_WARNINGS = frozenset({"truncated", "samples-uneven", "not-exchangeable"})
"""Codes that the summary's warnings cover already."""
_NAMED_ROWS = 40


def read_findings(run: Run, outcomes: VerdictTable, profile: str) -> list[Finding]:
    """Findings about the stored samples, then those of a stored audit.

    Args:
        run: graded; nothing is graded anew.
        outcomes: under the profile.
        profile: id of the first profile.

    Raises:
        BadRecord: a line of the journal is no record, or the stored audit is none.
    """
    own = check_samples(Evidence(survey=_survey(run, outcomes), outcomes=outcomes, problems={}, profile=profile))
    kept = stored_audit(run)
    return [*(finding for finding in own if finding.code not in _IN_WARNINGS), *(kept.findings if kept else [])]


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


def _survey(run: Run, outcomes: VerdictTable) -> AuditSurvey:
    samples: dict[str, dict[int, SampleFact]] = defaultdict(dict)
    models: Counter[str] = Counter()
    for facts in run.completion_facts():
        if facts.sha256 is None or facts.problem_id not in outcomes:
            continue
        fact = SampleFact(sha256=facts.sha256, has_program=True, limited=facts.truncated, inside=False)
        samples[facts.problem_id][facts.sample] = fact
        models[facts.model] += 1
    return AuditSurvey(
        path=run.completions_path, file_sha256="", samples=samples, recorded=[], differences=[], models=models
    )
