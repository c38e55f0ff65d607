"""An assay as one document: the answer first, then its tables, each declared once (`.assay_tables`)."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from truegrade.apps.assay.cheats import PADDING
from truegrade.apps.assay.folder import PAGE, open_assay
from truegrade.apps.assay.measures import AssaySummary, GraderMeasure, ShortestPaid
from truegrade.apps.assay.records import AssayFinding
from truegrade.apps.assay.reporting import assay_tables, words
from truegrade.apps.assay.reporting.assay_tables import (
    MAX_MEASURES,
    AssayMaterial,
    ErredProbe,
    by_grader,
    gather_folder,
    refused_shown,
    survivors_shown,
)
from truegrade.errors import UserError
from truegrade.report import document as doc
from truegrade.report import format as fmt
from truegrade.report.charts.svg import difference_rows
from truegrade.report.document import Bullets, Code, Document, Folded, On, Part, Prose, Section, only
from truegrade.report.export import write_document_tables
from truegrade.report.markup import Markup, el
from truegrade.report.page_parts import render_page, show
from truegrade.report.wording import explained, terms_section
from truegrade.store.manifest import write_atomically

if TYPE_CHECKING:
    from rich.console import Console

A_CODE = 20
"""Findings of one code that the page spells out."""
DRAWN = 25
"""Problems in a chart."""
SHORT_LINES, SHORT_CHARS = 12, 76
"""Lines of a program that a terminal shows, and characters of each."""
_TOLD = frozenset({
    "channel_open", "cheat_stays", "decided_by_text", "depends_on_batch", "flaky_verdict", "judged_by_another",
    "looser_than_tests", "overlooks_difference", "paid_without_solving", "pays_for_style", "reads_other_messages",
    "reference_refused", "refuses_kind", "weak_tests", "wrong_above_right",
})  # fmt: skip
"""Codes of findings that the first lines tell in other words."""
_BOTH = On.PAGE | On.TERMINAL


def print_assay(
    summary: AssaySummary,
    findings: Iterable[AssayFinding] = (),
    *,
    folder: str,
    console: Console | None = None,
) -> None:
    """Print what an assay concludes; without a console the text goes to standard output."""
    show(assay_document(AssayMaterial(summary=summary, findings=tuple(findings), folder=folder)), "terminal",
         console=console)  # fmt: skip


def render_assay(material: AssayMaterial) -> str:
    """The whole page; pure."""
    return render_page(assay_document(material))


def write_assay_page(material: AssayMaterial, path: Path) -> Path:
    """Write the page of an assay and return its path."""
    write_atomically(path, render_assay(material).encode("utf-8", "replace"))
    return path


def report_files(folder: Path, file_format: str, out: Path | None) -> list[Path]:
    """`truegrade report` of an assay: its page, or its tables, a file each.

    Args:
        folder: of the assay.
        file_format: ``html``, ``markdown``, ``latex`` or ``csv``.
        out: the page, or the folder of the tables; None for ``report.html`` or ``tables`` in that of the assay.

    Raises:
        UnknownName: no such format.
        UserError: ``folder`` holds no finished assay, or ``out`` cannot be written.
    """
    assayed = open_assay(folder)
    if file_format != "html":
        return write_tables(gather_folder(assayed), file_format, out or folder / "tables")
    page = folder / PAGE
    if not page.is_file():
        raise UserError(f"{folder}: this assay is not finished; its command goes on and then writes {PAGE}")
    if out is not None:
        write_atomically(out, page.read_bytes())
    return [out or page]


def write_tables(material: AssayMaterial, file_format: str, place: Path) -> list[Path]:
    """Write the tables of an assay into a folder; otherwise as `report_files`."""
    return write_document_tables(assay_document(material), file_format, place)


def assay_document(material: AssayMaterial) -> Document:
    """An assay: what was concluded, by which programs, and on what it rests."""
    said = "How often a grader is wrong, measured with programs whose correctness is known."
    problems = {one.benchmark: one.problems for one in material.summary.measures}
    programs = fmt.plural(sum(material.summary.battery.values()), "program")
    asked = f"{programs}, on {fmt.plural(sum(problems.values()), 'problem')}"
    return Document(
        kind="assay",
        about=(_subject(material),),
        lines=(Prose(text=said, tone="measured"), Prose(text=asked, tone="asked")),
        sections=[
            Section("result", "Result", _result(material)),
            Section("shortest", "Shortest programs paid wrongly", _shortest(material), "Shortest paid"),
            Section("classes", "Accepted by class", _classes(material), "Classes"),
            _page_section("meaning", "What the numbers mean", "What it means", _meaning(material)),
            _problems(material),
            _channels(material),
            Section(
                "survivors",
                "Wrong programs accepted",
                [only(On.PAGE, lambda: survivors_shown(material)), _listed("survivors", material.survivors)],
                "Wrong, accepted",
            ),
            Section(
                "refused",
                "Right programs refused",
                [only(On.PAGE, lambda: refused_shown(material)), _listed("refused", material.refused)],
                "Right, refused",
            ),
            _others(material),
            _findings(material),
            _page_section("methods", "Assumptions and methods", "Assumptions", _methods(material)),
            _page_section("repeat", "How to repeat", "Repeat", _repeat(material)),
            Section("where", "Where", [only(On.TERMINAL, *_where(material))]),
            terms_section(words.TERMS),
        ],
        methods=" ".join(material.summary.assumptions),
        styles=("assay.css",),
    )


def _page_section(anchor: str, title: str, menu: str, parts: Iterable[Part]) -> Section:
    return Section(anchor, title, [only(On.PAGE, *parts)], menu)


def _subject(material: AssayMaterial) -> str:
    """Graders and benchmarks, the first of many."""
    measures = material.summary.measures
    names = ({measure.grader: None for measure in measures}, {measure.benchmark: None for measure in measures})
    return " on ".join(
        ", ".join([*each][:2]) + (f" and {len(each) - 2} more" if len(each) > 2 else "") for each in names
    )


def _note(text: str, tone: str = "note") -> Markup:
    """A remark whose terms are explained."""
    return el("p", explained(text, words.TERMS), class_=tone)


def _named(material: AssayMaterial, measure: GraderMeasure) -> str:
    """The grader, and the benchmark where there are several; empty where there is one of both."""
    measures = material.summary.measures
    if len(measures) == 1:
        return ""
    several = len({one.benchmark for one in measures}) > 1
    return f"{measure.grader} on {measure.benchmark}: " if several else f"{measure.grader}: "


# ------------------------------------------------------------------------------------------- the first screen


def _result(material: AssayMaterial) -> list[Part]:
    """Whether cheating pays, how often, an example and what to change; then error rates and what else is known."""
    measures = material.summary.measures
    shown = measures[:MAX_MEASURES]
    alone = measures[0] if len(measures) == 1 else None
    left_out = len(measures) - len(shown)
    said = f"The sections below show the first {MAX_MEASURES}; {left_out} more are in summary.json."
    return [
        *(_answer(measure, _named(material, measure)) for measure in shown),
        Prose(text=words.tried(alone)) if alone and words.tried(alone) else None,
        *_shortest_paid(material, shown),
        *_to_change(material, shown),
        *([Prose(text=line) for line in (words.errors(alone), words.figures(alone)) if line] if alone else []),
        assay_tables.graders(material) if alone is None else only(On.FILES, assay_tables.graders(material)),
        Prose(text=said, tone="note") if left_out else None,
        Bullets([f"{_named(material, one)}{line}" for one in shown for line in words.remarks(one)]),
    ]


def _answer(measure: GraderMeasure, named: str) -> Prose:
    said = words.answer(measure)
    first = next(word for word in ("yes", "not measured", "no") if said.startswith(word))
    tone = {"yes": "bad", "no": "good"}.get(first, "doubtful")
    return Prose(lead=f"{named}{words.QUESTION}: {first}", text=said.removeprefix(first), tone=tone)


def _shortest_paid(material: AssayMaterial, measures: Sequence[GraderMeasure]) -> Iterable[Part]:
    """The shortest program that was paid without solving, of all graders."""
    paid = [
        (len(one.code), place, one)
        for place, measure in enumerate(measures)
        for one in measure.shortest
        if measure.forgeable and one.probe == measure.unearned.shortest
    ]
    if paid:
        _, place, one = min(paid, key=lambda each: each[:2])
        yield Prose(lead="the shortest: ", text=f"{_named(material, measures[place])}{words.named(one)}")
        yield from _program(one)


def _to_change(material: AssayMaterial, measures: Sequence[GraderMeasure]) -> Iterable[Part]:
    """What the graders should do otherwise, and what was found that it mends."""
    found: list[str | Prose] = [
        Prose(lead=f"{_named(material, one)}{cure}", text=f" ({'; '.join(mends)})")
        for one in measures
        for cure, mends in words.changes(one).items()
    ]
    if found:
        yield Prose(lead="what to change:")
        yield Bullets(found)


def _program(one: ShortestPaid) -> Iterable[Part]:
    lines = PADDING.sub("", one.code).strip("\n").splitlines()
    cut = [f"… {fmt.plural(len(lines) - SHORT_LINES, 'more line')}: {PAGE}"] if lines[SHORT_LINES:] else []
    shown = (line if len(line) <= SHORT_CHARS else f"{line[: SHORT_CHARS - 1]}…" for line in lines[:SHORT_LINES])
    yield only(On.TERMINAL, Code("\n".join([*shown, *cut])))
    yield only(On.PAGE, Code(one.code, f"Program {one.probe}"))


# ------------------------------------------------------------------------------------------------ sections


def _classes(material: AssayMaterial) -> list[Part]:
    alone = len(material.summary.measures) == 1
    said = (
        "Classes are not added up: mutants say how weak the tests are, cheats whether a verdict can be forged."
        " Intervals treat the probes of one problem as a cluster."
    )
    operators = by_grader(material, assay_tables.operators)
    return [
        only(On.PAGE, _note(said)),
        *by_grader(material, assay_tables.classes, _BOTH if alone else On.PAGE),
        only(On.PAGE, Folded("Wrong programs by operator", operators)) if _any(operators) else None,
        *operators[1:],
    ]


def _any(parts: Sequence[Part]) -> bool:
    return any(doc.shown_on(parts, On.PAGE))


def _meaning(material: AssayMaterial) -> Iterable[Part]:
    """What a pass rate stands for that was measured with these graders."""
    for measure in material.summary.measures[:MAX_MEASURES]:
        yield _note(f"{_named(material, measure)}{words.stands_for(measure, 0.6)}", "prose")
    cure = "To correct the pass rate of a run, with an interval and with what the correction assumes: "
    yield el("p", words.CAVEAT, " ", cure, el("code", "truegrade assay verdicts RUN --corrected"), class_="prose")


def _problems(material: AssayMaterial) -> Section | None:
    """J of each problem with its interval, the worst first."""
    if not any(map(assay_tables.ranked, material.summary.measures)):
        return None
    said = (
        "The intervals are those of the problem's FPR (Clopper and Pearson) at its measured TPR. They are wide,"
        " since a problem has few probes: the order is a place to start reading, not a finding. Doubtful are"
        " problems whose FPR lies above 0.2 after Holm's correction for their number."
    )
    tables = by_grader(material, assay_tables.problems)
    charts = [chart for one in material.summary.measures[:MAX_MEASURES] for chart in _chart(one)]
    first, rest = charts[:1], charts[1:]
    return Section(
        "problems",
        "J by problem",
        [
            only(On.PAGE, _note(said), *first, Folded("Other graders", rest) if rest else None),
            only(On.PAGE, Folded("The numbers of every problem", tables[:1])),
            *tables[1:],
        ],
        "Problems",
    )


def _chart(measure: GraderMeasure) -> Iterable[Part]:
    ranked = assay_tables.ranked(measure)
    if ranked:
        said = (
            f"{_apart(measure)}{measure.grader} errs on {fmt.count(sum((one.j or 0.0) < 1 for one in ranked))} of"
            f" {fmt.plural(len(ranked), 'problem')}; doubtful: {fmt.count(sum(one.doubtful for one in ranked))}."
            f" Drawn: the {fmt.count(min(DRAWN, len(ranked)))} with the lowest J, in points (100 J)."
        )
        rows = [(one.problem_id, one.j or 0.0, *assay_tables.j_interval(one)) for one in ranked[:DRAWN]]
        chart = difference_rows(rows, f"J by problem, {measure.grader}")
        yield doc.Figure(chart, said, plain=True)


def _apart(measure: GraderMeasure) -> str:
    """That a figure does not count what solves nothing, where that is paid."""
    return "Beside what it pays without a solution, which is counted here nowhere: " if measure.forgeable else ""


def _channels(material: AssayMaterial) -> Section:
    """What became of the cheats."""
    said = (
        "A cheat computes nothing and reaches for the verdict. A channel is open where a cheat is accepted and its"
        " inert twin, the same text with the hook cut, is refused; a cheat stays where the grader judges a control"
        " otherwise after it. Danger: h0 is harmless anywhere, h1 touches the interpreter that it runs in, h2"
        " writes files in its working folder."
    )
    tried = any(measure.channels for measure in material.summary.measures)
    parts = [only(On.PAGE, _note(said)), *by_grader(material, assay_tables.channels)] if tried else []
    return Section("channels", "Channels of cheating", parts, "Channels")


def _shortest(material: AssayMaterial) -> list[Part]:
    """The shortest program of each finding about what is paid wrongly."""
    parts: list[Part] = []
    for measure in material.summary.measures[:MAX_MEASURES]:
        for one in measure.shortest:
            title = f"{_named(material, measure)}{one.finding}: {words.named(one)}"
            said = [f"How it works: {one.how}." if one.how else "", one.change]
            notes = [Prose(text=line, tone="note") for line in said if line]
            code = Code(one.code, f"Program {one.probe}")
            parts.append(
                only(On.PAGE, Folded(title, [*notes, code, Prose(text=f"What closes it: {one.closes}.")]))
            )
    return [*parts, *by_grader(material, assay_tables.shortest)[1:]]


def _listed(slug: str, found: Sequence[ErredProbe]) -> Part:
    """All of them, in files."""
    return only(On.FILES, assay_tables.erred(slug, "program", found, witnesses=slug != "refused"))


_IMPOSSIBLE = (
    "The tests of these problems contradict each other or the statement, so no honest program passes them."
    " A grader that accepts one does not compare, or skips tests."
)
_FLAKY = "The same program was sent more than once and judged differently; the first verdict is counted."


def _others(material: AssayMaterial) -> Section | None:
    """Impossible tests that were passed, and verdicts that change."""
    parts: list[Part] = []
    for slug, title, found, said in (
        ("impossible", "Impossible tests passed", material.impossible, _IMPOSSIBLE),
        ("flaky", "Flaky verdicts", material.flaky, _FLAKY),
    ):
        if found:
            table = assay_tables.erred(slug, "program", found, most=assay_tables.LISTED)
            parts.append(only(On.PAGE, Prose(text=title, tone="heading"), Prose(text=said, tone="note"), table))
            parts.append(_listed(slug, found))
    return Section("others", "Impossible tests and flaky verdicts", parts, "Impossible, flaky") if parts else None


def _findings(material: AssayMaterial) -> Section | None:
    """Findings by code; on a terminal the first of each code that nothing above tells."""
    counts = {code: number for code, number in material.summary.findings.items() if number}
    told: dict[str, list[AssayFinding]] = {}
    for finding in material.findings:
        told.setdefault(finding.code, []).append(finding)
    several = len(material.summary.measures) > 1
    first = [
        Prose(lead=f"{code} × {fmt.count(number)}", text=_first(told.get(code, []), several=several))
        for code, number in counts.items()
        if code not in _TOLD
    ]
    rest = [f"{code} × {fmt.count(number)}" for code, number in counts.items() if code in _TOLD]
    also = Prose(text=words.listed("findings told above", rest), tone="remark") if rest else None
    folded: list[Part] = []
    for code, number in counts.items():
        items: list[str | Prose] = [_sentence(finding) for finding in told.get(code, [])[:A_CODE]]
        more = f"{number - len(items)} more in findings.jsonl" if number > len(items) else ""
        said = Prose(text=more, tone="note") if more else None
        folded.append(Folded(f"{code}: {fmt.count(number)}", [Bullets(items, "findings"), said]))
    parts = [only(On.TERMINAL, doc.Cautions(list(first)), also), only(On.PAGE, *folded)]
    files = only(On.FILES, assay_tables.findings(material))
    return Section("findings", "Findings", [*parts, files]) if counts else None


def _first(told: Sequence[AssayFinding], *, several: bool) -> str:
    if not told:
        return ""
    return f": {told[0].grader}: {told[0].sentence}" if several and told[0].grader else f": {told[0].sentence}"


def _sentence(of: AssayFinding) -> str:
    where = [name for name in (of.grader, of.problem_id, ", ".join(of.probes[:3])) if name]
    return f"{of.sentence} ({' · '.join(where)})" if where else of.sentence


def _methods(material: AssayMaterial) -> list[Part]:
    """Assumptions, and what the labels rest on."""
    summary = material.summary
    methods = Counter(share.method for measure in summary.measures for share in measure.shares if share.method)
    pairs: list[tuple[str, doc.Cell]] = [
        *((f"witnesses: {source}", number) for source, number in summary.witnesses.items()),
        ("mutants equal to the reference, left out", summary.equivalent),
        *((f"probes: {kind}", number) for kind, number in summary.battery.items()),
        ("confidence", f"{100 * summary.confidence:g} %"),
        ("intervals of classes by", ", ".join(methods) or None),
    ]
    return [Bullets(list(summary.assumptions), "findings"), doc.Facts(pairs)]


def _repeat(material: AssayMaterial) -> list[Part]:
    """The commands that measure, replay and use this assay."""
    folder = shlex.quote(material.folder)
    benchmarks = dict.fromkeys(measure.benchmark for measure in material.summary.measures)
    pairs = [
        ("measure this again", material.command),
        ("replay one probe and its witness", f"truegrade assay replay {folder} PROBE"),
        ("correct the pass rate of a run", "truegrade assay verdicts RUN --corrected"),
        *(
            (
                f"write tests that refuse the accepted programs of {name}",
                f"truegrade assay harden {shlex.quote(name)}",
            )
            for name in benchmarks
        ),
    ]
    rows = (el("div", el("dt", what), el("dd", el("code", command))) for what, command in pairs if command)
    return [el("dl", rows, class_="commands")]


def _where(material: AssayMaterial) -> list[Part]:
    return [
        Prose(text=f"worst problems, witnesses, channels: {Path(material.folder) / PAGE}", tone="line"),
        Prose(text=f"everything: {material.folder}", tone="line"),
    ]
