"""``report.html``: a self-contained page that makes no network requests."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from truegrade.pipeline.summary import Summary
from truegrade.report import format as fmt
from truegrade.report import sections, wording
from truegrade.report.agents import agent, budget_section
from truegrade.report.chosen_samples import Browser, ReportMaterial, collect, gather
from truegrade.report.glossary import explained, glossary_section
from truegrade.report.markup import Child, Markup, el, join
from truegrade.report.methods import methods
from truegrade.report.page_parts import draw, page, section
from truegrade.report.reasoning_html import reasoning
from truegrade.report.sample_blocks import blocks
from truegrade.report.sections import findings_section, rules, splits, spread
from truegrade.store import Run
from truegrade.store.manifest import write_atomically

# ---------------- The frame of the sample browser: filters, a list and one sample; the page's script fills it.


STYLES = ("browser.css",)
SCRIPTS = ("blocks.js", "detail.js", "browser.js")

_ORDERS = (
    ("failing", "failing first"),
    ("", "data set"),
    ("disputed", "profiles differ first"),
    ("longest", "longest reply first"),
    ("slowest", "slowest reply first"),
)


def sample_browser(browser: Browser) -> Markup:
    """The section of the page; its data are `truegrade.report.sample_blocks.blocks` of the same browser."""
    reasons = sorted({verdict.reason for view in browser.samples for verdict in view.verdicts})
    outcomes = [("failed", "failed"), ("passed", "passed")]
    if len(browser.profiles) > 1:
        outcomes.append(("disputed", "profiles differ"))
    controls = el(
        "form",
        el("label", "Search texts", el("input", type="search", id="find", placeholder="problem or text")),
        _choice("profile", "Profile", [(name, name) for name in browser.profiles]),
        _choice("outcome", "Outcome", [("", "any"), *outcomes]),
        _choice("reason", "Reason", [("", "any"), *((reason, reason) for reason in reasons)]),
        _choice("order", "Order", _ORDERS),
        el("button", "Clear", type="reset"),
        id="filters",
        role="search",
    )
    listed = el("div", id="list", role="listbox", tabindex=0, aria_label="Samples")
    return section(
        "samples",
        "Samples",
        el("p", _what_is_shown(browser), class_="note"),
        el("noscript", el("p", "The sample browser requires JavaScript; the rest of this page does not.")),
        el("div", controls, el("p", id="found", role="status", class_="note"), id="browser", hidden=True),
        el("p", id="browser-problem", class_="note", role="status"),
        el("div", listed, el("article", id="sample", tabindex=-1, aria_label="Sample"), id="split", hidden=True),
    )


def _choice(name: str, label: str, options: Sequence[tuple[str, str]]) -> Markup:
    choices = (el("option", words, value=value) for value, words in options)
    return el("label", label, el("select", choices, id=f"filter-{name}"))


def _what_is_shown(browser: Browser) -> str:
    shown, graded = len(browser.samples), fmt.plural(browser.graded, "graded sample")
    keys = "Arrow keys move through the list, Enter opens a sample, Escape returns to the list."
    if shown >= browser.graded:
        return f"All {graded} are on this page. {keys}"
    words = f"{fmt.count(shown)} of {graded} are on this page: a seeded random selection, balanced by reason"
    if browser.disputed:
        words += f", and {browser.disputed_shown} of the {browser.disputed} on which profiles differ"
    return f"{words}; the run folder contains all of them. {keys}"


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
        draw([budget_section(summary)]),
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
