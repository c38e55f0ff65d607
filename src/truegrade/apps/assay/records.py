"""The records of an assay: probes, what graders said of them, and what was found.

A *probe* is a program whose correctness is known, with the evidence. A *grader* is what is measured: a profile, a
benchmark's tests, or somebody else's reward function. All of these records are lines of journals in the folder of
an assay (`truegrade.apps.assay.folder`).
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Literal

import msgspec

from truegrade.errors import UnknownName, UserError
from truegrade.records import Form, Problem, sha256_json

ProbeClass = Literal[
    "right", "mutant", "labelled", "reply", "output", "stub", "cheat", "must-fail", "control", "form", "ahead"
]
"""Kinds of probes, which are never counted together. ``labelled``: submissions that a data set labels; ``reply``:
what models answered; ``output``: references whose output is changed in one way; ``must-fail``: honest programs
for a problem whose tests were made impossible; ``control``: a program sent again, before the cheats and behind
each, to see whether verdicts flip and whether a cheat stays in the grader; ``form``: references as replies of
several forms; ``ahead``: references in a `Probe.order`. The last three are in no rate."""

Label = Literal["right", "wrong", "undecided"]
"""``undecided``: no input was found on which a mutant differs, and it was not proven equivalent."""

Danger = Literal["h0", "h1", "h2"]
"""``h0``: values, printing, exceptions; harmless anywhere. ``h1``: touches the interpreter that it runs in, and
may end it. ``h2``: writes files in its working folder."""

DANGERS: tuple[Danger, ...] = ("h0", "h1", "h2")
"""In rising order."""

Impossible = Literal["", "one-off", "conflicting"]
"""How the tests of a problem were made impossible: one expected value changed, or one test doubled with another
value (ImpossibleBench, arXiv 2510.20270); empty for the problem's own tests."""


Order = Literal["", "right-first", "wrong-first"]
"""Which conversation of its problem a probe belongs to: a reference ahead of each stub, or the same stubs without
one and a reference at the end. The whole conversation is held with one process of the grader, in its order."""


BY_CONSTRUCTION = "by construction"
"""`Witness.source` where nothing had to be run."""
DOES_NOT_END = "does not end"
"""How `Witness.got` begins where a program took more steps than it may."""


class Witness(msgspec.Struct, frozen=True, kw_only=True):
    """The evidence for a label: one call, what every reference returns and what the probe returns."""

    call: str
    """Python source, ``f(1, [2])``; of a program on stdin the text of the input."""
    expected: str
    """``repr`` of the references' value."""
    got: str
    """``repr`` of the probe's value, ``raises TypeError: …`` or ``does not end: more than N steps``."""
    source: str
    """Where the input came from: ``own`` (the problem's tests), ``plus`` (its extended benchmark), ``generated``;
    or ``by construction``, where nothing had to be run: then `call` and the values say why in words."""
    repeats: int = 1
    """How often the call is made in one process; it is the last one that differs."""


class Probe(msgspec.Struct, frozen=True, kw_only=True):
    """One program that is sent to a grader."""

    id: str
    """`probe_id` of the fields that decide it: the same battery gives the same ids."""
    problem_id: str
    kind: ProbeClass
    origin: str
    """What made it: a mutation operator, a rewriting, a stub, a channel, the source of a labelled program."""
    code: str
    """What is sent: a whole program, or for another `form` the text of a reply."""
    form: Form = "program"
    label: Label
    witness: Witness | None = None
    """None for right programs, and where the label is undecided."""
    tests: Impossible = ""
    """The tests that it is graded by."""
    at: int = -1
    """Which of these was made impossible, 0-based among those that can be; -1 for the last."""
    danger: Danger = "h0"
    channel: str = ""
    """Of a cheat: the way by which it reaches the verdict (`truegrade.apps.assay.cheats.CHANNELS`)."""
    inert: bool = False
    """A cheat with its hook cut: the same text otherwise. Accepted, the channel is not what was accepted."""
    after: str = ""
    """Of a control: the id of the cheat that it follows; empty before the first."""
    order: Order = ""
    """Of a stub, and of the references ahead of it: the conversation that shows whether a grader judges a program
    by the one before; empty for probes whose place does not matter."""
    change: str = ""
    """Of a mutant: what was changed, ``line 3: a < b -> a <= b``; of others a note for a person."""


def probe_id(problem_id: str, kind: str, origin: str, code: str, *rest: object) -> str:
    """A stable id: 16 hexadecimal digits over what decides the probe."""
    return sha256_json([problem_id, kind, origin, code, *rest])[:16]


def make_probe(
    problem_id: str,
    kind: ProbeClass,
    origin: str,
    code: str,
    *rest: object,
    label: Label = "undecided",
    **fields: Any,
) -> Probe:
    """A probe under its id, which the first arguments and ``rest`` decide; its other fields are given by name."""
    own = probe_id(problem_id, kind, origin, code, *rest)
    return Probe(id=own, problem_id=problem_id, kind=kind, origin=origin, code=code, label=label, **fields)


class Dispatch(msgspec.Struct, frozen=True, kw_only=True):
    """A probe on its way to a grader, with the problem whose tests it is graded by.

    ``problem`` carries the changed tests where ``probe.tests`` says so; its id then is ``ID#one-off``.
    """

    probe: Probe
    problem: Problem
    of_messages: bool = False
    """Whether the probe's code is JSON, a list of messages."""


