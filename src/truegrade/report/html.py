"""A graded run as one document, and its page, which makes no network requests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from truegrade.pipeline.summary import Summary
from truegrade.report import document as doc
from truegrade.report import format as fmt
from truegrade.report import wording
from truegrade.report.chosen_samples import NO_REFERENCES, Browser, ReportMaterial, blocks, collect, gather
from truegrade.report.document import On, Part, Prose, Section, only
from truegrade.report.markup import Markup, el
from truegrade.report.methods import methods, sentences
from truegrade.report.page_parts import render_page
from truegrade.report.run_document import partial_result, report_sections
from truegrade.report.wording import explained, glossary_section
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


def sample_browser(browser: Browser) -> Section:
    """The section of the page; its data are `truegrade.report.chosen_samples.blocks` of the same browser."""
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
    shown: list[Part] = [
        Prose(text=_what_is_shown(browser), tone="note"),
        el("noscript", el("p", "The sample browser requires JavaScript; the rest of this page does not.")),
        el("div", controls, el("p", id="found", role="status", class_="note"), id="browser", hidden=True),
        el("p", id="browser-problem", class_="note", role="status"),
        el("div", listed, el("article", id="sample", tabindex=-1, aria_label="Sample"), id="split", hidden=True),
    ]
    return Section("samples", "Samples", [only(On.PAGE, *shown)])


def _choice(name: str, label: str, options: Sequence[tuple[str, str]]) -> Markup:
    choices = (el("option", words, value=value) for value, words in options)
    return el("label", label, el("select", choices, id=f"filter-{name}"))


def _what_is_shown(browser: Browser) -> str:
    shown, graded = len(browser.samples), fmt.plural(browser.graded, "graded sample")
    keys = "Arrow keys, or j and k, move through the list, Enter opens a sample, Escape returns to the list."
    if shown >= browser.graded:
        return f"All {graded} are on this page. {keys}"
    words = f"{fmt.count(shown)} of {graded} are on this page: a seeded random selection, balanced by reason"
    if browser.disputed:
        words += f", and {browser.disputed_shown} of the {browser.disputed} on which profiles differ"
    return f"{words}; the run folder contains all of them. {keys}"


MAX_PAGE_BYTES = 19_000_000


def write_report(
    run: Run,
    path: str | Path | None = None,
    summary: Summary | None = None,
    references: Mapping[str, str] = NO_REFERENCES,
) -> Path:
    """Write the page of a graded run and return its path.

    Args:
        run: graded.
        path: of the page; None for ``report.html`` beside the run's journals.
        summary: of the part that is reported; None for the stored one.
        references: the data set's programs by problem id (`truegrade.pipeline.loading.reference_programs`), shown
            beside answers that are refused.

    Raises:
        UserError: the run was not graded yet, or by a version whose summary this one cannot read.
        BadRecord: a line of its journals is not a record.
    """
    material = gather(run, summary)
    browser = collect(run, material.summary, material.outcomes, references)
    content = render(material, browser).encode("utf-8", "replace")
    chars = sum(view.chars for view in browser.samples)
    while len(content) > MAX_PAGE_BYTES and len(browser.samples) > 1:
        # replies that hardly deflate: fewer of them
        chars //= 2
        browser = collect(run, material.summary, material.outcomes, references, max_chars=chars)
        content = render(material, browser).encode("utf-8", "replace")
    page = Path(path) if path else run.outputs / "report.html"
    write_atomically(page, content)
    return page


def render(material: ReportMaterial, browser: Browser) -> str:
    """The whole page; pure."""
    return render_page(report_document(material, browser))


def report_document(material: ReportMaterial, browser: Browser | None = None) -> doc.Document:
    """A graded run as a document.

    Args:
        material: everything but the samples' texts.
        browser: the samples that a page shows; None where none is written.
    """
    summary, manifest = material.summary, material.manifest
    asked = f"{fmt.plural(summary.tasks, 'problem')}, {fmt.plural(summary.samples_per_task, 'sample')} per problem"
    rules = ", ".join(profile.profile for profile in summary.profiles[:3])
    more = f" and {len(summary.profiles) - 3} more" if len(summary.profiles) > 3 else ""
    return doc.Document(
        kind="report",
        about=(summary.benchmark, summary.model),
        lines=(
            partial_result(summary),
            el("p", explained(wording.measured(summary)), class_="measured"),
            Prose(text=f"{asked} · graded under {rules}{more} · {manifest.created[:10]}", tone="asked"),
        ),
        sections=[
            *report_sections(material),
            sample_browser(browser) if browser else None,
            methods(manifest, summary),
            glossary_section(summary),
        ],
        methods=" ".join(sentences(manifest, summary)),
        data=blocks(browser) if browser else None,
        styles=STYLES,
        scripts=SCRIPTS,
    )
