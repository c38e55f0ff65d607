"""Sending a grader its probes: in which order, when it is started anew, and when it is not asked further.

A grader that can be started anew is asked in parts (`parts`), each in conversations side by side: first the
references, by whose time the limit of an answer and the time of the whole are told, and one program that does not
end; then what decides whether cheating pays, so that this is known first; at last all else that does not end.

What a flipped verdict may have made look like cheating is sent again, until it is told from chance. A cheat that
was accepted goes with its inert twin, and a cheat behind which a control changed with its controls, to a grader
started anew: one conversation each time. It ends where each verdict in question is ahead by the lead that flips do
not reach (`acceptance.Steadiness`), where it fell behind, and at the latest after `MOST_LEADS`
times that lead. Conversations begin with a different number of controls, and every program ends with another
comment, so that what hangs on the place or the text of a program counts as chance, too.
"""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from functools import partial
from itertools import chain, groupby
from math import ceil
from statistics import fmean
from typing import NamedTuple

import msgspec

from truegrade.apps.assay.acceptance import (
    REFERENCE,
    Acceptance,
    GraderVerdicts,
    Steadiness,
    may_only_raise,
    pairs_of,
    raising_paid,
    settled_row,
    solves_nothing,
)
from truegrade.apps.assay.folder import VERDICTS, AssayFolder, AssayManifest
from truegrade.apps.assay.probes.must_fail import make_impossible
from truegrade.apps.assay.probes.mutants import ONE_TEST
from truegrade.apps.assay.records import DANGERS, Dispatch, Probe, Said
from truegrade.apps.assay.targets import Target
from truegrade.apps.assay.targets.asking import is_endless
from truegrade.apps.assay.targets.calls import HUNG, NOT_PUT, NOT_SENT
from truegrade.apps.assay.targets.programs import missing_in
from truegrade.errors import UserError
from truegrade.files.threads import as_they_come
from truegrade.grading.tests_forms import other_form
from truegrade.kinds import kind_of
from truegrade.pipeline.verdicts import Progress
from truegrade.records import Problem
from truegrade.report import format as fmt
from truegrade.store.journal import Notice, ignore

SOON_S = 15
AGAIN, STARTS, RUNS_S = 1.25, 30, 0.5
"""Times that programs are sent, and times that a grader is started, about, where cheats are sent as well: they end
one that runs them, which takes so many seconds more on a program that does not end."""
PATIENCE = 12
"""Programs without any verdict, the references first, after which a grader is not asked further."""
HANGS = 2
"""The same of programs that it did not answer in time, each of which takes a minute."""
SPOILED = 12
"""Verdicts in turn that are not a control's usual one, after which a grader that cannot be started anew is sent no
further cheat."""
FEW = 0.05
"""Share of the programs that solve nothing of which what is paid is always sent again."""
BEFORE, BEFORE_ALL = 12, 60
"""Times that such a grader is sent each control before the cheats, and all of one kind together, at least: behind
a cheat that stays it cannot be asked any more what is usual."""


class Part(NamedTuple):
    """What is sent before anything behind it is."""

    sent: list[Dispatch]
    measures: bool = False
    """Whether it tells how long the rest takes."""
    decides: bool = False
    """Whether it is known behind it if cheating pays."""


UNEARNED, CHEATING = ("stub", "must-fail"), ("cheat", "control")
"""Kinds of programs that decide whether what solves nothing is paid."""


def parts(target: Target, sent: Sequence[Dispatch]) -> list[Part]:
    """In which order a grader is sent what it is sent, which comes as `wanted` has it.

    Of one whose limits are our own matter, nothing is measured first; one that cannot be started anew is sent
    cheats last.
    """
    if target.limit_s is None:
        return [Part([*sent])]
    references = [one for one in sent if _is_reference(one.probe)]
    endless = [one for one in sent if is_endless(one.probe)]
    first, kept = [Part(references, measures=True), Part(endless[:1], measures=True)], {*map(id, endless[:1])}
    rest = [one for one in sent if id(one) not in kept and not _is_reference(one.probe)]
    if not target.restarts:
        return [*first, Part(rest)]
    ending = [one for one in rest if not is_endless(one.probe)]
    cheats = [one for one in ending if one.probe.kind in CHEATING]
    others = [one for one in ending if one.probe.kind not in CHEATING]
    return [
        *first,
        Part([one for one in others if one.probe.kind in UNEARNED or one.probe.order]),
        Part(cheats, decides=bool(cheats)),
        Part([one for one in others if one.probe.kind not in UNEARNED and not one.probe.order]),
        Part(endless[1:]),
    ]


