"""Sending a grader its probes: in which order, when it is started anew, and when it is not asked further.

What a flipped verdict may have made look like cheating is sent again, until it is told from chance. A cheat that
was accepted goes with its inert twin, and a cheat behind which a control changed with its controls, to a grader
started anew: one conversation each time. It ends where each verdict in question is ahead by the lead that flips do
not reach (`acceptance.Steadiness`), where it fell behind, and at the latest after `MOST_LEADS`
times that lead. Conversations begin with a different number of controls, and every program ends with another
comment, so that what hangs on the place or the text of a program counts as chance, too.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from functools import cached_property
from itertools import chain
from math import ceil
from pathlib import Path

import msgspec

from truegrade.apps.assay.acceptance import (
    REFERENCE,
    Acceptance,
    GraderVerdicts,
    Steadiness,
    pairs_of,
    raising_paid,
    solves_nothing,
)
from truegrade.apps.assay.folder import VERDICTS, AssayFolder, AssayManifest
from truegrade.apps.assay.probes.must_fail import make_impossible
from truegrade.apps.assay.records import DANGERS, Danger, Dispatch, Probe, Said
from truegrade.apps.assay.targets import Target
from truegrade.apps.assay.targets.calls import NOT_PUT, NOT_SENT
from truegrade.apps.assay.targets.programs import missing_in
from truegrade.errors import UserError
from truegrade.files.writing import require_writable, writing
from truegrade.grading.tests_forms import other_form
from truegrade.pipeline.verdicts import Progress
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
    before = [each for each in folder.said() if each.grader == target.name]
    if all(each.passed is None for each in before):
        before = []
    for each in before:
        heard.take(each)
    told = {(each.probe, each.repeat) for each in before}
    sent = list(wanted(target, probes, problems))
    repeats = range(manifest.repeat)
    done = sum((one.probe.id, repeat) in told for one in sent for repeat in repeats)
    progress.start(f"grade as {target.name}", total=len(sent) * len(repeats), done=done)
    try:
        with folder.append(VERDICTS, Said) as journal:
            for repeat in repeats:
                left = [one for one in sent if (one.probe.id, repeat) not in told]
                for each in _Round(target, probes, heard, manifest.pass_at, journal.append).answers(left):
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
    cheats = [probe for probe in probes if probe.kind == "cheat" and not probe.inert]
    # Behind the first of each cheat every grader is sent controls.
    controlled = {"", *{cheat.origin: cheat.id for cheat in reversed(cheats)}.values()}
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
                made = make_impossible(problem, probe.tests, probe.at)
                changed[key] = None if made is None else made.problem
            problem = changed[key]
        if problem is not None:
            first_control = probe.kind == "control" and not probe.after and not target.restarts
            yield from [Dispatch(probe=probe, problem=problem)] * (times if first_control else 1)


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
        advice = missing_in(why) or "correct it, or choose another `call`"
        if why.startswith(NOT_PUT):
            advice = other_form([*problems.values()]) or "choose another `tests_as`"
        return UserError(
            f"{self._grader} gives no verdict, so nothing of it is measured; {programs} programs: {why}; {advice}"
        )


class _Round:
    """One time that a grader is sent its probes; started anew behind a cheat that changed a control's verdict.

    The references among the probes have got their verdicts when a control is first looked at; ``keep`` is told of
    what is sent again.
    """

    def __init__(
        self,
        target: Target,
        probes: Sequence[Probe],
        heard: _Heard,
        pass_at: float | None,
        keep: Callable[[Said], object],
    ) -> None:
        self._target, self._probes, self._heard, self._pass_at, self._keep = target, probes, heard, pass_at, keep
        self._seen: dict[tuple[str, str], list[bool]] = defaultdict(list)

    @cached_property
    def _acceptance(self) -> Acceptance:
        return Acceptance(self._probes, self._heard.given, self._pass_at)

    def answers(self, left: Sequence[Dispatch]) -> Iterator[Said]:
        """What the grader says."""
        while left:
            with closing(self._target.grade(left)) as said:  # type: ignore[type-var]
                for place, each in enumerate(said):
                    yield each
                    control = left[place].probe
                    if self._target.keeps_state and control.kind == "control" and self._changed(control):
                        break
                else:
                    return
            if not self._target.restarts and self._stays(left[place]):
                self._heard.spoiled = True
                return
            left = left[place + 1 :]

    def _changed(self, control: Probe) -> bool:
        """Whether the latest verdict on a control is another one than it got most often so far."""
        answers = self._acceptance.each_time(control)[-1:]
        seen = self._seen[control.problem_id, control.origin]
        other = bool(seen and answers) and answers[0] is not (2 * sum(seen) >= len(seen))
        seen += answers
        return other

    def _stays(self, control: Dispatch) -> bool:
        """Whether a changed verdict on a control is the same when it is sent again and again."""
        for said in self._target.grade([control] * SPOILED):
            row = msgspec.structs.replace(said, fresh=True)
            self._keep(row)
            self._heard.take(row)
        times = self._acceptance.each_time
        return set(times(control.probe, again=True)) == {*times(control.probe)[-1:]}


GIVEN_UP = -2
"""Lead at which a verdict in question is taken for chance."""
MOST_LEADS = 4
AHEAD = 4
"""Conversations begin with 0 to 3 controls."""


def send_again(
    target: Target,
    sent: Iterable[Dispatch],
    verdicts: GraderVerdicts,
    pass_at: float | None,
    keep: Callable[[Said], object],
) -> None:
    """Send again what has to be, of all that was sent of one benchmark; goes on where a call was interrupted.

    What the grader says now is added to ``verdicts``, which hold all that it said, and ``keep`` is told of it.
    """
    resending = _Resending({each.probe.id: each for each in sent}, verdicts, pass_at)
    while talks := resending.conversations():
        # A grader that keeps nothing may get them all at once.
        for talk in talks if target.keeps_state else [list(chain.from_iterable(talks))]:
            with closing(target.grade(talk)) as said:  # type: ignore[type-var]
                for each in said:
                    row = msgspec.structs.replace(each, fresh=True)
                    verdicts.add(row)
                    keep(row)


class _Resending:
    """Which conversations are left."""

    def __init__(self, sent: Mapping[str, Dispatch], verdicts: GraderVerdicts, pass_at: float | None) -> None:
        self._probes = [each.probe for each in sent.values()]
        self._sent, self._verdicts = sent, verdicts
        self._acceptance = Acceptance(self._probes, verdicts, pass_at)
        self._pairs = [(cheat, twin) for cheat, twin in pairs_of(self._probes) if self._acceptance.sent(cheat)]
        self._behind: dict[str, list[Probe]] = defaultdict(list)
        self._first: dict[str, list[Probe]] = defaultdict(list)
        for probe in self._probes:
            if probe.kind == "control" and probe.after:
                self._behind[probe.after].append(probe)
            elif probe.kind == "control":
                self._first[probe.problem_id].append(probe)

    def conversations(self) -> list[list[Dispatch]]:
        """The next one of each cheat in question, and one of all other programs that chance may have paid.

        Of a channel one cheat at a time is in question until one is told from chance: then the others of the
        channel are no matter. Where verdicts flip, every cheat that was accepted is looked at nevertheless.
        """
        self._steadiness = Steadiness(self._probes, self._acceptance)
        self._raising = raising_paid(self._probes, self._acceptance, self._steadiness)
        lead, doubt = self._steadiness.lead, self._steadiness.flips > 0
        if lead is None:
            return []
        talks, busy = [], set[tuple[str, str]]()
        for cheat, twin in self._pairs:
            going = False
            for matter, leads in (("stays", self._stays(cheat)), ("open", self._opens(cheat, twin, doubt))):
                if leads and (cheat.channel, matter) not in busy:
                    undecided = self._undecided(cheat, leads, lead)
                    if undecided or min(leads) >= lead:
                        busy |= {(cheat.channel, matter)} if matter == "stays" or not doubt else set()
                    going = going or undecided
            if going:
                talks.append(self._talk(cheat, twin))
        rest = self._paid_by_chance(lead) if doubt else []
        return [*talks, rest] if rest else talks

    def _paid_by_chance(self, lead: int) -> list[Dispatch]:
        doubtful = [
            probe
            for probe in self._probes
            if (probe.kind != "cheat" or probe.inert)
            and solves_nothing(probe)
            and self._acceptance.accepted(probe)
            and self._undecided(probe, [self._acceptance.lead(probe)], lead)
        ]
        turn = len(self._verdicts.again[doubtful[0].id]) if doubtful else 0
        return [self._again(probe, turn) for probe in (*doubtful[turn:], *doubtful[:turn])]

    def _stays(self, cheat: Probe) -> list[int]:
        """Where a control behind a cheat got another verdict than usual, by how much these verdicts lead."""
        changed = [probe for probe in self._behind[cheat.id] if self._steadiness.changed(probe)]
        return list(max(map(self._steadiness.changed_leads, changed), key=min)) if changed else []

    def _opens(self, cheat: Probe, twin: Probe | None, doubt: bool) -> list[int]:
        """Where the verdicts on a cheat and its twin look like an open channel, by how much they lead."""
        if twin is None:
            return []
        paid, paid_twin = self._acceptance.accepted(cheat), self._acceptance.accepted(twin)
        lead, lead_twin = self._acceptance.lead(cheat), self._acceptance.lead(twin)
        if paid and not paid_twin and cheat.problem_id not in self._raising:
            return [lead, -lead_twin]
        return [lead] if paid and doubt else []

    def _undecided(self, sent: Probe, leads: Sequence[int], lead: int) -> bool:
        """Whether another conversation may still tell verdicts from chance."""
        return GIVEN_UP < min(leads) < lead and len(self._verdicts.again[sent.id]) < MOST_LEADS * lead

    def _talk(self, cheat: Probe, twin: Probe | None) -> list[Dispatch]:
        turn = len(self._verdicts.again[cheat.id])
        first = self._first[cheat.problem_id]
        ahead = [first[place % len(first)] for place in range(turn % AHEAD)] if first else []
        return [
            self._again(one, turn) for one in (*ahead, *([twin] if twin else []), cheat, *self._behind[cheat.id])
        ]

    def _again(self, probe: Probe, turn: int) -> Dispatch:
        """A probe with another comment at its end; the text of a reply as it is."""
        sent = self._sent[probe.id]
        if probe.form != "program":
            return sent
        return msgspec.structs.replace(
            sent, probe=msgspec.structs.replace(probe, code=f"{probe.code.rstrip()}\n\n# {turn:03}\n")
        )


PROBES, INDEX = "probes", "battery.jsonl"
DOES: dict[Danger, str] = {
    "h0": "returns values, prints, raises: harmless anywhere",
    "h1": "touches the interpreter that it runs in, and may end it",
    "h2": "writes files in its working folder",
}


def dry(targets: Sequence[Target], dispatches: Sequence[Dispatch], folder: Path) -> Path:
    """Write every probe as a file, and a line about each: what it would do, and which grader would get it.

    Returns:
        The path of ``battery.jsonl`` in the folder, beside which stand ``probes/ID.py`` (``.txt`` for replies).

    Raises:
        UserError: it cannot be written.
    """
    require_writable(folder)
    lines = []
    for dispatch in dispatches:
        probe = dispatch.probe
        path = folder / PROBES / f"{probe.id}.{'py' if probe.form == 'program' else 'txt'}"
        with writing(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(probe.code, encoding="utf-8", errors="surrogatepass")
        sent = {one.name: DANGERS.index(probe.danger) <= DANGERS.index(one.danger) for one in targets}
        about = {
            "file": path.relative_to(folder).as_posix(),
            "problem": dispatch.problem.id,
            "class": probe.kind,
            "origin": probe.origin,
            "channel": probe.channel,
            "label": probe.label,
            "danger": probe.danger,
            "does": DOES[probe.danger],
            "change": probe.change,
            "after": probe.after,
            "sent_to": [name for name, goes in sent.items() if goes],
            "not_sent_to": [name for name, goes in sent.items() if not goes],
        }
        lines.append(msgspec.json.encode(about) + b"\n")
    with writing(folder / INDEX):
        (folder / INDEX).write_bytes(b"".join(lines))
    return folder / INDEX
