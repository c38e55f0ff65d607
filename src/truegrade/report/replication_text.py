"""What `truegrade check` prints: verdict, reasons, profiles, causes and findings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from truegrade.analysis.audit.rows_beside_benchmark import REVERSED
from truegrade.analysis.replication import refused_by_strict
from truegrade.errors import first_few
from truegrade.report import format as fmt
from truegrade.report.document import Cell, Facts, Part, Prose, Table
from truegrade.report.terminal import print_parts

if TYPE_CHECKING:
    from rich.console import Console

    from truegrade.analysis.audit import Audit, Finding
    from truegrade.analysis.replication import Replication
    from truegrade.statistics.claims import Fit

OUTCOMES = {"reproduced": "good", "not reproduced": "bad", "not comparable": "doubtful"}
SEVERITIES = {"error": "bad", "warning": "doubtful", "info": "dull"}
"""Outcome or severity -> tone of its paragraph."""
SHOWN_FITS = 4
SHOWN_ROWS = 8
"""Number of rows that a finding lists; --json lists all."""

Worded = Callable[[str], str]
"""What the command line makes of sentences, which name arguments as Python has them."""


def print_replication(replication: Replication, *, console: Console | None = None, worded: Worded = str) -> None:
    """Print the result of comparing a claim with a run."""
    result = replication.result
    claim = f"{replication.metric} = {replication.claim} % for {replication.model} on {replication.benchmark}"
    outcome = result.outcome.value
    doubts: list[Part] = []
    if replication.condemned:
        doubts.append(Prose(text="  the audit stored with the run reports errors:", tone="error"))
        doubts += [Prose(text=f"    {sentence}") for sentence in replication.condemned]
    elif replication.audited is False:
        unknown = (
            "  ! the imported file was not audited, so the validity of its rows is unknown;"
            f" `truegrade check {replication.claim} FILE` asks whether the file's own number is the"
            " claim, and audits it"
        )
        doubts.append(Prose(text=unknown, tone="warning"))
    print_parts(
        Prose(lead=outcome, text=f": {claim}, under {result.profile}", tone=OUTCOMES[outcome]),
        *(Prose(text=f"  {worded(sentence)}") for sentence in result.why),
        *doubts,
        *(Prose(text=f"  ! {worded(warning.line)}", tone="warning") for warning in replication.warnings),
        *replication_parts(replication),
        console=console,
    )


def print_check(
    headline: str,
    why: Sequence[str],
    replication: Replication,
    audit: Audit,
    *,
    console: Console | None = None,
    worded: Worded = str,
) -> None:
    """Print the headline, then the audit and the replication behind it: `truegrade.analysis.replication.Check`."""
    tone = "bad" if not headline.startswith("confirmed") else "doubtful" if refused_by_strict(audit) else "good"
    claim = f": {replication.metric} = {replication.claim} % of {audit.file}"
    reasons = (Prose(text=f"  {worded(sentence)}") for sentence in why)
    found = (*audit_parts(audit), *replication_parts(replication))
    print_parts(Prose(lead=headline, text=claim, tone=tone), *reasons, *found, console=console)


def print_audit(audit: Audit, *, console: Console | None = None) -> None:
    """Print the audit of a file."""
    print_parts(*audit_parts(audit), console=console)


def replication_parts(replication: Replication) -> list[Part]:
    """Every profile, the denominators, and what could explain a difference."""
    rows: list[list[Cell]] = []
    for item in (replication.result, *replication.others):
        chances = (None if p is None else f"{p:.2g}" for p in (item.p_independent, item.p_same_tasks))
        rows.append([item.profile, item.estimate, item.outcome.value, *chances])
    head = ("profile", f"measured {replication.metric}", "as another draw", "p", "p, same problems")
    return [
        Table(slug="replication", caption="", head=head, rows=rows, strong=frozenset({0})),
        Facts([("fits", _fits(replication.fits))]),
        *(
            Prose(text=f"{'→' if cause.explains else '·'} {cause.kind}: {cause.sentence}")
            for cause in replication.explanations
        ),
    ]


def _fits(fits: list[Fit]) -> str:
    """The informative denominators, and whether larger ones fit any value."""
    decisive = [fit for fit in fits if fit.decisive]
    shown = [_fit(fit) for fit in decisive[:SHOWN_FITS]]
    if len(decisive) > SHOWN_FITS:
        shown.append(f"{len(decisive) - SHOWN_FITS} more")
    if len(fits) > len(decisive):
        shown.append("larger denominators fit every value")
    return "; ".join(shown) or "not examined"


def _fit(fit: Fit) -> str:
    counts = str(fit.first) if fit.first == fit.last else f"{fit.first}–{fit.last}"
    each = f" = {fit.tasks} × {fit.samples}" if fit.samples > 1 else ""
    return f"{counts}/{fit.denominator}{each}{' (truncated, not rounded)' if fit.cut_off else ''}"


def audit_parts(audit: Audit) -> list[Part]:
    """Recorded flags, fresh estimates, and findings by severity."""
    facts: list[tuple[str, Cell]] = [
        ("samples", f"{fmt.count(audit.samples)} of {fmt.plural(audit.tasks, 'problem')}")
    ]
    facts += [(estimate.metric, estimate) for estimate in audit.estimates]
    for name, count in audit.recorded.items():
        passed = "accepted (false)" if name in REVERSED else "passed"
        facts.append((f"recorded {name}", f"{fmt.count(count)} {passed}"))
    counts = Counter(finding.severity.value for finding in audit.findings)
    total = ", ".join(fmt.plural(counts[name], name) for name in ("error", "warning") if counts[name])
    return [
        Prose(lead=audit.file, text=f" · {audit.benchmark} · graded as {audit.profile}"),
        Facts(facts),
        *map(_finding, audit.findings),
        Prose(lead="clean: no errors or warnings" if audit.clean else total),
    ]


def _finding(finding: Finding) -> Prose:
    severity = finding.severity.value
    # A finding about every task has no rows worth naming.
    named = f" ({first_few(finding.rows, SHOWN_ROWS)})" if 0 < finding.count <= 100 else ""
    return Prose(lead=f"{severity:<8}{finding.code}: ", text=finding.sentence + named, tone=SEVERITIES[severity])
