"""Which ways of cheating reach a grader's verdict, which cheats stay in it, and how steady its verdicts are.

A verdict may also flip by chance. What is named here was seen again and again on a grader started anew
(`truegrade.assay.sending`), so often that flips alone name anything wrong in an assay with a probability of at
most `NAMED_WRONG`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence

from truegrade.assay.acceptance import Acceptance
from truegrade.assay.measures import ChannelMeasure, FlipMeasure
from truegrade.assay.records import DANGERS, Probe
from truegrade.statistics.error_rates import lead_needed
from truegrade.statistics.intervals import binomial_tail, clopper_pearson

NAMED_WRONG = 0.01
"""Probability that flips alone have anything named over a whole assay, at most: one half is spent on the rate of
flips, whose upper bound is used, and one half on what is sent again, shared by all cheats and controls."""

RAISES = "raise NotImplementedError"
"""In stubs and controls. Where one is accepted, so is a cheat that raises, and says nothing of its channel."""
_Control = tuple[str, str]


class Steadiness:
    """How often the verdict on an honest program flips, and by how much a verdict must lead to be more than that.

    Of one grader on one benchmark. Controls behind a channel whose cheats stay in the grader are no flips, and are
    left out.
    """

    def __init__(self, probes: Sequence[Probe], acceptance: Acceptance) -> None:
        self._acceptance = acceptance
        self._controls = [(probe, acceptance.each_time(probe)) for probe in probes if probe.kind == "control"]
        self._honest = [acceptance.each_time(probe) for probe in probes if probe.kind not in ("cheat", "control")]
        channels = {probe.id: probe.channel for probe in probes if probe.kind == "cheat"}
        cheats = sum(acceptance.accepted(probe) is not None for probe in probes if probe.kind == "cheat")
        self._hypotheses = max(1, cheats + sum(bool(answers) for _, answers in self._controls))
        self.staying: frozenset[str] = frozenset()
        """Ids of cheats behind which a control has another verdict than usual, beyond what flips explain."""
        spoiled = set[str]()
        while True:
            self._count({cheat for cheat, channel in channels.items() if channel in spoiled})
            self.staying = self._find()
            found = {channels[cheat] for cheat in self.staying if cheat in channels}
            if found <= spoiled:
                break
            spoiled |= found

    def _count(self, spoiled: Collection[str]) -> None:
        """Count flips, and derive from them by how much a verdict must lead."""
        controls: dict[_Control, list[bool]] = defaultdict(list)
        for probe, answers in self._controls:
            if probe.after not in spoiled:
                controls[_control(probe)] += answers
        first = [probe for probe, _ in self._controls if not probe.after]
        self._ahead = {name: 2 * sum(found) - len(found) for name, found in controls.items()}
        for probe in first:
            self._ahead[_control(probe)] += self._acceptance.lead(probe)
        repeated = [found for found in (*self._honest, *controls.values()) if len(found) > 1]
        self._sends = {kind: sum(len(f) for f in repeated if _usually(f) is kind) for kind in (True, False)}
        self._flips = {
            kind: sum(f.count(not kind) for f in repeated if _usually(f) is kind) for kind in (True, False)
        }
        ends = [
            clopper_pearson(self._flips[kind], self._sends[kind], 1 - NAMED_WRONG / 2)[1]
            for kind in (True, False)
            if self._sends[kind]
        ]
        self.bound = max(ends, default=1.0)
        """Upper bound of the probability of a flip, each side's at a quarter of `NAMED_WRONG`."""
        self.lead = lead_needed(self.bound, NAMED_WRONG / 2 / self._hypotheses)
        """By how many verdicts one side must be ahead of the other; None where nothing can be told from chance."""
        self.flips = sum(self._flips.values())
        """Verdicts that differ from the usual one of their program."""

    def _find(self) -> frozenset[str]:
        return frozenset(
            probe.after
            for probe, _ in self._controls
            if probe.after and self.lead and min(self.changed_leads(probe)) >= self.lead
        )

    def explains(self, flipped: int, sends: int, looks: int = 1) -> bool:
        """Whether flips alone explain so many verdicts of so many, in one of so many looks."""
        return self.flips > 0 and binomial_tail(flipped, sends, self.bound) > NAMED_WRONG / looks

    def usually_accepted(self, control: Probe) -> bool:
        """Whether a control is accepted more often than not."""
        return self._ahead[_control(control)] > 0

    def changed(self, control: Probe) -> bool:
        """Whether a control ever got another verdict than usual; none at all changes nothing."""
        usual = self._ahead[_control(control)] >= 0
        return any(each is not usual for each in self._acceptance.each_time(control))

    def changed_leads(self, control: Probe) -> tuple[int, int]:
        """By how much a control's usual verdict leads, and by how much the other one behind its cheat."""
        ahead = self._ahead[_control(control)]
        lead = self._acceptance.lead(control)
        return abs(ahead), -lead if ahead >= 0 else lead

    def measure(self, confidence: float) -> FlipMeasure:
        """The figures of a summary."""
        sends = sum(self._sends.values())
        low, high = clopper_pearson(self.flips, sends, confidence) if sends else (None, None)
        return FlipMeasure(
            flips=self.flips,
            sends=sends,
            value=self.flips / sends if sends else None,
            low=low,
            high=high,
            accepted_sends=self._sends[True],
            accepted_flips=self._flips[True],
            refused_sends=self._sends[False],
            refused_flips=self._flips[False],
        )


