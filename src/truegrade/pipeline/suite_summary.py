"""What suites of tests say of programs besides right and wrong, and how far their passes can be trusted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

import msgspec

from truegrade.errors import first_few
from truegrade.grading.functions import TESTS_INSIDE
from truegrade.grading.marks import READS_TESTS, SECURE, TEST_CLASSES, chance_of, methods_of
from truegrade.pipeline.cautions import Caution, caution
from truegrade.pipeline.verdicts import SHOWN_ERRORS, VerdictTable, counted, graded
from truegrade.profiles import Profile
from truegrade.records import Estimate, Problem, SuiteTask
from truegrade.statistics import TaskTally, estimate
from truegrade.store.facts import VerdictKind

Tier = Literal["outside", "controls", "inside"]
TIERS: tuple[Tier, ...] = ("outside", "controls", "inside")
MOST_CHANCE = 1e-4
"""Of one pass or more among all verdicts of a run that a program gets which computes nothing."""


class TierRate(msgspec.Struct, frozen=True, kw_only=True):
    """The verdicts of one tier."""

    tier: Tier
    verdicts: int
    passes: int
    """Those that count as passes."""
    problems: int
    """For ``outside`` those of which every verdict is, for the other two all others."""
    rate: Estimate | None
    """pass@1 over these problems, where passes of another tier count as none; None without a problem."""


def tier_of(marks: Iterable[str], verdicts: int) -> Tier:
    """The tier of a verdict, under a profile that judges outside where it can.

    Args:
        marks: the verdict's.
        verdicts: how many the run has under the profile: each is a try.
    """
    if TESTS_INSIDE not in marks:
        return "outside"
    chances = [chance for mark in marks if (chance := chance_of(mark)) is not None]
    return "controls" if chances and max(chances) * verdicts < MOST_CHANCE else "inside"


def suite_tiers(profile: Profile, problems: Mapping[str, Problem], outcomes: VerdictTable) -> list[TierRate]:
    """One rate for each tier; none where there are no suites, or the profile does not judge outside.

    A program that fails forges nothing, and a failure inside has no control runs. So a rate is over all problems
    that are judged outside, or over all others.

    Args:
        profile: says which verdicts are samples and passes.
        problems: by id.
        outcomes: verdicts by problem.
    """
    suites = {name: problem for name, problem in problems.items() if isinstance(problem.task, SuiteTask)}
    if not profile.judges_outside or not suites:
        return []
    shown = {name: counted(outcomes.get(name, ())) for name in suites}
    total = _verdicts(outcomes)
    apart = {name for name, samples in shown.items() if any(TESTS_INSIDE in each.marks for each in samples)}
    found = []
    for tier in TIERS:
        tallies = {name: _tally(profile, suites[name], shown[name], tier, total) for name in suites}
        over = [tally for name, tally in tallies.items() if (name in apart) == (tier != "outside")]
        found.append(
            TierRate(
                tier=tier,
                verdicts=sum(tier_of(o.marks, total) == tier for samples in shown.values() for o in samples),
                passes=sum(tally.c for tally in tallies.values()),
                problems=len(over),
                rate=estimate("pass@1", over) if any(tally.n for tally in over) else None,
            )
        )
    return found


def _tally(
    profile: Profile, problem: Problem, samples: Sequence[VerdictKind], tier: Tier, verdicts: int
) -> TaskTally:
    """Samples of a problem, and how many of them pass by this tier."""
    passes = [(each.passed and tier_of(each.marks, verdicts) == tier, each.marks) for each in samples]
    n, c = profile.tally(passes)
    return TaskTally(task_id=problem.id, cluster=problem.cluster, n=n, c=c)


def _verdicts(outcomes: VerdictTable) -> int:
    return sum(len(graded(samples)) for samples in outcomes.values())


def tier_cautions(profile: Profile, outcomes: VerdictTable) -> list[Caution]:
    """How many passes rest on tests in the program's process, and how many read tests and do not count."""
    if not profile.judges_outside:
        return []
    passes = [(name, each) for name, samples in outcomes.items() for each in graded(samples) if each.passed]
    reading = [name for name, each in passes if READS_TESTS in each.marks]
    total = _verdicts(outcomes)
    left = [tier_of(each.marks, total) for _, each in passes if READS_TESTS not in each.marks]
    found = []
    if inside := left.count("inside"):
        said = (
            f"{inside} of {len(left)} passes rest on tests that share the program's process, where a program can"
            f" forge them; {left.count('outside')} were judged outside"
        )
        if controls := left.count("controls"):
            said += f", {controls} by control runs"
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


# ----------------------------------------------------------------------------------------------------------------
# What suites of tests say of programs besides right and wrong: which are secure, and how many methods work.


METHODS = "methods"
SECURE_AT, BOTH_AT = "secure@", "func-sec@"


def suite_rates(
    profile: Profile, problems: Mapping[str, Problem], outcomes: VerdictTable, ks: Sequence[int]
) -> list[Estimate]:
    """The rates beside pass@k; empty where the problems have none.

    ``secure@k`` and ``func-sec@k`` are over problems with tests of security: the share of programs that pass them,
    whatever else they do, and of those that are right as well; ``methods`` is the share of classes of tests that
    succeed, problems weighted by how many they have.

    Args:
        profile: says which verdicts are samples.
        problems: by id.
        outcomes: verdicts by problem.
        ks: the k of pass@k.
    """
    shown = {name: counted(outcomes.get(name, ())) for name in problems}
    return [*_security(profile, problems, shown, ks), *_methods(problems, shown)]


def _security(
    profile: Profile,
    problems: Mapping[str, Problem],
    shown: Mapping[str, Sequence[VerdictKind]],
    ks: Sequence[int],
) -> list[Estimate]:
    tested = [p for p in problems.values() if isinstance(p.task, SuiteTask) and p.task.security]
    found = []
    for metric, with_function in ((SECURE_AT, False), (BOTH_AT, True)):
        tallies = [_rate_tally(profile, problem, shown[problem.id], with_function) for problem in tested]
        possible = [k for k in ks if any(tally.n >= k for tally in tallies)]
        rates = [(k, estimate(f"pass@{k}", tallies)) for k in possible]
        found += [msgspec.structs.replace(rate, metric=f"{metric}{k}") for k, rate in rates]
    return found


def _rate_tally(
    profile: Profile, problem: Problem, outcomes: Sequence[VerdictKind], with_function: bool
) -> TaskTally:
    """Samples of a problem, and how many of them are secure, or right and secure."""
    secure = [(SECURE in each.marks and (each.passed or not with_function), each.marks) for each in outcomes]
    n, c = profile.tally(secure)
    return TaskTally(task_id=problem.id, cluster=problem.cluster, n=n, c=c)


def _methods(problems: Mapping[str, Problem], shown: Mapping[str, Sequence[VerdictKind]]) -> list[Estimate]:
    """A sample that never came to its tests has none of them right."""
    if not any(methods_of(each.marks) for samples in shown.values() for each in samples):
        return []
    tallies = []
    for name, samples in shown.items():
        counts = [found for each in samples if (found := methods_of(each.marks)) is not None]
        tests = int(problems[name].tags.get(TEST_CLASSES, 0)) * len(samples)
        passed = min(tests, sum(found for found, _ in counts))
        tallies.append(TaskTally(task_id=name, cluster=problems[name].cluster, n=tests, c=passed))
    return [msgspec.structs.replace(estimate("all_solutions", tallies), metric=METHODS)]
