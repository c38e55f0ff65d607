"""An assay of a repository's tests as one document: the answer and what to do first, then its tables."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from truegrade.apps.repository.functions import UNREACHED
from truegrade.apps.repository.strength import (
    SUMMARY,
    ForgeryShown,
    KillShare,
    SuiteSummary,
    Survivor,
    open_suite,
)
from truegrade.apps.repository.survivors import TESTS
from truegrade.files.json_text import encode
from truegrade.report import format as fmt
from truegrade.report.document import (
    Bullets,
    Cell,
    Code,
    Document,
    Folded,
    On,
    Part,
    Prose,
    Section,
    Table,
    Worded,
    only,
)
from truegrade.report.export import make_folder, write_document_tables
from truegrade.report.page_parts import render_page, show
from truegrade.store.manifest import write_atomically

PAGE = "report.html"
_WEAKEST = 10
_DIFFS = 60
"""Survivors whose change the page shows."""
_WEAK = 0.8
VERIFIERS = {
    "exit code": "pytest's exit code is 0",
    "PASSED lines": "every test has a line PASSED and none FAILED",
    "report": "the JUnit report has tests and no failure",
}


def write_suite(summary: SuiteSummary, folder: Path) -> None:
    """Write summary and page into a folder.

    Raises:
        UserError: it cannot be written.
    """
    make_folder(folder)
    write_atomically(folder / SUMMARY, encode(summary))
    write_atomically(folder / PAGE, render_page(suite_document(summary)).encode("utf-8", "replace"))


def print_suite(summary: SuiteSummary, folder: Path) -> None:
    """Print what an assay concludes and where it lies."""
    document = suite_document(summary)
    where = Prose(text=f"page: {folder / PAGE}; all results: {folder / SUMMARY}", tone="line")
    document.sections.append(Section("where", "Where", [only(On.TERMINAL, where)]))
    show(document, "terminal")


def report_files(folder: Path, file_format: str, out: Path | None) -> list[Path]:
    """`truegrade report` of such a folder: its page, or its tables, a file each.

    Args:
        folder: of the assay.
        file_format: ``html``, ``markdown``, ``latex`` or ``csv``.
        out: the page, or the folder of the tables; None for ``report.html`` or ``tables`` in the folder.

    Raises:
        UnknownName: no such format.
        UserError: the folder cannot be read, or ``out`` cannot be written.
    """
    document = suite_document(open_suite(folder))
    if file_format == "html":
        page = out or folder / PAGE
        write_atomically(page, render_page(document).encode("utf-8", "replace"))
        return [page]
    return write_document_tables(document, file_format, out or folder / "tables")


def suite_document(summary: SuiteSummary) -> Document:
    """An assay of a repository's tests."""
    methods = Bullets(list(_methods(summary)), "findings")
    return Document(
        kind="assay",
        about=(f"The tests of {summary.name} {summary.version}".rstrip(),),
        lines=(Prose(text="How many small faults in its functions a repository's tests see.", tone="measured"),),
        sections=[
            Section("result", "Result", _result(summary)),
            Section("functions", "Functions, the weakest first", _functions(summary), "Functions"),
            Section("survivors", "Faults that no test notices", _survivors(summary), "Unnoticed faults"),
            Section("tests", "Tests that decide nothing", _tests(summary), "Idle tests"),
            Section("unreached", "Functions without a measure", _unmeasured(summary), "Unmeasured"),
            Section("forgeries", "Verdicts that can be forged", _forgeries(summary), "Forgeries"),
            Section("methods", "Assumptions and methods", [only(On.PAGE, methods)], "Assumptions"),
        ],
        methods=" ".join(_methods(summary)),
        styles=("assay.css",),
    )  # fmt: skip


def _shown(share: KillShare) -> Worded:
    """A share with its interval."""
    return Worded(
        share.share, f"{fmt.percent(share.share)} {fmt.bounds(share.low, share.high)}", share.low, share.high
    )


def _result(summary: SuiteSummary) -> list[Part]:
    """The share with its interval, the weakest functions, and what to do next."""
    whole = summary.whole
    if whole is None:
        answer = Prose(lead="not measured: ", text="no mutant of any function could be decided", tone="doubtful")
    else:
        said = (
            f" of {fmt.count(whole.mutants)} small faults are noticed by {fmt.plural(summary.tests, 'test')};"
            f" 95 % interval {fmt.bounds(whole.low, whole.high)}"
        )
        tone = "good" if whole.share >= _WEAK else "bad"
        answer = Prose(lead=fmt.percent(whole.share), text=said, tone=tone)
    weakest = [one for one in summary.by_function if one.share < 1][:_WEAKEST]
    return [
        answer,
        _share_table("weakest", "Weakest functions", weakest, On.PAGE | On.TERMINAL),
        Prose(text="What to do next", tone="heading"),
        Bullets(list(_next(summary))),
    ]


def _next(summary: SuiteSummary) -> Iterator[str | Prose]:
    added = summary.added
    if added.tests:
        yield (
            f"Read {TESTS} and take it over: its {fmt.plural(added.tests, 'test')} pass today and refuse"
            f" {added.killed} of the {fmt.plural(len(summary.survivors), 'unnoticed fault')}. A value"
            " that is wrong today is asserted as it is."
        )
    if rest := len(summary.survivors) - added.killed:
        yield f"Look at the {fmt.plural(rest, 'unnoticed fault')} without a test: a gap, or no fault."
    if summary.unreached:
        yield f"No test reaches {fmt.plural(len(summary.unreached), 'function')}."
    if summary.undecided:
        yield f"{fmt.plural(len(summary.undecided), 'failing or flaky test')} decided nothing."
    if summary.idle:
        yield f"{fmt.plural(len(summary.idle), 'test')} noticed no fault first, nor a removed body."
    if forged := [one.name for one in summary.forgeries if any(one.believed.values())]:
        yield f"Where these tests judge what others wrote, patches pay that solve nothing: {', '.join(forged)}."


