"""The frame of the sample browser: filters, a list and one sample; the page's script fills it."""

from __future__ import annotations

from collections.abc import Sequence

from truegrade.report import format as fmt
from truegrade.report.chosen_samples import Browser
from truegrade.report.markup import Markup, el
from truegrade.report.page_parts import section

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
