"""How far passes of suites of tests can be trusted: by whether tests ran outside the program's process."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

import msgspec

from truegrade.errors import first_few
from truegrade.grading.functions import TESTS_INSIDE
from truegrade.grading.marks import CONTROLS, READS_TESTS
from truegrade.kinds import kind_of
from truegrade.pipeline.cautions import Caution, caution
from truegrade.pipeline.verdicts import SHOWN_ERRORS, VerdictTable, counted, graded
from truegrade.profiles import Profile
from truegrade.records import Estimate, Problem
from truegrade.statistics import TaskTally, estimate
from truegrade.store.facts import VerdictKind

Tier = Literal["outside", "inside", "controls"]
"""Where tests ran. ``controls`` is in summaries of earlier versions alone: this one makes no control runs."""


class TierRate(msgspec.Struct, frozen=True, kw_only=True):
    """The verdicts of one tier."""

    tier: Tier
    verdicts: int
    passes: int
    """Those that count as passes."""
    problems: int
    """For ``outside`` those of which every verdict is, for ``inside`` all others."""
    rate: Estimate | None
    """pass@1 over these problems, where passes of another tier count as none; None without a problem."""


def tier_of(marks: Iterable[str]) -> Tier:
    """The tier of a verdict with these marks, under a profile that judges outside where it can."""
    return "inside" if TESTS_INSIDE in marks else "outside"


def suite_tiers(profile: Profile, problems: Mapping[str, Problem], outcomes: VerdictTable) -> list[TierRate]:
    """One rate for each tier; none where no problem is a suite, or the profile does not judge outside.

    A rate is over all problems that are judged outside, or over all others: suites, and what stands beside them.

    Args:
        profile: says which verdicts are samples and passes.
        problems: by id.
        outcomes: verdicts by problem.
    """
    if not profile.judges_outside or not any(kind_of(one.task).inside for one in problems.values()):
        return []
    shown = {name: counted(outcomes.get(name, ())) for name in problems}
    apart = {name for name, samples in shown.items() if any(TESTS_INSIDE in each.marks for each in samples)}
    # Of a problem whose answers were no programs its row may say it.
    apart |= {name for name, problem in problems.items() if problem.tags.get("tier") == "own-tests"}
    tiers: tuple[Tier, ...] = ("outside", "inside")
    found = []
    for tier in tiers:
        tallies = {name: _tally(profile, problems[name], shown[name], tier) for name in problems}
        over = [tally for name, tally in tallies.items() if (name in apart) == (tier != "outside")]
        found.append(
            TierRate(
                tier=tier,
                verdicts=sum(tier_of(o.marks) == tier for samples in shown.values() for o in samples),
                passes=sum(tally.c for tally in tallies.values()),
                problems=len(over),
                rate=estimate("pass@1", over) if any(tally.n for tally in over) else None,
            )
        )
    return found


def _tally(profile: Profile, problem: Problem, samples: Sequence[VerdictKind], tier: Tier) -> TaskTally:
    """Samples of a problem, and how many of them pass by this tier."""
    passes = [(each.passed and tier_of(each.marks) == tier, each.marks) for each in samples]
    n, c = profile.tally(passes)
    return TaskTally(task_id=problem.id, cluster=problem.cluster, n=n, c=c)


def tier_cautions(profile: Profile, outcomes: VerdictTable) -> list[Caution]:
    """How many passes rest on tests in the program's process, and how many read tests and do not count."""
    if not profile.judges_outside:
        return []
    passes = [(name, each) for name, samples in outcomes.items() for each in graded(samples) if each.passed]
    reading = [name for name, each in passes if READS_TESTS in each.marks]
    left = [each.marks for _, each in passes if READS_TESTS not in each.marks]
    found = []
    if inside := sum(TESTS_INSIDE in marks for marks in left):
        said = (
            f"{inside} of {len(left)} passes rest on tests that share the program's process, where a program can"
            f" forge them; {len(left) - inside} were judged outside"
        )
        if controls := sum(one.startswith(CONTROLS) for marks in left for one in marks):
            said += f"; {controls} have the mark of control runs, which this version no longer makes"
        found.append(caution("tests-inside", said, inside, len(left)))
    if reading:
        named = first_few(reading, SHOWN_ERRORS)
        said = (
            f"{len(reading)} of {len(passes)} programs that pass read frames, code objects, gc or modules of tests"
            f" in the process of their tests, or may do so, and count as failures: {named}; read these samples,"
            " which have the mark reads-tests"
        )
        found.append(caution("reads-tests", said, len(reading), len(passes)))
    return found
