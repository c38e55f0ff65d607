"""The programs that a grader was wrong about as a page shows them, each with its evidence."""

from __future__ import annotations

import ast
import shlex
from collections.abc import Iterable
from difflib import SequenceMatcher, unified_diff

from truegrade.apps.assay.records import Witness
from truegrade.apps.assay.reporting import words
from truegrade.apps.assay.reporting.assay_tables import BY_CONSTRUCTION, LISTED, cut, erred, what_was_said
from truegrade.apps.assay.reporting.material import AssayMaterial, ErredProbe
from truegrade.extraction.parsing import Fault, parse_module
from truegrade.report import format as fmt
from truegrade.report.document import Code, Facts, Folded, Part, Prose
from truegrade.report.markup import el

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
        yield Prose(text="None: no mutant, stub, labelled program or reply was accepted that is proven wrong.")
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
        ast.literal_eval(witness.expected)
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