def _is_reference(probe: Probe) -> bool:
    return probe.kind == "right" and probe.origin == REFERENCE


LEAST_PIECES, MOST_PIECE = 4, 100


def pieces(sent: Sequence[Dispatch]) -> list[list[Dispatch]]:
    """Conversations that may be held side by side: whole problems each, so that a control meets its own cheats.

    There are four, or more of at least a hundred programs each, however many workers there are; each order in
    which programs of a problem are sent (`Probe.order`) has one of its own.
    """
    size = min(MOST_PIECE, ceil(len(sent) / LEAST_PIECES))
    made, apart = list[list[Dispatch]](), True
    for (_, order), group in groupby(sent, key=_conversation):
        if apart or order or len(made[-1]) >= size:
            made.append([])
        made[-1] += group
        apart = bool(order)
    return made


def _conversation(one: Dispatch) -> tuple[str, str]:
    return one.probe.problem_id, one.probe.order


def send(
    target: Target,
    probes: Sequence[Probe],
    problems: Mapping[str, Problem],
    folder: AssayFolder,
    manifest: AssayManifest,
    progress: Progress,
    notice: Notice = ignore,
    decided: Callable[[float], object] = lambda _: None,
) -> bool:
    """Send a grader what it has not been sent yet; one that gave no verdict at all is asked again from the start.

    ``notice`` is told how long it takes, and ``decided``, once it is known whether cheating pays, how many seconds
    what is left takes.

    Returns:
        Whether it can be asked more: a cheat that stays in one that cannot be started anew meets whatever follows.

    Raises:
        UserError: it cannot be used, or gives no verdict; it is not asked for long then.
    """
    sent = list(wanted(target, probes, problems))
    heard = _Heard(target.name, sent)
    before = [each for each in folder.said() if each.grader == target.name]
    if all(each.passed is None for each in before):
        before = []
    for each in before:
        heard.take(each)
    told = {(each.probe, each.repeat) for each in before}
    repeats = range(manifest.repeat)
    done = sum((one.probe.id, repeat) in told for one in sent for repeat in repeats)
    progress.start(f"grade as {target.name}", total=len(sent) * len(repeats), done=done)
    try:
        with folder.append(VERDICTS, Said) as journal:
            resend = partial(send_again, target, sent, heard.given, manifest.pass_at, journal.append)

            def tell(left_s: float) -> None:
                journal.sync()
                decided(left_s)

            for repeat in repeats:
                untold = [one for one in sent if (one.probe.id, repeat) not in told]
                torn = {_conversation(one) for one in untold if one.probe.order}  # they begin anew
                left = [one for one in sent if (one.probe.id, repeat) not in told or _conversation(one) in torn]
                turn = _Round(target, probes, heard, manifest.pass_at, journal.append)
                first = partial(_in_parts, target, turn, heard, notice, tell, resend)
                for each in turn.answers(left) if repeat else first(left):
                    row = each if repeat == 0 else msgspec.structs.replace(each, repeat=repeat)
                    if (row.probe, repeat) in told:
                        continue
                    journal.append(row)
                    progress.advance()
                    heard.take(row)
                    if heard.is_hopeless:
                        raise heard.unusable(problems)
            if sent and not heard.verdicts:
                raise heard.unusable(problems)
            if not heard.spoiled:
                resend()
    finally:
        progress.finish()
    return not heard.spoiled


def _in_parts(
    target: Target, turn: _Round, heard: _Heard, notice: Notice, tell: Callable[[float], object],
    resend: Callable[[], object], left: Sequence[Dispatch],
) -> Iterator[Said]:  # fmt: skip
    """What the grader says, part by part; the caller has ``heard`` take each row before it asks for the next."""
    todo = [part for part in parts(target, left) if part.sent]
    heard.settle_limit(target)
    for place, part in enumerate(todo):
        behind = [one for later in todo[place:] for one in later.sent]
        if not part.measures and all(one.measures for one in todo[:place]):
            _announce(target, heard, behind, notice)
        began = time.monotonic()
        yield from turn.answers(part.sent)
        if part.measures:
            heard.settle_limit(target, pieces(part.sent), time.monotonic() - began)
        if part.decides:
            tell(heard.seconds(target, part.sent))  # about as long as it takes to send again
            resend()
            tell(heard.seconds(target, behind[len(part.sent) :]))


