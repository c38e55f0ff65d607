"""What suites of tests say of programs besides right and wrong: which are secure, and how many methods work."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from truegrade.grading.marks import SECURE, TEST_CLASSES, methods_of
from truegrade.pipeline.verdict_table import VerdictTable, counted
from truegrade.profiles import Profile
from truegrade.records import Estimate, Problem, SuiteTask
from truegrade.statistics import TaskTally, estimate
from truegrade.store.facts import VerdictFacts

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
    shown: Mapping[str, Sequence[VerdictFacts]],
    ks: Sequence[int],
) -> list[Estimate]:
    tested = [p for p in problems.values() if isinstance(p.task, SuiteTask) and p.task.security]
    found = []
    for metric, with_function in ((SECURE_AT, False), (BOTH_AT, True)):
        tallies = [_tally(profile, problem, shown[problem.id], with_function) for problem in tested]
        possible = [k for k in ks if any(tally.n >= k for tally in tallies)]
        rates = [(k, estimate(f"pass@{k}", tallies)) for k in possible]
        found += [msgspec.structs.replace(rate, metric=f"{metric}{k}") for k, rate in rates]
    return found


def _tally(profile: Profile, problem: Problem, outcomes: Sequence[VerdictFacts], with_function: bool) -> TaskTally:
    """Samples of a problem, and how many of them are secure, or right and secure."""
    secure = [(SECURE in each.marks and (each.passed or not with_function), each.marks) for each in outcomes]
    n, c = profile.tally(secure)
    return TaskTally(task_id=problem.id, cluster=problem.cluster, n=n, c=c)


def _methods(problems: Mapping[str, Problem], shown: Mapping[str, Sequence[VerdictFacts]]) -> list[Estimate]:
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