class Said(msgspec.Struct, frozen=True, kw_only=True):
    """What a grader said of a probe."""

    probe: str
    """Its id."""
    grader: str
    repeat: int = 0
    """0-based: which time the same probe was sent."""
    fresh: bool = False
    """Whether it was sent again, to a grader started anew where it can be, to be told from chance
    (`truegrade.apps.assay.sending`); a comment at the program's end then differs from time to time."""
    passed: bool | None
    """What the grader says in its own terms; None where it gave no verdict (it died, hung, or said what cannot be
    read), which is counted apart."""
    score: float | None = None
    """The number that it gave, where it gives one."""
    detail: str = ""
    """One line for a person."""
    cpu_s: float | None = None
    """CPU seconds of the probe, where the grader tells."""
    wall_s: float | None = None
    """Seconds between sending and answer."""


class AssayFinding(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that the assay found, worth a person's time."""

    code: str
    """Stable name, documented in `CODES`."""
    grader: str = ""
    problem_id: str = ""
    """Empty where it concerns the whole grader."""
    probes: tuple[str, ...] = ()
    """Ids."""
    sentence: str


CODES: Mapping[str, str] = MappingProxyType(
    {
        "accepts_anything": "every stub that returns a value is accepted for the problem, three of them at least",
        "ambiguous_statement": "references disagree on a valid input, which therefore decides nothing",
        "channel_open": "a cheat is accepted, its twin with the hook cut refused, beyond what flips explain",
        "cheat_stays": "after a cheat the verdict on another program changes: the cheat stays in the grader",
        "decided_by_text": "the length or a word of a wrong program decides whether it is accepted",
        "depends_on_batch": "what stands beside a reply in a batch flips its verdict, or rewards are missing",
        "flaky_verdict": "the same honest program got different verdicts when it was sent again",
        "grader_died": "the grader ended while it graded a program, and was started again",
        "grader_hung": "the grader gave no answer in its time, and was started again",
        "grader_raised": "the grader raised an exception, or its service answered with an error",
        "grader_score": "the grader gave what is no score: None, NaN, several values",
        "grader_text": "the grader said something that cannot be read as a verdict",
        "judged_by_another": "stubs are accepted behind a right program, and refused behind a wrong one",
        "label_conflict": "a data set's label and the oracle disagree; the program is counted nowhere",
        "labelled_unproven": "a data set calls a program wrong, and no input shows it; it counts as undecided",
        "looser_than_tests": "wrong programs are accepted that the problems' own tests refuse, run by strict",
        "must_fail_accepted": "tests that no honest program can pass were passed; perhaps they are not looked at",
        "no_oracle": "no label of the problem's right and wrong programs can be proven by running them",
        "no_verdict": "programs got no verdict for another reason than those named here; they are in no rate",
        "overlooks_difference": "of wrong programs that differ in one way far more are accepted than of others",
        "pays_for_style": "programs that solve nothing are accepted for comments, types, thoughts or length",
        "paid_without_solving": "programs are accepted that solve nothing, and not by the problems' own tests",
        "reads_other_messages": "of replies of several messages it judges another than the model's last program",
        "reference_raises": "the benchmark's reference fails on its own tests or inputs",
        "reference_refused": "the grader refuses the benchmark's reference; the problem is left out of the FPR",
        "refuses_kind": "of right programs written in one way far more are refused than of others",
        "right_refused": "the grader refuses a program that is proven right",
        "stub_like_cheat": "cheats are accepted, and their twins with the hook cut as well: not by the channel",
        "tests_form": "the tests cannot be put into the form that the grader takes; nothing was sent",
        "vacuous_comparison": "more than half of the wrong programs for the problem are accepted, beyond chance",
        "weak_tests": "programs that solve nothing pass the problems' own tests under strict as well",
        "wrong_above_right": "a wrong program gets more than a right one to the same problem",
    }
)
"""Name of each finding to what it means."""


CLASSES = ("right", "mutants", "outputs", "stubs", "labelled", "forms", "cheats", "must-fail")
"""Names of what ``--probes`` asks for, in the order in which they are sent."""


class Battery(msgspec.Struct, frozen=True, kw_only=True):
    """The probes of each problem; equal batteries on equal data give equal probes.

    Raises:
        UnknownName: there is no class of that name.
        UserError: a number is out of range.
    """

    classes: tuple[str, ...] = CLASSES
    per_problem: int = 20
    """Mutants of each reference, at most; stubs and rewrites are few and always sent."""
    cheats_per_problem: int = 6
    """Cheats of each problem, each with its inert twin, in turn: over the problems every cheat is sent."""
    inputs: int = 200
    """Inputs that are generated for each problem, besides those of its tests, to prove labels by."""
    seed: int = 0

    def __post_init__(self) -> None:
        for name in self.classes:
            if name not in CLASSES:
                raise UnknownName("class of probes", name, CLASSES)
        if not self.classes:
            raise UserError(f"no class of probes is named; choose from {', '.join(CLASSES)}")
        if self.per_problem < 1 or self.cheats_per_problem < 1 or self.inputs < 0:
            raise UserError("`per_problem` and `cheats_per_problem` are at least 1, `inputs` at least 0")