def _announce(target: Target, heard: _Heard, left: Sequence[Dispatch], notice: Notice) -> None:
    """Say how long what is left takes, by the programs that were measured first, and what a hang is."""
    if target.limit_s is None or not heard.right_s:
        return
    endless = sum(is_endless(one.probe) for one in left)
    takes = fmt.seconds(max(0.001, fmean(heard.right_s)))
    total = ceil(heard.seconds(target, left))
    about = f"about {fmt.seconds(total)}" if total > SOON_S else f"less than {SOON_S} s"
    said = f"{target.name}: a right program takes {takes}, and {fmt.plural(len(left), 'program')} {about}"
    if heard.endless_s and endless:
        said += f", {endless} of them, which do not end, {fmt.seconds(fmean(heard.endless_s))} each"
    elif heard.hung:
        said += f"; one that does not end got no answer, so the {endless} others are not sent"
    notice(f"{said}; no answer in {target.limit_s:.3g} s (`timeout_s`) is no verdict")


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
        if probe.order and not target.keeps_state:
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
    """What a grader has said so far of what it is ``sent``, and whether to go on asking it."""

    def __init__(self, grader: str, sent: Iterable[Dispatch]) -> None:
        self._grader = grader
        self._sent = {one.probe.id: one.probe for one in sent}
        self.given = GraderVerdicts()
        self.verdicts = self._silent = self._hangs = 0
        self.spoiled = self.hung = False
        """Whether a cheat stays in it for good; whether a program that does not end got no answer."""
        self.right_s: list[float] = []
        """Seconds that references took."""
        self.endless_s: list[float] = []
        """Seconds that programs took that do not end."""
        self._start_s = 0.0
        """That it takes to be started."""
        self._why: Counter[str] = Counter()

    def take(self, said: Said) -> None:
        """Count one row; what was not sent needs no patience."""
        self.given.add(said)
        probe = self._sent.get(said.probe)
        if probe is not None and said.passed is not None and said.wall_s is not None:
            if is_endless(probe):
                self.endless_s.append(said.wall_s)
            elif _is_reference(probe):
                self.right_s.append(said.wall_s)
        if said.passed is not None:
            self.verdicts += 1
            return
        late = said.detail.startswith(HUNG)
        self._silent += not said.detail.startswith((NOT_PUT, NOT_SENT))
        self._hangs += late
        self.hung |= late and probe is not None and is_endless(probe)
        self._why[said.detail] += 1

    @property
    def is_hopeless(self) -> bool:
        """Whether it gave no verdict at all, of so many programs that it is asked no further."""
        return not self.verdicts and (self._silent >= PATIENCE or self._hangs >= HANGS)

    def settle_limit(self, target: Target, talks: Sequence[Sequence[Dispatch]] = (), wall_s: float = 0.0) -> None:
        """Have the grader's limit follow the references; so long took the conversations that measured them."""
        if self.right_s:
            target.derive_limit(max(self.right_s))
        if talks and not self._start_s and target.restarts:
            side_by_side = min(len(talks), target.lanes)
            self._start_s = max(0.0, wall_s * side_by_side - sum(self.right_s)) / len(talks)

    def seconds(self, target: Target, left: Sequence[Dispatch]) -> float:
        """How long the programs that are left take, about, with what is sent again and each new start."""
        endless = sum(is_endless(one.probe) for one in left)
        cheats = any(one.probe.kind == "cheat" for one in left)
        each, each_endless = (fmean(found) if found else 0.0 for found in (self.right_s, self.endless_s))
        programs = (len(left) - endless) * each + endless * each_endless
        runs = self.hung or not self.endless_s or each_endless > RUNS_S + each
        starts = (len(left) / MOST_PIECE + LEAST_PIECES + STARTS * (cheats and runs)) * self._start_s
        return (programs * (AGAIN if cheats else 1) + starts) / target.lanes

    def unusable(self, problems: Mapping[str, Problem]) -> UserError:
        """The error that says why there is nothing to measure."""
        why, number = min(self._why.items(), key=lambda each: (-each[1], each[0]))
        programs = f"{number} of the first {self._why.total()}"
        advice = missing_in(why) or "correct it, or choose another `call`"
        if why.startswith(NOT_PUT):
            advice = (
                other_form([kind_of(one.task).tests(one.task) for one in problems.values()])
                or "choose another `tests_as`"
            )
        elif why.startswith(HUNG):
            advice = "right programs are sent first: correct it, or give it more `timeout_s`"
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
        self._target, self._heard, self._keep = target, heard, keep
        self._probes, self._pass_at = probes, pass_at

    def answers(self, sent: Sequence[Dispatch]) -> Iterator[Said]:
        """What the grader says, of several conversations as it comes."""
        acceptance = Acceptance(self._probes, self._heard.given, self._pass_at)
        if self._target.restarts and self._target.keeps_state:
            yield from as_they_come(
                pieces(sent), lambda piece: self._talk(piece, acceptance), workers=self._target.lanes
            )
        else:
            yield from self._talk(sent, acceptance)

    def _talk(self, left: Sequence[Dispatch], acceptance: Acceptance) -> Iterator[Said]:
        """A conversation, and others behind a control that changed."""
        seen: dict[tuple[str, str], Counter[bool | None]] = defaultdict(Counter)
        while left:
            with closing(self._target.grade(left)) as said:  # type: ignore[type-var]
                for place, each in enumerate(said):
                    yield each
                    control = left[place].probe
                    if self._target.keeps_state and control.kind == "control":
                        accepted = acceptance.means(control, settled_row(each))
                        answered = accepted is not None or self._target.restarts
                        if answered and _is_other(accepted, seen[control.problem_id, control.origin]):
                            break
                else:
                    return
            if not self._target.restarts and self._stays(left[place], acceptance):
                self._heard.spoiled = True
                return
            left = left[place + 1 :]

    def _stays(self, control: Dispatch, acceptance: Acceptance) -> bool:
        """Whether a changed verdict on a control is the same when it is sent again and again."""
        for said in self._target.grade([control] * SPOILED):
            row = msgspec.structs.replace(said, fresh=True)
            self._keep(row)
            self._heard.take(row)
        times = acceptance.each_time
        return set(times(control.probe, again=True)) == {*times(control.probe)[-1:]}


