"""From what a grader said to whether it accepted: one verdict for each probe, in the grader's own measure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import isnan
from typing import NamedTuple

from truegrade.assay.records import Probe, ProbeClass, Said
from truegrade.statistics.error_rates import GraderCount

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


class GraderVerdicts:
    """What one grader said; the order of its rows does not matter."""

    def __init__(self) -> None:
        self.given: dict[str, list[SettledVerdict]] = defaultdict(list)
        """By id of the probe, as often as it was sent, those without a verdict among them."""
        self.again: dict[str, list[SettledVerdict]] = defaultdict(list)
        """The same of what was sent again to be told from chance (`truegrade.assay.sending`)."""
        self.why: dict[str, str] = {}
        """Why a probe got no verdict, of those that never did: the least of the texts."""

    def add(self, row: Said) -> None:
        """Take one row."""
        # NaN is no number to compare with.
        score = _NO_SCORE if row.score is None or isnan(row.score) else row.score
        verdict = SettledVerdict(row.passed is None, row.repeat, bool(row.passed), score)
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


class Acceptance:
    """Whether one grader accepted a probe: whether it gave what it gives the reference of the same problem.

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
    """The class whose rate a probe is counted in; None for controls, forms, inert cheats, unproven right programs.

    Programs that a data set or a run holds are counted among the right ones where they are right.
    """
    if probe.kind in ("control", "form") or (probe.kind == "cheat" and probe.inert):
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
