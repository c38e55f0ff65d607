"""Which ways of cheating reach a grader's verdict, and which cheats stay in it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from truegrade.assay.acceptance import Acceptance, GraderVerdicts
from truegrade.assay.measures import ChannelMeasure
from truegrade.assay.records import DANGERS, Probe
from truegrade.statistics.beta import binomial_tail

_LEVEL = 0.01
"""Of the test whether controls change more often than the grader's verdicts change anyway."""

_Program = tuple[str, str, str, str]
_Cheat = tuple[str, str, str, str]


class ChannelRecord:
    """What was seen of one channel."""

    def __init__(self, channel: str) -> None:
        self.channel = channel
        self.danger = DANGERS[0]
        self.accepted: list[Probe] = []
        self.accepted_twins: list[Probe] = []
        self.open_by: list[Probe] = []
        """Cheats accepted whose twin was refused, or that have none."""
        self.stub_like: list[Probe] = []
        """Cheats accepted whose twin was accepted too."""
        self.staying: list[Probe] = []
        """Cheats behind which a control changed."""
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


def look_at_channels(
    probes: Sequence[Probe], acceptance: Acceptance, verdicts: GraderVerdicts
) -> list[ChannelRecord]:
    """What one grader made of the cheats of one benchmark, by channel in the order of their names."""
    records: dict[str, ChannelRecord] = {}
    twins: dict[_Cheat, list[Probe]] = defaultdict(list)
    cheats = [probe for probe in probes if probe.kind == "cheat"]
    for probe in cheats:
        record = records.setdefault(probe.channel, ChannelRecord(probe.channel))
        record.danger = max(record.danger, probe.danger, key=DANGERS.index)
        if probe.inert:
            twins[_cheat(probe)].append(probe)
    for probe in cheats:
        record, accepted = records[probe.channel], acceptance.accepted(probe)
        if not acceptance.sent(probe):
            record.not_sent += not probe.inert
        elif accepted is None:
            continue
        elif probe.inert:
            record.inert += 1
            record.accepted_twins += [probe] * accepted
        else:
            record.probes += 1
            if accepted:
                _accepted(record, probe, twins[_cheat(probe)], acceptance)
    for channel, staying in _staying(probes, verdicts).items():
        if channel in records:
            records[channel].staying = staying
    return [records[channel] for channel in sorted(records)]


def _accepted(record: ChannelRecord, probe: Probe, twins: Iterable[Probe], acceptance: Acceptance) -> None:
    """Ascribe an accepted cheat to its channel, or to tests that accept its twin as well."""
    record.accepted.append(probe)
    answers = [acceptance.accepted(twin) for twin in twins]
    if any(answers):
        record.stub_like.append(probe)
    elif None not in answers:
        record.open_by.append(probe)


def _cheat(probe: Probe) -> _Cheat:
    """What a cheat and its twin have in common."""
    return probe.problem_id, probe.channel, probe.origin, probe.tests


def _program(probe: Probe) -> _Program:
    return probe.problem_id, probe.code, probe.form, probe.tests


def _staying(probes: Sequence[Probe], verdicts: GraderVerdicts) -> dict[str, list[Probe]]:
    """Cheats, by channel, behind which a control got another verdict than the same program got elsewhere.

    A flaky grader changes verdicts on its own: two verdicts of one program differ as often whether a cheat came
    between or not. Of such a grader a channel is named only if its controls differ more often than repetitions do,
    by the exact binomial test at 1 %.
    """
    settled = verdicts.settled
    controls = [probe for probe in probes if probe.kind == "control" and probe.id in settled]
    wanted = {_program(probe) for probe in controls}
    elsewhere = {
        _program(probe): settled[probe.id]
        for probe in sorted(probes, key=lambda probe: probe.id)
        if probe.kind != "control"
        and probe.id not in verdicts.flaky
        and probe.id in settled
        and not settled[probe.id].unanswered
        and _program(probe) in wanted
    }
    cheats = {probe.id: probe for probe in probes if probe.kind == "cheat" and not probe.inert}
    seen: dict[str, int] = defaultdict(int)
    changed: dict[str, list[Probe]] = defaultdict(list)
    for control in controls:
        cheat, expected = cheats.get(control.after), elsewhere.get(_program(control))
        if cheat is not None and expected is not None:
            seen[cheat.channel] += 1
            got = settled[control.id]
            if got.unanswered or got[2:] != expected[2:]:
                changed[cheat.channel].append(cheat)
    rate = len(verdicts.flaky) / len(verdicts.repeated) if verdicts.flaky else 0.0
    return {
        channel: sorted({probe.id: probe for probe in found}.values(), key=lambda probe: probe.id)
        for channel, found in changed.items()
        if rate <= 0.0 or (rate < 1.0 and binomial_tail(len(found), seen[channel], rate) < _LEVEL)
    }
