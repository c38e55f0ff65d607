"""What a report of an assay shows: the probes on which a grader erred, its tables, the programs with evidence."""

from __future__ import annotations

import ast
import shlex
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher, unified_diff

import msgspec

from truegrade.apps.assay.acceptance import (
    REFERENCE,
    Acceptance,
    counted_class,
    is_undecided,
    left_out,
    settle,
)
from truegrade.apps.assay.cheats import CHANNELS
from truegrade.apps.assay.folder import AssayFolder
from truegrade.apps.assay.measures import AssaySummary, ChannelMeasure, GraderMeasure, ProblemMeasure
from truegrade.apps.assay.records import BY_CONSTRUCTION, AssayFinding, Probe, Said, Witness
from truegrade.apps.assay.reporting import words
from truegrade.extraction.parsing import Fault, parse_module
from truegrade.files import syntax
from truegrade.report import document as doc
from truegrade.report import format as fmt
from truegrade.report.document import Cell, Code, Facts, Folded, On, Part, Prose, Table, Worded, noted, only
from truegrade.report.markup import el

DETAIL_CHARS = 300
"""Of what a grader said of a probe, one line is kept to this length."""


class ErredProbe(msgspec.Struct, frozen=True, kw_only=True):
    """A probe, and the graders that were wrong about it."""

    probe: Probe
    graders: tuple[str, ...]
    """In alphabetical order."""
    details: tuple[str, ...] = ()
    """What each of them said, beside `graders`; empty strings where they gave no reason."""


