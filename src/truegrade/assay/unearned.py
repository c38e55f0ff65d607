"""Which programs a grader paid that solve nothing, and whether the problem's own tests refuse them.

A program that solves nothing is *paid without solving* where the tests of its problem, run by ``strict``, refuse
it, or where the tests were impossible. Where these tests accept it as well, they are weak, and no grader that runs
them does better.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from truegrade.assay.acceptance import NATURAL, Acceptance, solves_nothing
from truegrade.assay.channels import Steadiness
from truegrade.assay.measures import UnearnedPay
from truegrade.assay.records import Probe


class UnearnedPrograms:
    """What one grader paid without having been given a solution.

    Args:
        probes: of one benchmark.
        acceptance: of the grader.
        own: id of a program to whether the problem's own tests accept it under ``strict``; of programs that the
            grader accepted.
    """

    def __init__(self, probes: Sequence[Probe], acceptance: Acceptance, own: Mapping[str, bool]) -> None:
        self._probes, self._acceptance, self._own = probes, acceptance, own
        self._tried = [each for each in probes if solves_nothing(each) and acceptance.accepted(each) is not None]

    def paid(self, probe: Probe) -> bool:
        """Whether a program that solves nothing was paid without solving, and again when it was sent again."""
        return self._acceptance.stands(probe) and (probe.kind == "must-fail" or self._own.get(probe.id) is False)

    def all_paid(self) -> list[Probe]:
        """Every program that was paid without solving."""
        return [probe for probe in self._tried if self.paid(probe)]

    def loose(self, steadiness: Steadiness) -> list[Probe]:
        """Other wrong programs accepted that the problem's own tests refuse; none where flips explain so many."""
        natural = [probe for probe in self._natural() if self._acceptance.accepted(probe) is not None]
        found = [
            probe for probe in natural if self._acceptance.accepted(probe) and self._own.get(probe.id) is False
        ]
        return [] if steadiness.explains(len(found), len(natural)) else found

    def unjudged(self) -> list[Probe]:
        """Accepted programs that the problem's own tests have to judge: those that solve nothing; if none of these
        was paid without solving, the other wrong programs."""
        left = [probe for probe in self._tried if probe.kind != "must-fail"]
        if not self.all_paid():
            left += self._natural()
        return [probe for probe in left if self._acceptance.stands(probe) and probe.id not in self._own]

    def _natural(self) -> list[Probe]:
        return [probe for probe in self._probes if probe.kind in NATURAL and probe.label == "wrong"]

    def measure(self, steadiness: Steadiness) -> UnearnedPay:
        """The figures of a summary; wrong programs that flips explain are not called loose."""
        stands = self._acceptance.stands
        weak = [probe for probe in self._tried if stands(probe) and self._own.get(probe.id) is True]
        spared = {probe.id for probe in weak}
        by_kind: dict[str, list[bool]] = defaultdict(list)
        for probe in self._tried:
            if probe.id not in spared:
                by_kind["twin" if probe.inert else probe.kind].append(self.paid(probe))
        impossible = by_kind.pop("must-fail", [])
        paid = self.all_paid()
        once = sum(not stands(probe) for probe in self._tried if self._acceptance.accepted(probe))
        natural = [probe for probe in self._natural() if self._acceptance.accepted(probe) is not None]
        return UnearnedPay(
            tried=sum(map(len, by_kind.values())),
            kinds=len({(probe.kind, probe.origin) for probe in self._tried}),
            paid=sum(map(sum, by_kind.values())),
            by_kind={kind: (sum(found), len(found)) for kind, found in sorted(by_kind.items())},
            impossible_tried=len(impossible),
            impossible_paid=sum(impossible),
            weak=len(weak),
            weak_problems=len({probe.problem_id for probe in weak}),
            once=once,
            shortest=min(paid, key=lambda probe: (len(probe.code), probe.id)).id if paid else "",
            loose=len(self.loose(steadiness)),
            natural=len(natural),
        )

    def best_cheat(self) -> tuple[str, float] | None:
        """The cheat that is paid most often, with the share of its problems; None where none got a verdict."""
        shares: dict[str, list[bool]] = defaultdict(list)
        for probe in self._tried:
            if probe.kind == "cheat" and not probe.inert:
                shares[probe.origin].append(self.paid(probe))
        return max(((name, sum(found) / len(found)) for name, found in shares.items()), key=_share, default=None)


def _share(named: tuple[str, float]) -> float:
    return named[1]


def paid_in_words(unearned: UnearnedPay) -> str:
    """How many programs that solve nothing were paid: ``57 of 90 ... (stubs 0 of 10, cheats 57 of 80)``."""
    kinds = ", ".join(f"{kind}s {paid} of {tried}" for kind, (paid, tried) in unearned.by_kind.items())
    shown = f" ({kinds})" if unearned.paid and len(unearned.by_kind) > 1 else ""
    said = f"{unearned.paid} of {unearned.tried} programs that solve nothing were paid{shown}"
    impossible = f"{unearned.impossible_paid} of {unearned.impossible_tried}"
    if unearned.impossible_paid and not unearned.paid:
        return f"{impossible} programs were paid on impossible tests, and {said}"
    return f"{said}, and {impossible} on impossible tests" if unearned.impossible_tried else said
