"""Sending again what a flipped verdict may have made look like cheating, until it is told from chance.

A cheat that was accepted goes with its inert twin, and a cheat behind which a control changed with its controls,
to a grader started anew: one conversation each time. It ends where each verdict in question is ahead by the lead
that flips do not reach (`truegrade.assay.channels.Steadiness`), where it fell behind, and at the latest after
`MOST_LEADS` times that lead. Conversations begin with a different number of controls, and every program ends with
another comment, so that what hangs on the place or the text of a program counts as chance, too.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from itertools import chain

import msgspec

from truegrade.assay.acceptance import Acceptance, GraderVerdicts, solves_nothing
from truegrade.assay.channels import Steadiness, pairs_of, raising_paid
from truegrade.assay.records import Dispatch, Probe, Said
from truegrade.assay.targets.base import Target

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
    """Send again what has to be; goes on where an earlier call was interrupted.

    Args:
        target: the grader.
        sent: all that it was sent, of one benchmark.
        verdicts: all that it said; what it says now is added.
        pass_at: score from which on a program is accepted; None for that of the reference.
        keep: told of each answer.
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
