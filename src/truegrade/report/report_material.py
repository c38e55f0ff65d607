"""Everything that a report of a run is made of, read from the run once."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from truegrade.analysis.audit.findings import Finding
from truegrade.analysis.matrix import Matrix, rule_matrix
from truegrade.analysis.replication import stored_audit
from truegrade.pipeline.summary import Summary, read_summary
from truegrade.pipeline.verdict_table import VerdictTable, verdict_table
from truegrade.report.distributions import Distribution, read_distributions
from truegrade.store import Manifest, Run


class ReportMaterial(msgspec.Struct, frozen=True, kw_only=True):
    """What the page and the files show, the samples' texts apart."""

    manifest: Manifest
    summary: Summary
    outcomes: Mapping[str, VerdictTable]
    """By profile id, of the problems that it scores."""
    matrix: Matrix
    distributions: list[Distribution]
    findings: list[Finding]
    """Of a stored audit."""


def gather(run: Run, summary: Summary | None = None) -> ReportMaterial:
    """Read a graded run.

    Args:
        run: graded.
        summary: of the part that is reported; None for the stored one.

    Raises:
        UserError: the run was not graded yet, or by a version whose summary this one cannot read.
        BadRecord: a line of its journals is not a record.
    """
    summary = summary or read_summary(run)
    tasks = {task.id for profile in summary.profiles for task in profile.tasks}
    outcomes = {
        profile.profile: verdict_table(run.verdict_facts(profile.profile), tasks, summary.samples_per_task)
        for profile in summary.profiles
    }
    first = summary.profiles[0].profile
    return ReportMaterial(
        manifest=run.manifest,
        summary=summary,
        outcomes=outcomes,
        matrix=rule_matrix(summary, outcomes),
        distributions=read_distributions(run, outcomes[first], summary.samples_per_task),
        findings=audit.findings if (audit := stored_audit(run)) else [],
    )
