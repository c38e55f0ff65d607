"""``report.html``: a self-contained page that makes no network requests."""

from __future__ import annotations

from pathlib import Path

from truegrade.pipeline.summary import Summary
from truegrade.report import format as fmt
from truegrade.report import sections, wording
from truegrade.report.agents import agent
from truegrade.report.browser import SCRIPTS, STYLES, sample_browser
from truegrade.report.budget_parts import budget_section
from truegrade.report.checks import findings_section
from truegrade.report.chosen_samples import Browser, collect
from truegrade.report.glossary import explained, glossary_section
from truegrade.report.markup import Child, Markup, el, join
from truegrade.report.methods import methods
from truegrade.report.page_parts import page
from truegrade.report.reasoning_html import reasoning
from truegrade.report.report_material import ReportMaterial, gather
from truegrade.report.rules_html import rules
from truegrade.report.sample_blocks import blocks
from truegrade.report.splits_html import splits
from truegrade.report.spread_html import spread
from truegrade.store import Run
from truegrade.store.manifest import write_atomically

_NAVIGATION = (
    ("result", "Result"),
    ("rules", "Profiles"),
    ("reasoning", "Reasoning"),
    ("metrics", "Metrics"),
    ("groups", "Groups"),
    ("tasks", "Problems"),
    ("reasons", "Reasons"),
    ("usage", "Cost"),
    ("budget", "Token budget"),
    ("audit", "Audit"),
    ("samples", "Samples"),
    ("methods", "Methods"),
    ("glossary", "Terms"),
)
MAX_PAGE_BYTES = 19_000_000


def write_report(run: Run, path: str | Path | None = None, summary: Summary | None = None) -> Path:
    """Write the page of a graded run and return its path.

    Args:
        run: graded.
        path: of the page; None for ``report.html`` beside the run's journals.
        summary: of the part that is reported; None for the stored one.

    Raises:
        UserError: the run was not graded yet, or by a version whose summary this one cannot read.
        BadRecord: a line of its journals is not a record.
    """
    material = gather(run, summary)
    browser = collect(run, material.summary, material.outcomes)
    content = render(material, browser).encode("utf-8", "replace")
    chars = sum(view.chars for view in browser.samples)
    while len(content) > MAX_PAGE_BYTES and len(browser.samples) > 1:
        # replies that hardly deflate: fewer of them
        chars //= 2
        browser = collect(run, material.summary, material.outcomes, max_chars=chars)
        content = render(material, browser).encode("utf-8", "replace")
    page = Path(path) if path else run.outputs / "report.html"
    write_atomically(page, content)
    return page


def render(material: ReportMaterial, browser: Browser) -> str:
    """The whole page; pure."""
    summary, manifest = material.summary, material.manifest
    body = join(
        sections.overview(material),
        rules(material.matrix, summary),
        reasoning(summary),
        sections.metrics(summary),
        splits(summary),
        sections.tasks(summary),
        sections.reasons(summary),
        spread(summary, material.distributions),
        budget_section(summary),
        agent(summary),
        findings_section(material.findings),
        sample_browser(browser),
        methods(manifest, summary),
        glossary_section(summary),
    )
    return page(
        f"{summary.benchmark} · {summary.model}",
        _header(material, body),
        body,
        data=blocks(browser),
        styles=STYLES,
        scripts=SCRIPTS,
    )


def _header(material: ReportMaterial, body: Markup) -> Child:
    summary = material.summary
    links = (el("a", words, href=f"#{name}") for name, words in _NAVIGATION if f'<section id="{name}"' in body)
    asked = f"{fmt.plural(summary.tasks, 'problem')}, {fmt.plural(summary.samples_per_task, 'sample')} per problem"
    rules = ", ".join(profile.profile for profile in summary.profiles[:3])
    more = f" and {len(summary.profiles) - 3} more" if len(summary.profiles) > 3 else ""
    return [
        el("p", "Truegrade report", class_="kicker"),
        el("h1", summary.benchmark, el("span", " · ", class_="dim"), summary.model),
        el("p", explained(wording.measured(summary)), class_="measured"),
        el("p", f"{asked} · graded under {rules}{more} · {material.manifest.created[:10]}", class_="asked"),
        el("nav", links, aria_label="Sections"),
    ]