def _is_other(accepted: bool | None, seen: Counter[bool | None]) -> bool:
    """Whether a verdict, or that there is none, is not what was got most often so far; it joins what was seen."""
    usual = max(seen, key=lambda each: (seen[each], each is True), default=accepted)
    seen[accepted] += 1
    return accepted is not usual


GIVEN_UP = -2
"""Lead at which a verdict in question is taken for chance."""
MOST_LEADS = 4
MOST_DRAWN, TIMES_DRAWN = 12, 4
"""Programs that are wrong on one test alone and are sent again to see whether chance decides, and how often."""
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
        apart = talks if target.keeps_state else [list(chain.from_iterable(talks))]
        for each in as_they_come(apart, target.grade, workers=target.lanes if target.restarts else 1):
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
        drawn = self._of_one_test()
        if lead is None:
            return [drawn] if drawn else []
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
        hollow = [one for one in self._probes if (one.kind != "cheat" or one.inert) and solves_nothing(one)]
        paid = [one for one in hollow if self._acceptance.accepted(one)]
        # So few may be flips also of a grader that no verdict sent twice showed to flip.
        rest = self._paid_by_chance(paid, lead) if doubt or len(paid) <= FEW * len(hollow) else []
        return [*talks, *filter(None, (rest, drawn))]

    def _of_one_test(self) -> list[Dispatch]:
        """Programs that are wrong on one test alone, where some are accepted: tests may be drawn each time."""
        sent = [one for one in self._probes if one.origin == ONE_TEST and one.label == "wrong"]
        accepted = [one for one in sent if self._acceptance.accepted(one)]
        refused = [one for one in sent if self._acceptance.accepted(one) is False]
        some = [one for pair in zip(accepted, refused, strict=False) for one in pair][:MOST_DRAWN]
        turn = len(self._verdicts.again[some[0].id]) if some else TIMES_DRAWN
        return [self._again(one, turn) for one in some] if turn < TIMES_DRAWN else []

    def _paid_by_chance(self, paid: Iterable[Probe], lead: int) -> list[Dispatch]:
        doubtful = [one for one in paid if self._undecided(one, [self._acceptance.lead(one)], lead)]
        turn = len(self._verdicts.again[doubtful[0].id]) if doubtful else 0
        ahead = {probe.problem_id: probe for probe in self._probes if probe.kind == "ahead"}
        return [
            self._again(one, turn)
            for probe in (*doubtful[turn:], *doubtful[:turn])
            for one in ([ahead[probe.problem_id], probe] if probe.order == "right-first" else [probe])
        ]

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
        if paid and not paid_twin and not may_only_raise(cheat, self._raising):
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
