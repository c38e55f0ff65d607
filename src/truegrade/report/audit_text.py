"""Terminal output of an audit: recorded flags, fresh estimates, and findings by severity."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from truegrade.analysis.audit.flags import REVERSED
from truegrade.errors import first_few
from truegrade.report import format as fmt
from truegrade.report.terminal import fact_grid, open_console

if TYPE_CHECKING:
    from rich.console import Console

    from truegrade.analysis.audit import Audit, Finding

SHOWN_ROWS = 8
"""Number of rows that a finding lists; --json lists all."""

COLOURS = {"error": "red", "warning": "yellow", "info": "dim"}


def print_audit(audit: Audit, *, console: Console | None = None) -> None:
    """Print the audit of a file."""
    from rich.text import Text

    out = open_console(console)
    out.print(Text.assemble((audit.file, "bold"), f" · {audit.benchmark} · graded as {audit.profile}"))
    facts = [("samples", f"{fmt.count(audit.samples)} of {fmt.plural(audit.tasks, 'problem')}")]
    facts += [(estimate.metric, fmt.estimate(estimate)) for estimate in audit.estimates]
    facts += [(f"recorded {name}", _recorded(name, count)) for name, count in audit.recorded.items()]
    out.print(fact_grid(facts))
    for finding in audit.findings:
        out.print(_line(finding))
    out.print(Text("clean: no errors or warnings" if audit.clean else _total(audit), "bold"))


def _line(finding: Finding) -> object:
    from rich.text import Text

    colour = COLOURS[finding.severity.value]
    # A finding about every task has no rows worth naming.
    named = f" ({first_few(finding.rows, SHOWN_ROWS)})" if 0 < finding.count <= 100 else ""
    return Text.assemble(
        (f"{finding.severity.value:<8}", colour), (f"{finding.code}: ", "bold"), finding.sentence + named
    )


def _recorded(name: str, count: int) -> str:
    """How many rows a flag counts as successful."""
    return f"{fmt.count(count)} {'accepted (false)' if name in REVERSED else 'passed'}"


def _total(audit: Audit) -> str:
    counts = Counter(finding.severity.value for finding in audit.findings)
    return ", ".join(fmt.plural(counts[name], name) for name in ("error", "warning") if counts[name])
