"""One set of replies under several profiles: spread, results by profile, and samples with different verdicts."""

from __future__ import annotations

from collections.abc import Sequence

from truegrade.analysis.matrix import Matrix, MatrixRow
from truegrade.pipeline.summary import Disagreement, Summary
from truegrade.records import Estimate
from truegrade.report import format as fmt
from truegrade.report import wording
from truegrade.report.figures import rules_chart
from truegrade.report.markup import Child, Markup, el
from truegrade.report.page_parts import figure, folded, section, table


def rules(matrix: Matrix, summary: Summary) -> Markup:
    """The section of the page; empty for a single profile."""
    chart = rules_chart(matrix, summary)
    if chart is None:
        return Markup()
    spread = f"The grading rules alone change the result by {100 * matrix.spread:.1f} points"
    words = (
        f"{spread}: from {matrix.lowest} to {matrix.highest}{wording.spread_note(matrix.warnings)}. The profiles"
        " disagree on"
        f" {fmt.count(matrix.disagreeing)} of {fmt.plural(matrix.compared, 'sample')}."
    )
    caption = "The same replies under each profile (axis cropped); grey: range."
    return section(
        "rules",
        "Profiles",
        el("p", words, class_="prose"),
        figure(chart, caption),
        _matrix(matrix),
        _differing(summary),
    )


def _matrix(matrix: Matrix) -> Markup:
    ks = sorted({k for row in matrix.rows for k in row.pass_at})
    head = ["profile", *(f"pass@{k}" for k in ks), "any of N", "all solutions", "first sample"]
    return table("Results by profile", head, [_row(row, ks) for row in matrix.rows], class_="numeric")


def _row(row: MatrixRow, ks: Sequence[int]) -> list[Child]:
    cells = [*(row.pass_at.get(k) for k in ks), row.any_of_n, row.all_solutions, row.first_sample]
    return [row.profile, *map(_cell, cells)]


def _cell(estimate: Estimate | None) -> Child:
    return "–" if estimate is None else fmt.percent(estimate.value)


def _differing(summary: Summary) -> Child:
    """Samples that pass under one profile and fail under another."""
    if not summary.disagreeing:
        return el("p", "All profiles agree on every sample.", class_="note")
    profiles = [profile.profile for profile in summary.profiles]
    rows = [_disagreement(item, profiles) for item in summary.disagreements]
    caption = f"{fmt.plural(summary.disagreeing, 'sample')} graded differently"
    if summary.disagreeing > len(rows):
        caption += f"; the first {len(rows)}"
    shown = table(caption, ["sample", *profiles], rows, class_="badges")
    return folded(caption, shown) if len(rows) > 12 else shown


def _disagreement(item: Disagreement, profiles: Sequence[str]) -> list[Child]:
    name = f"{item.problem_id}#{item.sample}"
    link = el("a", name, href="#samples", data_find=name)
    return [link, *(_badge(item.reasons.get(profile)) for profile in profiles)]


def _badge(reason: str | None) -> Child:
    return "–" if reason is None else el("span", reason, class_=f"badge {wording.family(reason)}")