def _share_table(slug: str, caption: str, shares: list[KillShare], on: On) -> Part:
    rows: list[list[Cell]] = [[one.name, _shown(one), one.killed, one.mutants] for one in shares]
    head = ("name", "noticed", "killed", "mutants")
    return only(on, Table(slug=slug, caption=caption, head=head, rows=rows, look="numeric")) if rows else None


def _functions(summary: SuiteSummary) -> list[Part]:
    by_function = list(summary.by_function)
    shown = only(
        On.PAGE, Folded("Every function", [_share_table("functions", "By function", by_function, On.PAGE)])
    )
    return [
        _share_table("modules", "By module", list(summary.modules), On.PAGE | On.TERMINAL | On.FILES),
        shown if by_function else None,
        _share_table("functions", "By function", by_function, On.FILES),
    ]


def _survivors(summary: SuiteSummary) -> list[Part]:
    rows: list[list[Cell]] = [
        [one.where, one.function, one.operator, one.test, Code(one.diff)] for one in summary.survivors
    ]
    head = ("where", "function", "operator", "added test", "change")
    table = Table(slug="survivors", caption="Mutants that every test accepts", head=head, rows=rows)
    folded = [Folded(_titled(one), [Code(one.diff)]) for one in summary.survivors[:_DIFFS]]
    more = len(summary.survivors) - _DIFFS
    left = Prose(text=f"{more} more in {SUMMARY}", tone="note") if more > 0 else None
    return [only(On.PAGE, *folded, left), only(On.FILES, table), *_added(summary)] if rows else []


def _titled(one: Survivor) -> str:
    return f"{one.where} {one.operator}" + (f": refused by {one.test}" if one.test else "")


def _added(summary: SuiteSummary) -> Iterator[Part]:
    added = summary.added
    if added.told_apart:
        share = fmt.percent(added.held_out_killed / added.told_apart)
        yield Prose(
            text=f"Of {added.held_out} faults, each of which once had no part in the choice of calls,"
            f" {added.told_apart} can be told from the original by some call, and calls chosen without them refuse"
            f" {added.held_out_killed} ({share}).",
            tone="note",
        )
    if added.tests:
        yield Prose(
            text=f"The added tests refuse {added.rewritings_refused} of {added.rewritings} equal rewritings.",
            tone="note",
        )
    if added.left_out:
        yield only(On.PAGE, Bullets([f"{number} × {why}" for why, number in added.left_out.items()]))


def _tests(summary: SuiteSummary) -> list[Part]:
    undecided: list[list[Cell]] = [[name, why] for name, why in summary.undecided.items()]
    idle: list[list[Cell]] = [[name] for name in summary.idle]
    said = "Without any change they fail, or pass in some orders only; no mutant is judged by them."
    return [
        Prose(text=said, tone="note") if undecided else None,
        Table(slug="undecided", caption="Failing and flaky tests", head=("test", "why"), rows=undecided)
        if undecided else None,
        only(On.PAGE | On.FILES, Table(slug="idle", caption="Notice no fault first", head=("test",), rows=idle))
        if idle else None,
    ]  # fmt: skip


def _unmeasured(summary: SuiteSummary) -> list[Part]:
    found = {**dict.fromkeys(summary.unreached, UNREACHED), **summary.unmeasured}
    rows: list[list[Cell]] = [[place, why] for place, why in found.items()]
    table = Table(slug="unmeasured", caption="Functions without a measure", head=("function", "why"), rows=rows)
    return [only(On.PAGE | On.FILES, table)] if rows else []


def _forgeries(summary: SuiteSummary) -> list[Part]:
    if not summary.forgeries:
        return []
    rows = [_forgery_row(one) for one in summary.forgeries]
    head = ("patch", "what it does", "functions", *VERIFIERS)
    verifiers = "; ".join(f"{name}: {what}" for name, what in VERIFIERS.items())
    said = f"Patches that solve nothing, and by how many functions' verdicts they are paid. {verifiers}."
    return [
        Prose(text=said, tone="note"),
        Table(slug="forgeries", caption="Patches that solve nothing", head=head, rows=rows, look="numeric"),
    ]  # fmt: skip


def _forgery_row(one: ForgeryShown) -> list[Cell]:
    return [one.name, one.what, one.tried, *(one.believed.get(name, 0) for name in VERIFIERS)]


def _methods(summary: SuiteSummary) -> Iterator[str]:
    told = ", ".join(f"{number} {status}" for status, number in sorted(summary.statuses.items()))
    yield f"Mutants by what became of them: {told or 'none'}."
    yield (
        "A mutant is one small change to one function. It is killed where a test fails, where a test takes more"
        " than ten times its CPU time and half a second (time), or where the process ends (ended)."
    )
    yield (
        "Some mutants that survive mean the same as the original; nothing tells them apart, so that the share is a"
        " lower bound."
    )
    yield (
        "The whole and modules take functions for clusters; the interval of one function takes its mutants for"
        " independent (Wilson)."
    )
    yield (
        "Only calls of a test itself count as reaching a function, not those of its fixtures, and what a module"
        " does while it is imported is not changed."
    )
    yield (
        "A test decides nothing if it refuses no mutant, of those tried, of any function that it reaches; another"
        " test may notice the same faults as one that refuses some."
    )
