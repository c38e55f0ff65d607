"""Whether a grader accepted a probe, which ways of cheating reach its verdict, and how steady it is."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from math import isnan
from typing import NamedTuple

from truegrade.apps.assay.cheats import SILENT
from truegrade.apps.assay.cheats.base import LEAVES
from truegrade.apps.assay.measures import ChannelMeasure, FlipMeasure
from truegrade.apps.assay.records import DANGERS, Probe, ProbeClass, Said
from truegrade.statistics.error_rates import GraderCount, lead_needed
from truegrade.statistics.intervals import binomial_tail, clopper_pearson

REFERENCE = "reference"
"""`Probe.origin` of the benchmark's own solution."""

NATURAL: tuple[ProbeClass, ...] = ("mutant", "labelled", "reply")
"""Wrong programs such as somebody may write: the only classes that are counted together."""


class SettledVerdict(NamedTuple):
    """The verdict that counts for a probe: that of its first repetition which got one."""

    unanswered: bool
    repeat: int
    passed: bool
    score: float


_NO_SCORE = float("-inf")


def settled_row(row: Said) -> SettledVerdict:
    """A row of the journal as a verdict."""
    # NaN is no number to compare with.
    score = _NO_SCORE if row.score is None or isnan(row.score) else row.score
    return SettledVerdict(row.passed is None, row.repeat, bool(row.passed), score)


class GraderVerdicts:
    """What one grader said; the order of its rows does not matter."""

    def __init__(self) -> None:
        self.given: dict[str, list[SettledVerdict]] = defaultdict(list)
        """By id of the probe, as often as it was sent, those without a verdict among them."""
        self.again: dict[str, list[SettledVerdict]] = defaultdict(list)
        """The same of what was sent again to be told from chance (`truegrade.apps.assay.sending`)."""
        self.why: dict[str, str] = {}
        """Why a probe got no verdict, of those that never did: the least of the texts."""

    def add(self, row: Said) -> None:
        """Take one row."""
        verdict = settled_row(row)
        if row.fresh:
            self.again[row.probe].append(verdict)
            return
        if row.passed is None:
            self.why[row.probe] = min(self.why.get(row.probe, row.detail), row.detail)
        self.given[row.probe].append(verdict)

    def settled(self, probe: str) -> SettledVerdict | None:
        """The verdict that counts; None where nothing was sent."""
        return min(self.given[probe]) if probe in self.given else None

    @property
    def flaky(self) -> set[str]:
        """Probes whose repetitions differ."""
        return {
            probe
            for probe, found in self.given.items()
            if len({one[2:] for one in found if not one.unanswered}) > 1
        }


def settle(said: Iterable[Said]) -> dict[str, GraderVerdicts]:
    """Read the rows of all graders once; verdicts by grader, sorted by name."""
    found: dict[str, GraderVerdicts] = defaultdict(GraderVerdicts)
    for row in said:
        found[row.grader].add(row)
    return dict(sorted(found.items()))


FULL = 1.0
"""The reward of a right program, by convention."""


