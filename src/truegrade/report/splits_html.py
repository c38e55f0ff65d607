"""The section of the page on groups: pass@1 by difficulty, platform, month and a model's cut-off."""

from __future__ import annotations

from truegrade.pipeline.summary import Summary
from truegrade.report import format as fmt
from truegrade.report.charts.svg import interval_plot
from truegrade.report.exhibits import split_rows
from truegrade.report.markup import Child, Markup, el, join
from truegrade.report.page_parts import section, table
from truegrade.report.wording import after_cutoff


def splits(summary: Summary) -> Child:
    """The section; nothing where the problems form no groups."""
    rows = split_rows(summary)
    if not rows:
        return None
    head = ["group", "problems", *(profile.profile for profile in summary.profiles)]
    cells: list[list[Child]] = [
        [
            join(value, el("small", kind)),
            fmt.count(tasks),
            *(
                "–" if rate is None else join(el("span", fmt.estimate(rate)), interval_plot(rate, value))
                for rate in rates
            ),
        ]
        for kind, value, tasks, rates in rows
    ]
    shown = table("pass@1 by group", head, cells, class_="metrics")
    return section("groups", "Groups", _sentences(summary), shown)


def _sentences(summary: Summary) -> Markup | None:
    found = [after_cutoff(profile, summary.cutoff) for profile in summary.profiles]
    said = [el("li", sentence) for sentence in found if sentence]
    return el("ul", said, class_="note") if said else None
