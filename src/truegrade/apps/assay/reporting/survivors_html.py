"""The programs that a grader was wrong about, each with its evidence, and the channels that are open."""

from __future__ import annotations

import ast
import shlex
from collections.abc import Callable, Sequence
from difflib import SequenceMatcher, unified_diff

from truegrade.apps.assay.cheats import CHANNELS
from truegrade.apps.assay.measures import ChannelMeasure, GraderMeasure
from truegrade.apps.assay.records import Witness
from truegrade.apps.assay.reporting import words
from truegrade.apps.assay.reporting.material import AssayMaterial, ErredProbe
from truegrade.apps.assay.reporting.measures_html import MAX_MEASURES, by_grader, note
from truegrade.extraction.parsing import Fault, parse_module
from truegrade.report import format as fmt
from truegrade.report.markup import Child, Markup, el
from truegrade.report.page_parts import facts, folded, table

BY_CONSTRUCTION = "by construction"
"""`Witness.source` where nothing had to be run."""
IN_FULL = 40
"""Wrong programs shown with all their evidence."""
LISTED = 300
"""Rows of a table of the others."""
PROGRAM_CHARS = 6_000
COMPARED_CHARS = 24_000
COMPARED_LINES = 500
"""A longer program is shown without a comparison, whose time grows with the square of its lines."""
VALUE_CHARS = 1_000
CONTEXT_LINES = 2
ALIKE = 0.5
"""Share of lines in common from which on a difference says more than the program."""


def survivors_content(material: AssayMaterial) -> Child:
    """Wrong programs that were accepted."""
    found = material.survivors
    if not found:
        return el("p", "None: no mutant, stub, labelled program or reply was accepted that is proven wrong.")
    more = f" The first {IN_FULL} are shown with their evidence, one of every problem first."
    more = more if found[IN_FULL:] else ""
    said = (
        f"{fmt.plural(len(found), 'program')} that a witness proves wrong passed at least one grader.{more} A test"
        " with the call of the witness would have refused the program."
    )
    shown = [_survivor(material, erred, open_=place == 0) for place, erred in enumerate(found[:IN_FULL])]
    return [note(said), shown, _rest(found[IN_FULL:])]


def refused_content(material: AssayMaterial) -> Child:
    """Right programs that were refused, and what the grader said."""
    if not material.refused:
        return el("p", "None: no right program was refused.")
    shown = (
        folded(
            f"{erred.probe.problem_id} · {erred.probe.origin} · refused by {_graders(erred)}",
            el("p", _said(erred), class_="note"),
            _difference(material, erred),
        )
        for erred in material.refused[:IN_FULL]
    )
    columns = {"made by": lambda e: e.probe.origin, "refused by": _graders, "what it said": _said}
    return [_listing(material.refused, "right program", **columns), shown]


def other_errors_content(material: AssayMaterial) -> Child:
    """Impossible tests that were passed, and verdicts that change."""
    impossible, flaky = material.impossible, material.flaky
    parts: list[Child] = []
    if impossible:
        said = (
            "The tests of these problems contradict each other or the statement, so no honest program passes them."
            " A grader that accepts one does not compare, or skips tests."
        )
        parts += [el("h3", "Impossible tests passed"), el("p", said, class_="note"), _rest(impossible)]
    if flaky:
        said = "The same program was sent more than once and judged differently; the first verdict is counted."
        parts += [el("h3", "Flaky verdicts"), el("p", said, class_="note"), _rest(flaky)]
    return parts


def _survivor(material: AssayMaterial, erred: ErredProbe, *, open_: bool) -> Markup:
    probe = erred.probe
    kind = words.NAMES[probe.kind].removesuffix("s")
    return el(
        "details",
        el("summary", f"{probe.problem_id} · {kind} {probe.origin} · accepted by {_graders(erred)}"),
        el("p", probe.change, class_="note") if probe.change else None,
        _difference(material, erred),
        None if probe.witness is None else _evidence(material, probe.id, probe.witness),
        open=open_,
        class_="survivor",
    )


def _evidence(material: AssayMaterial, probe_id: str, witness: Witness) -> Child:
    """The call that shows that a program is wrong, and the command that makes it again."""
    if witness.source == BY_CONSTRUCTION:
        said = "; ".join(filter(None, (witness.call, witness.expected, witness.got)))
        return el("p", f"Wrong by construction: {_cut(said)}", class_="note")
    command = f"truegrade assay replay {shlex.quote(material.folder)} {probe_id}"
    return [
        facts(
            ("the call", el("code", _cut(witness.call))),
            ("every reference gives", el("code", _cut(witness.expected))),
            ("this program", el("code", _cut(witness.got))),
            ("input from", witness.source),
        ),
        el("p", "Would have caught it: ", el("code", _cut(_test(witness))), class_="note"),
        el("p", el("code", command), class_="replay"),
    ]


def _test(witness: Witness) -> str:
    """The test that the suite lacks."""
    try:
        ast.literal_eval(witness.expected)
        called = "\n" not in witness.call and witness.call.endswith(")")
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        called = False
    return f"assert {witness.call} == {witness.expected}" if called else "the call above, as a test"


def program(code: str, name: str) -> Markup:
    """A program, cut to a readable length."""
    return el("pre", el("code", _cut(code, PROGRAM_CHARS)), tabindex=0, role="group", aria_label=name)