class Acceptance:
    """Whether one grader accepted a probe: whether it gave what it gives the reference of the same problem.

    Where references get more than `FULL`, and most other right programs get another number, or right replies of
    another form get one that no wrong program gets, there is a bonus for something else: then `FULL` is enough, or
    where wrong programs get that, the least of these that is no less.

    Args:
        probes: of one benchmark, with those of kind "right" and origin "reference" among them.
        verdicts: of the grader.
        pass_at: the score from which on a program is accepted; None for the score of the reference.
    """

    def __init__(self, probes: Sequence[Probe], verdicts: GraderVerdicts, pass_at: float | None = None) -> None:
        self._verdicts = verdicts
        self._pass_at = pass_at
        self._bars: dict[str, float] = {}
        self.refused: dict[str, str] = {}
        """Problem to its reference, where the grader refuses that."""
        for probe in probes:
            if probe.kind == "right" and probe.origin == REFERENCE:
                self._look_at_reference(probe)
        self.with_bonus = pass_at is None and self._lower_bars(probes)
        """Whether right programs get different rewards."""

    def _look_at_reference(self, probe: Probe) -> None:
        verdict = self._verdicts.settled(probe.id)
        if verdict is None or verdict.unanswered:
            return
        if verdict.score == _NO_SCORE:
            accepted = verdict.passed
        elif self._pass_at is None:
            accepted = verdict.score > 0
            # The lowest of several references: what the grader gives a program that is known to be right.
            self._bars[probe.problem_id] = min(verdict.score, self._bars.get(probe.problem_id, verdict.score))
        else:
            accepted = verdict.score >= self._pass_at
        if not accepted:
            self.refused[probe.problem_id] = min(probe.id, self.refused.get(probe.problem_id, probe.id))

    def _lower_bars(self, probes: Sequence[Probe]) -> bool:
        rights: dict[str, dict[str, list[float]]] = {"right": defaultdict(list), "form": defaultdict(list)}
        for probe in probes:
            known = probe.kind in rights and probe.label == "right" and probe.origin != REFERENCE
            if known and (score := self.score(probe)) is not None:
                rights[probe.kind][probe.problem_id].append(score)
        bonus = [name for name, bar in self._bars.items() if bar > FULL]
        wrong = defaultdict[str, float](float)
        """The most that a program gets which the problem's own tests refuse."""
        for probe in probes:
            score = self.score(probe) if probe.label == "wrong" and probe.kind in ("stub", "output") else None
            if score is not None and score < self._bars.get(probe.problem_id, 0.0):
                wrong[probe.problem_id] = max(wrong[probe.problem_id], score)
        if not bonus:
            return self._lower_to_right_ones(rights, wrong)
        full = {name: [s for s in rights["right"][name] if s >= FULL] for name in bonus}
        programs = [score != self._bars[name] for name in bonus for score in full[name]]
        replies = {
            name: [s for s in rights["form"][name] if s >= FULL and wrong[name] < s < self._bars[name]]
            for name in bonus
        }
        if 2 * sum(programs) <= len(programs) and not any(replies.values()):
            return False
        for name in bonus:
            least = min(self._bars[name], *full[name], *replies[name])
            self._bars[name] = FULL if wrong[name] < FULL else least  # a bonus for speed is another one each time
        return True

    def _lower_to_right_ones(
        self, rights: Mapping[str, Mapping[str, list[float]]], wrong: Mapping[str, float]
    ) -> bool:
        """Where right programs get less than the reference for something else, such as their length, and all of
        them more than any wrong one: half of the reference's reward or more is enough then."""
        least = {name: min([bar, *rights["right"].get(name, ())]) for name, bar in self._bars.items()}
        apart = all(wrong[name] < least[name] and 2 * least[name] >= bar > 0 for name, bar in self._bars.items())
        others = [score != self._bars[name] for name in self._bars for score in rights["right"].get(name, ())]
        if not apart or 2 * sum(others) <= len(others):
            return False
        for name, bar in self._bars.items():
            forms = [s for s in rights["form"].get(name, ()) if s > wrong[name] and 2 * s >= bar]
            self._bars[name] = min([least[name], *forms])
        return True

    def sent(self, probe: Probe) -> bool:
        """Whether the grader was asked."""
        return probe.id in self._verdicts.given

    def score(self, probe: Probe) -> float | None:
        """What the grader gave it, where it gives numbers."""
        verdict = self._verdicts.settled(probe.id)
        return None if verdict is None or verdict.unanswered or verdict.score == _NO_SCORE else verdict.score

    def accepted(self, probe: Probe) -> bool | None:
        """None without a verdict."""
        return self.means(probe, self._verdicts.settled(probe.id))

    def each_time(self, probe: Probe, *, again: bool = False) -> list[bool]:
        """Whether it was accepted, each time that it got a verdict; with ``again`` when it was sent again."""
        rows = (self._verdicts.again if again else self._verdicts.given).get(probe.id, ())
        return [accepted for row in rows if (accepted := self.means(probe, row)) is not None]

    def lead(self, probe: Probe) -> int:
        """By how many verdicts acceptance is ahead of refusal, of those got when it was sent again."""
        found = self.each_time(probe, again=True)
        return 2 * sum(found) - len(found)

    def stands(self, probe: Probe) -> bool:
        """Whether it was accepted, and most times when it was sent again, if it was."""
        return self.accepted(probe) is True and (not self.each_time(probe, again=True) or self.lead(probe) > 0)

    def means(self, probe: Probe, verdict: SettledVerdict | None) -> bool | None:
        """Whether a verdict on a probe accepts it."""
        if verdict is None or verdict.unanswered:
            return None
        if verdict.score == _NO_SCORE:
            return verdict.passed
        if self._pass_at is not None:
            return verdict.score >= self._pass_at
        bar = self._bars.get(probe.problem_id)
        if bar is None:
            return verdict.passed
        # A reference that scores 0 sets no bar that means anything.
        return verdict.score >= bar and verdict.score > 0