def _control(probe: Probe) -> _Control:
    return probe.problem_id, probe.origin


def _usually(found: Sequence[bool]) -> bool:
    return 2 * sum(found) >= len(found)


class ChannelRecord:
    """What was seen of one channel."""

    def __init__(self, channel: str) -> None:
        self.channel = channel
        self.danger = DANGERS[0]
        self.accepted: list[Probe] = []
        self.accepted_twins: list[Probe] = []
        self.open_by: list[Probe] = []
        """Cheats accepted whose twin was refused, each so often that it is no chance."""
        self.through: list[Probe] = []
        """The same, and where no verdict flips those for which once was enough."""
        self.stub_like: list[Probe] = []
        """Cheats accepted whose twin was accepted too."""
        self.staying: list[Probe] = []
        """Cheats behind which a control changed, so often that it is no chance."""
        self.probes = self.inert = self.not_sent = 0

    def measure(self) -> ChannelMeasure:
        """The figures of a summary."""
        return ChannelMeasure(
            channel=self.channel,
            danger=self.danger,
            accepted=len(self.accepted),
            probes=self.probes,
            inert_accepted=len(self.accepted_twins),
            inert=self.inert,
            stays=len(self.staying),
            open=bool(self.open_by),
            not_sent=self.not_sent,
        )


def look_at_channels(probes: Sequence[Probe], acceptance: Acceptance) -> tuple[list[ChannelRecord], Steadiness]:
    """What one grader made of the cheats of one benchmark, by channel in the order of their names."""
    records: dict[str, ChannelRecord] = {}
    steadiness = Steadiness(probes, acceptance)
    lead, raising = steadiness.lead, raising_paid(probes, acceptance, steadiness)
    for cheat, twin in pairs_of(probes):
        record = records.setdefault(cheat.channel, ChannelRecord(cheat.channel))
        record.danger = max(record.danger, cheat.danger, key=DANGERS.index)
        record.staying += [cheat] * (cheat.id in steadiness.staying)
        accepted = acceptance.accepted(cheat)
        record.not_sent += not acceptance.sent(cheat)
        record.probes += accepted is not None
        record.accepted += [cheat] * bool(accepted)
        if twin is not None and acceptance.accepted(twin) is not None:
            record.inert += 1
            record.accepted_twins += [twin] * bool(acceptance.accepted(twin))
            record.stub_like += [cheat] * (acceptance.stands(cheat) and acceptance.stands(twin))
        if twin is not None and lead and cheat.problem_id not in raising:
            certain = acceptance.lead(cheat) >= lead and acceptance.lead(twin) <= -lead
            once = not steadiness.flips and acceptance.stands(cheat) and acceptance.accepted(twin) is False
            record.open_by += [cheat] * certain
            record.through += [cheat] * (certain or once)
    return [records[channel] for channel in sorted(records)], steadiness


def raising_paid(probes: Iterable[Probe], acceptance: Acceptance, steadiness: Steadiness) -> frozenset[str]:
    """Problems at which a program is accepted that raises: a stub, or a control more often than not."""
    plain = (each for each in probes if RAISES in each.code and each.label == "wrong" and not each.after)
    return frozenset(
        each.problem_id
        for each in plain
        if (each.kind == "stub" and acceptance.stands(each))
        or (each.kind == "control" and steadiness.usually_accepted(each))
    )


def pairs_of(probes: Iterable[Probe]) -> list[tuple[Probe, Probe | None]]:
    """Cheats with their inert twins, in the order of the cheats."""
    cheats = [probe for probe in probes if probe.kind == "cheat"]
    twins = {_cheat(probe): probe for probe in cheats if probe.inert}
    return [(probe, twins.get(_cheat(probe))) for probe in cheats if not probe.inert]


def _cheat(probe: Probe) -> tuple[str, str, str]:
    """What a cheat and its twin have in common."""
    return probe.problem_id, probe.channel, probe.origin
