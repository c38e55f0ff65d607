"""Sending a grader its probes: in which order, when it is started anew, and when it is not asked further."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from functools import cached_property
from math import ceil

import msgspec

from truegrade.assay.acceptance import REFERENCE, Acceptance, GraderVerdicts
from truegrade.assay.folder import AssayFolder, AssayManifest
from truegrade.assay.probes.must_fail import impossible
from truegrade.assay.records import DANGERS, Dispatch, Probe, Said
from truegrade.assay.resending import send_again
from truegrade.assay.targets.base import Target
from truegrade.assay.targets.readings import NOT_PUT, NOT_SENT
from truegrade.errors import UserError
from truegrade.grading.tests_forms import other_form
from truegrade.pipeline.progress import Progress
from truegrade.records import Problem

PATIENCE = 12
"""Programs without any verdict, the references first, after which a grader is not asked further: at a minute each
for one that hangs, a whole battery would take days."""
SPOILED = 12
"""Verdicts in turn that are not a control's usual one, after which a grader that cannot be started anew is sent no
further cheat."""
BEFORE, BEFORE_ALL = 12, 60
"""Times that such a grader is sent each control before the cheats, and all of one kind together, at least: behind
a cheat that stays it cannot be asked any more what is usual."""


def send(
    target: Target,
    probes: Sequence[Probe],
    problems: Mapping[str, Problem],
    folder: AssayFolder,
    manifest: AssayManifest,
    progress: Progress,
) -> None:
    """Send a grader what it has not been sent yet; one that gave no verdict at all is asked again from the start.

    Raises:
        UserError: it cannot be used, or gives no verdict; it is not asked for long then.
    """
    heard = _Heard(target.name)
    told = set()
    for each in folder.said():
        if each.grader == target.name:
            heard.take(each)
            told.add((each.probe, each.repeat))
    if not heard.verdicts:
        heard, told = _Heard(target.name), set()
    sent = list(wanted(target, probes, problems))
    repeats = range(manifest.repeat)
    done = sum((one.probe.id, repeat) in told for one in sent for repeat in repeats)
    progress.start(f"grade as {target.name}", total=len(sent) * len(repeats), done=done)
    try:
        with folder.append_said() as journal:
            for repeat in repeats:
                left = [one for one in sent if (one.probe.id, repeat) not in told]
                watch = _Watch(probes, heard.given, manifest.pass_at)
                for each in _answers(target, left, heard, watch, journal.append):
                    row = each if repeat == 0 else msgspec.structs.replace(each, repeat=repeat)
                    journal.append(row)
                    progress.advance()
                    heard.take(row)
                    if not heard.verdicts and heard.silent >= PATIENCE:
                        raise heard.unusable(problems)
            if sent and not heard.verdicts:
                raise heard.unusable(problems)
            if not heard.spoiled:
                send_again(target, sent, heard.given, manifest.pass_at, journal.append)
    finally:
        progress.finish()


def wanted(target: Target, probes: Sequence[Probe], problems: Mapping[str, Problem]) -> Iterator[Dispatch]:
    """What a grader is sent: not what is more dangerous than it may be sent, and not what it has no rules for."""
    allowed = DANGERS.index(target.danger)
    controlled = {"", *_first_of_each_cheat(probes)}
    changed: dict[tuple[str, str, int], Problem | None] = {}
    times = max(BEFORE, ceil(BEFORE_ALL / max(1, len(problems))))
    first = ("right", REFERENCE)  # of every problem: a grader that says nothing of them is not asked further
    last = ("cheat", "control")  # what they leave in a grader must not meet the others
    for probe in sorted(probes, key=lambda each: (each.kind in last, (each.kind, each.origin) != first)):
        problem = problems.get(probe.problem_id)
        if problem is None or DANGERS.index(probe.danger) > allowed:
            continue
        if probe.kind == "control" and not (target.keeps_state or probe.after in controlled):
            continue
        if probe.tests:
            key = (probe.problem_id, probe.tests, probe.at)
            if key not in changed:
                changed[key] = impossible(problem, probe.tests, probe.at)
            problem = changed[key]
        if problem is not None:
            first_control = probe.kind == "control" and not probe.after and not target.restarts
            yield from [Dispatch(probe=probe, problem=problem)] * (times if first_control else 1)


def _first_of_each_cheat(probes: Sequence[Probe]) -> frozenset[str]:
    """Behind these every grader is sent controls."""
    first: dict[str, str] = {}
    for probe in probes:
        if probe.kind == "cheat" and not probe.inert:
            first.setdefault(probe.origin, probe.id)
    return frozenset(first.values())


class _Heard:
    """What a grader has said so far, and whether to go on asking it."""

    def __init__(self, grader: str) -> None:
        self._grader = grader
        self.given = GraderVerdicts()
        self.verdicts = self.silent = 0
        self.spoiled = False
        """Whether a cheat stays in it for good."""
        self._why: Counter[str] = Counter()

    def take(self, said: Said) -> None:
        """Count one row; what was not sent needs no patience."""
        self.given.add(said)
        if said.passed is not None:
            self.verdicts += 1
            return
        self.silent += not said.detail.startswith((NOT_PUT, NOT_SENT))
        self._why[said.detail] += 1

    def unusable(self, problems: Mapping[str, Problem]) -> UserError:
        """The error that says why there is nothing to measure."""
        why, number = min(self._why.items(), key=lambda each: (-each[1], each[0]))
        programs = f"{number} of the first {self._why.total()}"
        advice = "correct it, or choose another `call`"
        if why.startswith(NOT_PUT):
            advice = other_form([*problems.values()]) or "choose another `tests_as`"
        return UserError(
            f"{self._grader} gives no verdict, so nothing of it is measured; {programs} programs: {why}; {advice}"
        )


class _Watch:
    """Looks whether a control got another verdict than the same control got most often so far.

    Args:
        probes: all; the references among them have got their verdicts when it is first asked.
        given: all verdicts.
        pass_at: score from which on a program is accepted; None for that of the reference.
    """

    def __init__(self, probes: Sequence[Probe], given: GraderVerdicts, pass_at: float | None) -> None:
        self._probes, self._given, self._pass_at = probes, given, pass_at
        self._seen: dict[tuple[str, str], list[bool]] = defaultdict(list)

    @cached_property
    def _acceptance(self) -> Acceptance:
        return Acceptance(self._probes, self._given, self._pass_at)

    def changed(self, control: Probe) -> bool:
        """Take the latest verdict on a control."""
        answers = self._acceptance.each_time(control)[-1:]
        seen = self._seen[control.problem_id, control.origin]
        other = bool(seen and answers) and answers[0] is not (2 * sum(seen) >= len(seen))
        seen += answers
        return other

    def still(self, control: Probe) -> bool:
        """Whether the verdict that changed is the same each time that the control was sent again."""
        return set(self._acceptance.each_time(control, again=True)) == {*self._acceptance.each_time(control)[-1:]}


def _answers(
    target: Target, left: Sequence[Dispatch], heard: _Heard, watch: _Watch, keep: Callable[[Said], object]
) -> Iterator[Said]:
    """What a grader says; behind a cheat that changed the verdict on a control it is started anew."""
    while left:
        with closing(target.grade(left)) as said:  # type: ignore[type-var]
            for place, each in enumerate(said):
                yield each
                control = left[place]
                if target.keeps_state and control.probe.kind == "control" and watch.changed(control.probe):
                    break
            else:
                return
        if not target.restarts and _stays(target, control, heard, watch, keep):
            heard.spoiled = True
            return
        left = left[place + 1 :]


def _stays(
    target: Target, control: Dispatch, heard: _Heard, watch: _Watch, keep: Callable[[Said], object]
) -> bool:
    """Whether a changed verdict on a control is the same when it is sent again and again."""
    for said in target.grade([control] * SPOILED):
        row = msgspec.structs.replace(said, fresh=True)
        keep(row)
        heard.take(row)
    return watch.still(control.probe)