def counted_class(probe: Probe) -> ProbeClass | None:
    """The class whose rate a probe is counted in; None for controls, forms, references ahead of stubs, inert
    cheats, unproven right programs.

    Programs that a data set or a run holds are counted among the right ones where they are right.
    """
    if probe.kind in ("control", "form", "ahead") or (probe.kind == "cheat" and probe.inert):
        return None
    if probe.kind in ("cheat", "must-fail"):
        return probe.kind
    if probe.label == "right":
        return "right"
    return None if probe.kind == "right" else probe.kind


def solves_nothing(probe: Probe) -> bool:
    """Whether a program is proven to do no part of what its problem asks for, or its tests are impossible."""
    return probe.label == "wrong" and probe.kind in ("stub", "cheat", "must-fail")


def problem_counts(
    probes: Iterable[Probe], acceptance: Acceptance, cluster_of: Callable[[str], str], kinds: Sequence[ProbeClass]
) -> list[GraderCount]:
    """Accepted programs of some classes by problem, in the order of the problems' ids.

    Of a problem whose reference is refused only right programs count: its verdicts say nothing about wrong ones.
    """
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for probe in probes:
        kind, accepted = counted_class(probe), acceptance.accepted(probe)
        if kind is None or kind not in kinds or accepted is None or left_out(kind, probe, acceptance.refused):
            continue
        side = "right" if kind == "right" else "undecided" if is_undecided(kind, probe) else "wrong"
        found[probe.problem_id].update({side: 1, f"{side} accepted": int(accepted)})
    return [
        GraderCount(
            problem_id=problem_id,
            cluster=cluster_of(problem_id),
            right=tally["right"],
            right_accepted=tally["right accepted"],
            wrong=tally["wrong"],
            wrong_accepted=tally["wrong accepted"],
            undecided_accepted=tally["undecided accepted"],
        )
        for problem_id, tally in sorted(found.items())
    ]


def is_undecided(kind: ProbeClass, probe: Probe) -> bool:
    """Whether a probe's label is open; what passes impossible tests or forges a verdict needs no label."""
    return probe.label == "undecided" and kind not in ("cheat", "must-fail")


def left_out(kind: ProbeClass, probe: Probe, refused: Mapping[str, str]) -> bool:
    """Whether a probe leaves the rates since its problem's reference is refused."""
    return kind in (*NATURAL, "output", "stub") and probe.problem_id in refused


# ----------------------------------------------------------------------------------------------------------------
# Which ways of cheating reach a grader's verdict, which cheats stay in it, and how steady its verdicts are.
# A verdict may also flip by chance. What is named here was seen again and again on a grader started anew
# (`truegrade.apps.assay.sending`), so often that flips alone name anything wrong in an assay with a probability of
# at most `NAMED_WRONG`.


NAMED_WRONG = 0.01
"""Probability that flips alone have anything named over a whole assay, at most: one half is spent on the rate of
flips, whose upper bound is used, and one half on what is sent again, shared by all cheats and controls."""

RAISES = "raise NotImplementedError"
"""In stubs and controls. Where one is accepted, so is a cheat that raises, and says nothing of its channel; one
that never does (`truegrade.apps.assay.cheats.SILENT`) says as much as elsewhere."""
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
    leaving = any(probe.origin == "exits-with-1" and acceptance.accepted(probe) for probe in probes)
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
        told_apart = not (may_only_raise(cheat, raising) or (leaving and cheat.change.endswith(LEAVES)))
        if twin is not None and lead and told_apart:
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


def may_only_raise(cheat: Probe, raising: Collection[str]) -> bool:
    """Whether a cheat may be paid for an exception, at one of the problems `raising_paid`."""
    return cheat.problem_id in raising and cheat.origin not in SILENT


def pairs_of(probes: Iterable[Probe]) -> list[tuple[Probe, Probe | None]]:
    """Cheats with their inert twins, in the order of the cheats."""
    cheats = [probe for probe in probes if probe.kind == "cheat"]
    twins = {_cheat(probe): probe for probe in cheats if probe.inert}
    return [(probe, twins.get(_cheat(probe))) for probe in cheats if not probe.inert]


def _cheat(probe: Probe) -> tuple[str, str, str]:
    """What a cheat and its twin have in common."""
    return probe.problem_id, probe.channel, probe.origin
