"""Terminal output of a replication: verdict, reasons, results by profile, possible explanations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from truegrade.report import format as fmt
from truegrade.report.audit_text import print_audit
from truegrade.report.terminal import fact_grid, open_console, plain_table, row

if TYPE_CHECKING:
    from rich.console import Console

    from truegrade.analysis.audit import Audit
    from truegrade.analysis.replication import ProfileResult, Replication
    from truegrade.statistics.claims import Fit

COLOURS = {"reproduced": "green", "not reproduced": "red", "not comparable": "yellow"}
SHOWN_FITS = 4


def print_replication(
    replication: Replication, *, console: Console | None = None, worded: Callable[[str], str] = str
) -> None:
    """Print the result of comparing a claim with a run.

    ``worded`` as of `truegrade.report.run_document.print_summary`.
    """
    from rich.text import Text

    out = open_console(console)
    result = replication.result
    out.print(
        Text.assemble(
            (f"{result.outcome.value}", f"bold {COLOURS[result.outcome.value]}"),
            f": {replication.metric} = {replication.claim} % for {replication.model} on {replication.benchmark},"
            f" under {result.profile}",
        )
    )
    for sentence in result.why:
        out.print(Text(f"  {worded(sentence)}"))
    if replication.condemned:
        out.print(Text("  the audit stored with the run reports errors:", "bold red"))
        for sentence in replication.condemned:
            out.print(Text(f"    {sentence}"))
    elif replication.audited is False:
        out.print(
            Text(
                "  ! the imported file was not audited, so the validity of its rows is unknown;"
                f" `truegrade check {replication.claim} FILE` grades, compares and audits it",
                "yellow",
            )
        )
    for warning in replication.warnings:
        out.print(Text(f"  ! {worded(warning.line)}", "yellow"))
    _print_details(out, replication)


def print_check(
    headline: str,
    why: Sequence[str],
    replication: Replication,
    audit: Audit,
    *,
    console: Console | None = None,
    worded: Callable[[str], str] = str,
) -> None:
    """Print the headline, then the replication and the audit behind it: `truegrade.analysis.claim_check.Check`.

    ``worded`` as of `truegrade.report.run_document.print_summary`.
    """
    from rich.text import Text

    out = open_console(console)
    out.print(
        Text.assemble(
            (headline, f"bold {'green' if headline.startswith('confirmed') else 'red'}"),
            f": {replication.metric} = {replication.claim} % of {audit.file}",
        )
    )
    for sentence in why:
        out.print(Text(f"  {worded(sentence)}"))
    print_audit(audit, console=out)
    _print_details(out, replication)


def _print_details(out: Console, replication: Replication) -> None:
    """Every profile, the denominators, and what could explain a difference."""
    from rich.text import Text

    result = replication.result
    table = plain_table("profile", f"measured {replication.metric}", "as another draw", "p", "p, same problems")
    for item in (result, *replication.others):
        row(table, item.profile, *_cells(item), bold=item is result)
    out.print(table)
    out.print(fact_grid([("denominators", _fits(replication.fits))]))
    for cause in replication.explanations:
        out.print(Text(f"{'→' if cause.explains else '·'} {cause.kind}: {cause.sentence}"))


def _cells(item: ProfileResult) -> tuple[str, str, str, str]:
    ours = fmt.estimate(item.estimate) if item.estimate is not None else "–"
    return ours, item.outcome.value, _p(item.p_independent), _p(item.p_same_tasks)


def _p(value: float | None) -> str:
    return "–" if value is None else f"{value:.2g}"


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