def _difference(material: AssayMaterial, erred: ErredProbe) -> Markup:
    """What differs from the reference, or the whole program where hardly a line is common."""
    probe, reference = erred.probe, material.references.get(erred.probe.problem_id)
    whole = program(probe.code, f"Program {probe.id}")
    if probe.form != "program" or reference is None:
        return whole
    texts = (reference, probe.code)
    if any(len(text) > COMPARED_CHARS or text.count("\n") > COMPARED_LINES for text in texts):
        return whole
    pairs = [[text.splitlines() for text in texts], [_plain(text).splitlines() for text in texts]]
    one, two = min(pairs, key=lambda pair: _changed(*pair))
    hardly_alike = len(two) > 1 and SequenceMatcher(None, one, two).ratio() < ALIKE
    lines = list(unified_diff(one, two, lineterm="", n=CONTEXT_LINES))[2:]
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


def _rest(found: Sequence[ErredProbe]) -> Child:
    """Programs without their texts."""
    made_by = {"made by": lambda e: f"{e.probe.kind} {e.probe.origin}"}
    return _listing(found, "program", **made_by, grader=_graders, witness=_witnessed) if found else None


def _listing(found: Sequence[ErredProbe], noun: str, **columns: Callable[[ErredProbe], Child]) -> Markup:
    """A row for each of the first; the columns behind its id and problem by their titles."""
    rows = [
        [el("code", erred.probe.id), erred.probe.problem_id, *(of(erred) for of in columns.values())]
        for erred in found[:LISTED]
    ]
    more = f"; the first {LISTED}, all are in probes.jsonl and verdicts.jsonl" if len(found) > LISTED else ""
    caption = f"{fmt.plural(len(found), noun)}{more}"
    return table(caption, ["probe", "problem", *columns], rows, class_="assay-list")


def _graders(erred: ErredProbe) -> str:
    return ", ".join(erred.graders)


def _witnessed(erred: ErredProbe) -> Child:
    witness = erred.probe.witness
    if witness is None or witness.source == BY_CONSTRUCTION:
        return _cut(erred.probe.change, 120) or "–"
    return el("code", _cut(witness.call, 120))


def _said(erred: ErredProbe) -> str:
    told = [f"{grader}: {said}" for grader, said in zip(erred.graders, erred.details, strict=False) if said]
    return "; ".join(dict.fromkeys(told)) or "–"


def _cut(text: str, chars: int = VALUE_CHARS) -> str:
    return text if len(text) <= chars else f"{text[:chars]} … ({fmt.count(len(text))} characters)"


def channels_content(material: AssayMaterial) -> Child:
    """The matrix of graders and channels; None where no channel was tried."""
    measures = [measure for measure in material.summary.measures if measure.channels]
    if not measures:
        return None
    several = len({measure.benchmark for measure in measures}) > 1
    head: list[Child] = ["channel", "danger"]
    head += [f"{one.grader}, {one.benchmark}" if several else one.grader for one in measures[:MAX_MEASURES]]
    found = [{one.channel: one for one in measure.channels} for measure in measures[:MAX_MEASURES]]
    names = dict.fromkeys(one.channel for measure in measures for one in measure.channels)
    rows: list[list[Child]] = [
        [
            [name, el("small", CHANNELS[name]) if name in CHANNELS else None],
            next((of[name].danger for of in found if name in of), ""),
            *(_cell(of.get(name)) for of in found),
        ]
        for name in names
    ]
    said = (
        "A cheat computes nothing and reaches for the verdict. A channel is open where a cheat is accepted and its"
        " inert twin, the same text with the hook cut, is refused. Against a policy that is rewarded by this"
        " grader one open channel is as bad as all. Danger: h0 is harmless anywhere, h1 touches the interpreter"
        " that it runs in, h2 writes files in its working folder."
    )
    return [note(said), table("Cheats accepted, of those sent", head, rows, class_="assay-channels")]


def _cell(one: ChannelMeasure | None) -> Child:
    if one is None or (not one.probes and not one.not_sent):
        return "–"
    if not one.probes:
        return el("span", "not sent", class_="dim")
    counted = el("small", f"{fmt.count(one.accepted)} of {fmt.count(one.probes)}")
    stays = (
        el("small", f"stays: {fmt.plural(one.stays, 'control')} judged otherwise after it") if one.stays else None
    )
    twins = None
    if one.accepted and not one.open:
        twins = el("small", f"so is the inert twin, {fmt.count(one.inert_accepted)} of {fmt.count(one.inert)}")
    state, badge = ("accepted", "badge") if one.accepted else ("closed", "badge passed")
    if one.open:
        state, badge = "open", "badge failed"
    return [el("span", state, class_=badge), counted, twins, stays]


def shortest_content(material: AssayMaterial) -> Child:
    """The shortest program of each finding about what is paid wrongly; None without any."""
    any_paid = any(measure.shortest for measure in material.summary.measures)
    return by_grader(material, _shortest) if any_paid else None


def _shortest(measure: GraderMeasure) -> Child:
    return [
        folded(
            f"{one.finding}: {words.named(one)}",
            el("p", f"How it works: {one.how}.", class_="note") if one.how else None,
            el("p", one.change, class_="note") if one.change else None,
            el("pre", el("code", one.code), tabindex=0, role="group", aria_label=f"Program {one.probe}"),
            el("p", f"What closes it: {one.closes}."),
        )
        for one in measure.shortest
    ]