class AssayMaterial(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that a report of an assay is made from; a terminal needs no probes."""

    summary: AssaySummary
    findings: tuple[AssayFinding, ...] = ()
    folder: str
    """Of the assay, as a command names it."""
    survivors: tuple[ErredProbe, ...] = ()
    """Wrong programs that were accepted, no cheats: one of every problem before the second of any."""
    refused: tuple[ErredProbe, ...] = ()
    """Right programs that were refused."""
    impossible: tuple[ErredProbe, ...] = ()
    """Programs that passed tests which nothing honest passes."""
    flaky: tuple[ErredProbe, ...] = ()
    """Probes whose verdict differed between repetitions."""
    references: Mapping[str, str] = {}
    """Problem to its reference."""
    command: str = ""
    """What measures this again; empty where it is not known."""


def gather(
    summary: AssaySummary,
    probes: Iterable[Probe],
    said: Iterable[Said],
    findings: Iterable[AssayFinding] = (),
    *,
    folder: str,
    command: str = "",
    pass_at: float | None = None,
) -> AssayMaterial:
    """Choose what is shown: by the rules by which the rates are counted, so that it is what they count.

    Probes and verdicts are read once. ``pass_at`` is that of `Acceptance`; the rest is as `AssayMaterial` has it.
    """
    battery = list(probes)
    details: dict[tuple[str, str], str] = {}
    verdicts = settle(_noted(said, {probe.id for probe in battery if probe.label == "right"}, details))
    graders = {name: Acceptance(battery, given, pass_at) for name, given in verdicts.items()}
    unsteady: dict[str, list[str]] = defaultdict(list)
    for name, grader in ((name, measure.grader) for measure in summary.measures for name in measure.flaky):
        unsteady[name].append(grader)
    found: dict[str, list[ErredProbe]] = defaultdict(list)
    for probe in battery:
        if probe.id in unsteady:
            found["flaky"].append(ErredProbe(probe=probe, graders=tuple(dict.fromkeys(unsteady[probe.id]))))
        group = _group(probe)
        erred = [name for name, acceptance in graders.items() if group and _errs(group, probe, acceptance)]
        if erred:
            told = tuple(details.get((probe.id, name), "") for name in erred)
            found[group].append(ErredProbe(probe=probe, graders=tuple(erred), details=told))
    return AssayMaterial(
        summary=summary,
        findings=tuple(findings),
        folder=folder,
        survivors=tuple(_one_a_problem_first(found["survivors"])),
        refused=tuple(_one_a_problem_first(found["refused"])),
        impossible=tuple(_one_a_problem_first(found["impossible"])),
        flaky=tuple(found["flaky"]),
        references={
            probe.problem_id: probe.code for probe in battery if (probe.kind, probe.origin) == ("right", REFERENCE)
        },
        command=command,
    )


def gather_folder(folder: AssayFolder, command: str = "") -> AssayMaterial:
    """The same of a finished assay.

    Raises:
        UserError: it is not finished.
    """
    return gather(
        folder.summary(), folder.probes(), folder.said(), folder.findings(), folder=str(folder.path),
        command=command, pass_at=folder.manifest().pass_at,
    )  # fmt: skip


def _noted(said: Iterable[Said], right: set[str], details: dict[tuple[str, str], str]) -> Iterator[Said]:
    """Hand verdicts on, and keep why right programs were refused."""
    for one in said:
        if one.passed is not None and one.probe in right:
            details.setdefault((one.probe, one.grader), " ".join(one.detail[:DETAIL_CHARS].split()))
        yield one


def _group(probe: Probe) -> str:
    """Where a probe is shown if a grader is wrong about it; empty where it proves nothing."""
    kind = counted_class(probe)
    if kind is None or kind == "cheat" or is_undecided(kind, probe):
        return ""
    return {"right": "refused", "must-fail": "impossible"}.get(kind, "survivors")


def _errs(group: str, probe: Probe, acceptance: Acceptance) -> bool:
    accepted = acceptance.accepted(probe)
    if accepted is None or left_out(probe.kind, probe, acceptance.refused):
        return group == "refused" and accepted is False
    return accepted is (group != "refused")


def _one_a_problem_first(found: Sequence[ErredProbe]) -> list[ErredProbe]:
    """Problems take turns, those with most errors first; stable beside that."""
    by_problem: dict[str, list[ErredProbe]] = defaultdict(list)
    for erred in found:
        by_problem[erred.probe.problem_id].append(erred)
    turns = [
        (turn, -len(group), erred)
        for group in by_problem.values()
        for turn, erred in enumerate(sorted(group, key=lambda one: -len(one.graders)))
    ]
    return [erred for _, _, erred in sorted(turns, key=lambda entry: entry[:2])]


# ---------------------------------------------------- The tables, each declared once for terminal, page and files.


MAX_MEASURES = 12
"""Graders and benchmarks that the page shows in detail; the table of all names the others."""
LISTED = 300
"""Rows of a table on a page; files hold all."""
VALUE_CHARS = 1_000
"""`Witness.source` where nothing had to be run."""
TableOfGrader = Callable[[GraderMeasure], Table]


def by_grader(material: AssayMaterial, make: TableOfGrader, on: On = On.PAGE) -> list[Part]:
    """A table of each grader: the first as it stands, the others folded; in files one table of all.

    Rows beyond `LISTED` are in files alone.
    """
    made = [(measure, make(measure)) for measure in material.summary.measures]
    parts: list[Part] = []
    for measure, table in made[:MAX_MEASURES]:
        if not table.rows:
            continue
        title = words.title(measure)
        more = f"; the first {LISTED} of {fmt.count(len(table.rows))}" if table.rows[LISTED:] else ""
        shown = msgspec.structs.replace(table, caption=title + more, rows=table.rows[:LISTED])
        parts.append(doc.Folded(title, [shown]) if parts else shown)
    whole = [
        msgspec.structs.replace(
            made[0][1],
            head=("grader", "benchmark", *made[0][1].head),
            rows=[[one.grader, one.benchmark, *row] for one, of in made for row in of.rows],
        )
    ] if made else []  # fmt: skip
    return [only(on, *parts), only(On.FILES, *whole)]


# -------------------------------------------------------------------------------------------- the numbers


def graders(material: AssayMaterial) -> Table:
    """A row each."""
    measures = material.summary.measures
    level = f"{100 * material.summary.confidence:g} % intervals by problem"
    bases = dict.fromkeys(base for one in measures if one.fpr.value for base in one.ppv)
    rows: list[list[Cell]] = [
        [
            one.grader,
            words.paid_cell(one),
            words.share_with_interval(one.right),
            words.share_with_interval(one.fpr, starred=bool(words.star(one))),
            Worded(one.j.value, words.unit_interval(one.j), one.j.low, one.j.high),
            one.benchmark,
            ", ".join(one.open_channels) or "none",
            one.problems,
            *(words.share_with_interval(one.ppv.get(base)) for base in bases),
        ]
        for one in measures
    ]
    spare = ("benchmark", "open channels", "problems", *(f"PPV at {base}" for base in bases))
    if len({one.benchmark for one in measures}) > 1:
        spare = spare[1:]
    return Table(
        slug="graders",
        caption="Graders compared. TPR: right programs accepted; FPR: wrong ones; J = TPR - FPR",
        alone=f"; {level}",
        head=("grader", "paid without solving", "TPR", "FPR", "J", "benchmark", "open channels", "problems",
              *(f"PPV at {base}" for base in bases)),
        rows=rows,
        spare=spare,
    )  # fmt: skip


def classes(measure: GraderMeasure) -> Table:
    """The share accepted of each class of programs."""
    rows: list[list[Cell]] = [
        [
            noted(words.NAMES[share.kind], words.MADE[share.kind], words.wrong(share)),
            share.accepted,
            share.probes,
            words.share_with_interval(share, starred=share.undecided_accepted > 0),
            share.problems_hit,
            share.problems,
            share.undecided,
            share.undecided_accepted,
            None if share.upper is None else doc.percent(share.upper),
        ]
        for share in measure.shares
    ]
    spare = ("of problems", "undecided", "undecided accepted", "rate at most")
    return Table(
        slug="classes",
        caption="Programs accepted by class",
        head=("class", "accepted", "of", "rate", "problems with an error", *spare),
        rows=rows,
        look="assay-classes",
        spare=spare,
    )


def operators(measure: GraderMeasure) -> Table:
    """Which errors get through, the worst first."""
    worst = sorted(measure.operators.items(), key=lambda entry: -entry[1][0] / max(1, entry[1][1]))
    return Table(
        slug="operators",
        caption="Wrong programs accepted by operator",
        head=("operator", "accepted", "proven wrong", "rate"),
        rows=[
            [name, accepted, wrong, doc.percent(accepted / wrong) if wrong else None]
            for name, (accepted, wrong) in worst
        ],
        look="numeric",
    )


# -------------------------------------------------------------------------------------------- channels


def channels(measure: GraderMeasure) -> Table:
    """What became of the cheats of each channel."""
    return Table(
        slug="channels",
        caption="Cheats accepted by channel",
        head=("channel", "danger", "state", "accepted", "of", "twins accepted", "stays"),
        rows=[
            [
                noted(one.channel, CHANNELS.get(one.channel)),
                *(one.danger, _state(one), one.accepted, one.probes, one.inert_accepted, one.stays),
            ]
            for one in measure.channels
        ],
        look="assay-channels",
    )


def _state(one: ChannelMeasure) -> Cell:
    if not one.probes:
        return "not sent" if one.not_sent else "no verdict"
    if one.open:
        return doc.Badge("open", "failed")
    return doc.Badge("accepted", "unanswered") if one.accepted else doc.Badge("closed", "passed")


def shortest(measure: GraderMeasure) -> Table:
    """Of each finding about what is paid wrongly the shortest program."""
    return Table(
        slug="shortest",
        caption="Shortest programs paid wrongly",
        head=("finding", "how it works", "problem", "paid", "program", "what closes it"),
        rows=[
            [
                one.finding,
                one.how or None,
                one.problem_id,
                one.pay,
                doc.LongText(f"{one.origin} ({one.probe})", one.code),
                one.closes,
            ]
            for one in measure.shortest
        ],
    )


# -------------------------------------------------------------------------------- programs it was wrong about


def erred(
    slug: str, noun: str, found: Sequence[ErredProbe], *, most: int | None = None, witnesses: bool = True
) -> Table:
    """Programs without their texts, the first ``most``: what shows that they are wrong, or what was said."""
    head = ("probe", "problem", "made by", "grader")
    rows: list[list[Cell]] = [
        [Code(one.probe.id), one.probe.problem_id, f"{one.probe.kind} {one.probe.origin}", ", ".join(one.graders)]
        for one in found[:most]
    ]
    extra = _witnessed if witnesses else _said
    more = f"; the first {most}, all are in probes.jsonl and verdicts.jsonl" if found[len(rows) :] else ""
    return Table(
        slug=slug,
        caption=f"{fmt.plural(len(found), noun)}{more}",
        head=(*head, *(("shown by", "expected", "given") if witnesses else ("what it said",))),
        rows=[[*row, *extra(one)] for row, one in zip(rows, found, strict=False)],
        look="assay-list",
    )


def _witnessed(one: ErredProbe) -> list[Cell]:
    witness: Witness | None = one.probe.witness
    if witness is None or witness.source == BY_CONSTRUCTION:
        return [cut(one.probe.change, 120) or None, None, None]
    return [Code(cut(text, 120)) for text in (witness.call, witness.expected, witness.got)]


def _said(one: ErredProbe) -> list[Cell]:
    return [what_was_said(one) or None]


def what_was_said(one: ErredProbe) -> str:
    """What graders said of a program, each once."""
    told = [f"{grader}: {said}" for grader, said in zip(one.graders, one.details, strict=False) if said]
    return "; ".join(dict.fromkeys(told))


def cut(text: str, chars: int = VALUE_CHARS) -> str:
    """A text of readable length, which says how long it is."""
    return text if len(text) <= chars else f"{text[:chars]} … ({fmt.count(len(text))} characters)"


def findings(material: AssayMaterial) -> Table:
    """Everything worth a person's time."""
    return Table(
        slug="findings",
        caption="Findings",
        head=("finding", "grader", "problem", "what was found", "probes"),
        rows=[
            [one.code, one.grader or None, one.problem_id or None, one.sentence, ", ".join(one.probes[:3]) or None]
            for one in material.findings
        ],
    )


# -------------------------------------------------------------------------------------------- by problem


def ranked(measure: GraderMeasure) -> list[ProblemMeasure]:
    """The lowest J first; of equal ones the highest shrunken FPR."""
    known = [one for one in measure.per_problem if one.j is not None]
    return sorted(known, key=lambda one: (one.j or 0.0, -(one.fpr_shrunken or 0.0)))


def problems(measure: GraderMeasure) -> Table:
    """J of each problem, the worst first, those without J last."""
    known = ranked(measure)
    found: Iterable[ProblemMeasure] = [*known, *(one for one in measure.per_problem if one.j is None)]
    return Table(
        slug="problems",
        caption="J by problem",
        head=(
            *("problem", "J", "right accepted", "right", "wrong accepted", "wrong"),
            *("undecided accepted", "undecided", "FPR", "FPR shrunken", "doubtful"),
        ),
        rows=[
            [
                one.problem_id,
                Worded(one.j, words.unit(one.j)),
                *(one.right_accepted, one.right, one.wrong_accepted, one.wrong),
                *(one.undecided_accepted, one.undecided),
                _fpr(one),
                None if one.fpr_shrunken is None else doc.percent(one.fpr_shrunken),
                "yes" if one.doubtful else "no",
            ]
            for one in found
        ],
        look="numeric",
    )  # fmt: skip


def _fpr(one: ProblemMeasure) -> Cell:
    if not one.wrong:
        return None
    share = one.wrong_accepted / one.wrong
    ends = one.fpr_low, one.fpr_high
    return Worded(share, f"{fmt.percent(share)} {fmt.bounds(*ends)}", *ends)


def j_interval(one: ProblemMeasure) -> tuple[float, float]:
    """J at the ends of the interval of FPR."""
    j = one.j or 0.0
    if one.fpr_low is None or one.fpr_high is None or not one.wrong:
        return j, j
    tpr = j + one.wrong_accepted / one.wrong
    return tpr - one.fpr_high, tpr - one.fpr_low


# ------------------------ The programs that a grader was wrong about as a page shows them, each with its evidence.


IN_FULL = 40
"""Wrong programs shown with all their evidence."""
PROGRAM_CHARS = 6_000
COMPARED_CHARS = 24_000
COMPARED_LINES = 500
"""A longer program is shown without a comparison, whose time grows with the square of its lines."""
CONTEXT_LINES = 2
ALIKE = 0.5
"""Share of lines in common from which on a difference says more than the program."""


def survivors_shown(material: AssayMaterial) -> Iterable[Part]:
    """Wrong programs that were accepted."""
    found = material.survivors
    if not found:
        paid = any(measure.forgeable for measure in material.summary.measures)
        yield Prose(
            text="None: no mutant, stub, labelled program or reply was accepted that is proven wrong"
            f"{'; what was paid without solving stands above' if paid else ''}."
        )
        return
    more = f" The first {IN_FULL} are shown with their evidence, one of every problem first."
    yield Prose(
        text=f"{fmt.plural(len(found), 'program')} that a witness proves wrong passed at least one grader."
        f"{more if found[IN_FULL:] else ''} A test with the call of the witness would have refused the program.",
        tone="note",
    )
    for one in found[:IN_FULL]:
        kind = words.NAMES[one.probe.kind].removesuffix("s")
        title = f"{one.probe.problem_id} · {kind} {one.probe.origin} · accepted by {', '.join(one.graders)}"
        change = [Prose(text=one.probe.change, tone="note")] if one.probe.change else []
        yield Folded(title, [*change, _difference(material, one), *_evidence(material, one)])
    if found[IN_FULL:]:
        yield erred("survivors", "program", found[IN_FULL:], most=LISTED)


def refused_shown(material: AssayMaterial) -> Iterable[Part]:
    """Right programs that were refused, and what the grader said."""
    if not material.refused:
        yield Prose(text="None: no right program was refused.")
        return
    yield erred("refused", "right program", material.refused, most=LISTED, witnesses=False)
    for one in material.refused[:IN_FULL]:
        title = f"{one.probe.problem_id} · {one.probe.origin} · refused by {', '.join(one.graders)}"
        said = Prose(text=what_was_said(one) or "It gave no reason.", tone="note")
        yield Folded(title, [said, _difference(material, one)])


def _evidence(material: AssayMaterial, one: ErredProbe) -> Iterable[Part]:
    """The call that shows that a program is wrong, and the command that makes it again."""
    witness = one.probe.witness
    if witness is None:
        return
    if witness.source == BY_CONSTRUCTION:
        said = "; ".join(filter(None, (witness.call, witness.expected, witness.got)))
        yield Prose(text=f"Wrong by construction: {cut(said)}", tone="note")
        return
    yield Facts(
        [
            ("the call", Code(cut(witness.call))),
            ("every reference gives", Code(cut(witness.expected))),
            ("this program", Code(cut(witness.got))),
            ("input from", witness.source),
            ("would have caught it", Code(cut(_test(witness)))),
            ("run it again", Code(f"truegrade assay replay {shlex.quote(material.folder)} {one.probe.id}")),
        ]
    )


def _test(witness: Witness) -> str:
    """The test that the suite lacks."""
    try:
        syntax.literal_eval(witness.expected)
        called = "\n" not in witness.call and witness.call.endswith(")")
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        called = False
    return f"assert {witness.call} == {witness.expected}" if called else "the call above, as a test"


def _difference(material: AssayMaterial, one: ErredProbe) -> Part:
    """What differs from the reference, or the whole program where hardly a line is common."""
    probe, reference = one.probe, material.references.get(one.probe.problem_id)
    whole = Code(cut(probe.code, PROGRAM_CHARS), f"Program {probe.id}")
    if probe.form != "program" or reference is None:
        return whole
    texts = (reference, probe.code)
    if any(len(text) > COMPARED_CHARS or text.count("\n") > COMPARED_LINES for text in texts):
        return whole
    pairs = [[text.splitlines() for text in texts], [_plain(text).splitlines() for text in texts]]
    first, second = min(pairs, key=lambda pair: _changed(*pair))
    hardly_alike = len(second) > 1 and SequenceMatcher(None, first, second).ratio() < ALIKE
    lines = list(unified_diff(first, second, lineterm="", n=CONTEXT_LINES))[2:]
    if hardly_alike or not lines:
        return whole
    shown = (el("span", f"{line}\n", class_=_LINES.get(line[:1])) for line in lines)
    label = f"Program {probe.id} against the reference"
    return el("pre", el("code", shown), class_="diff", tabindex=0, role="group", aria_label=label)


_LINES = {"+": "added", "-": "removed", "@": "dim"}


def _changed(one: list[str], two: list[str]) -> int:
    """Lines that are in one of two texts only; 0 for equal texts is worth nothing, so it counts most."""
    return sum(line[:1] in "+-" for line in unified_diff(one, two, lineterm="", n=0)) or 10**9


def _plain(code: str) -> str:
    """A program as Python itself writes it, so that a difference of layout is none."""
    tree = parse_module(code)
    if isinstance(tree, Fault):
        return code
    try:
        return ast.unparse(tree)
    except (RecursionError, ValueError):
        return code
