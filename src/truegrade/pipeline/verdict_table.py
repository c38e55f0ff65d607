"""The verdicts that count, by problem and sample, and what is averaged over them besides right and wrong."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence

import msgspec

from truegrade.grading.marks import packages_missed
from truegrade.profiles import Profile
from truegrade.records import Estimate, Problem, Reason, SampleKey, Verdict
from truegrade.statistics import TaskTally, estimate
from truegrade.statistics.summaries import ProblemScores, mean_score
from truegrade.store.facts import VerdictFacts

SHOWN_ERRORS = 5
"""Problems, or packages, that a warning names."""


VerdictTable = Mapping[str, Sequence[VerdictFacts | None]]
"""Under one profile: by problem, then by sample; None where there is no verdict."""


def verdict_table(verdicts: Iterable[VerdictFacts], tasks: Container[str], samples_per_task: int) -> VerdictTable:
    """The verdicts of the problems and samples that count; a later verdict on a sample replaces an earlier one.

    Args:
        verdicts: of one profile, in the order they were written.
        tasks: ids of the problems that count.
        samples_per_task: samples beyond this number do not count.
    """
    table: dict[str, list[VerdictFacts | None]] = defaultdict(list)
    for verdict in verdicts:
        if verdict.problem_id in tasks and verdict.sample < samples_per_task:
            samples = table[verdict.problem_id]
            samples += [None] * (verdict.sample + 1 - len(samples))
            samples[verdict.sample] = verdict
    return table


def graded(samples: Iterable[VerdictFacts | None]) -> list[VerdictFacts]:
    """Those that have a verdict."""
    return [outcome for outcome in samples if outcome is not None]


def counted(samples: Iterable[VerdictFacts | None]) -> list[VerdictFacts]:
    """Those whose verdict says something about the answer: a grader's error stands in no denominator."""
    return [outcome for outcome in graded(samples) if outcome.reason is not Reason.GRADER_ERROR]


def side_by_side(profiles: Sequence[VerdictTable]) -> Iterator[tuple[SampleKey, list[VerdictFacts | None]]]:
    """Every sample that any profile graded, with its outcome under each, in the order given."""
    tasks = dict.fromkeys(task for outcomes in profiles for task in outcomes)
    for task in tasks:
        columns = [outcomes.get(task, ()) for outcomes in profiles]
        for sample in range(max(map(len, columns))):
            row = [column[sample] if sample < len(column) else None for column in columns]
            if any(outcome is not None for outcome in row):
                yield SampleKey(task, sample), row


def disputed(row: Iterable[VerdictFacts | None]) -> bool:
    """Whether a sample passes under one profile and fails under another."""
    return len({outcome.passed for outcome in counted(row)}) > 1


def grader_errors(verdicts: Iterable[VerdictFacts], outcomes: VerdictTable) -> dict[str, str]:
    """What went wrong on our side, by problem.

    Args:
        verdicts: of one profile.
        outcomes: the same, as `verdict_table` gives them.
    """
    failed = {task for task, samples in outcomes.items() if len(counted(samples)) < len(graded(samples))}
    if not failed:
        return {}
    told = (v for v in verdicts if v.reason is Reason.GRADER_ERROR and v.problem_id in failed)
    return {verdict.problem_id: verdict.detail for verdict in told}


def errors_named(errors: Mapping[str, str]) -> str:
    """The warning about `grader_errors`."""
    shown = ", ".join(list(errors)[:SHOWN_ERRORS]) + (", …" if len(errors) > SHOWN_ERRORS else "")
    tasks = "1 problem" if len(errors) == 1 else f"{len(errors)} problems"
    return (
        f"grader errors on {tasks} ({shown}) are excluded from all estimates; the first:"
        f" {next(iter(errors.values()), 'unknown')}"
    )


def missing_packages(outcomes: Sequence[VerdictFacts]) -> list[str]:
    """The warning about programs that failed for a package that they may not import; empty without any."""
    missed = Counter(name for outcome in outcomes for name in packages_missed(outcome.marks))
    named = ", ".join(f"{name} {count}" for name, count in missed.most_common(SHOWN_ERRORS))
    said = (
        f"{missed.total()} of {len(outcomes)} programs failed for a package that programs cannot import here"
        f" ({named}); `packages` NAME offers one that is installed"
    )
    return [said] if missed else []


# ----------------------------------------------------------------------------------------------------------------
# Numbers of a profile that are no counts of all samples: means of its scores, and the first samples alone.


def score_means(
    profile: Profile, problems: Mapping[str, Problem], outcomes: VerdictTable, verdicts: Iterable[Verdict]
) -> list[Estimate]:
    """The mean of each score that the profile gives its answers (`Profile.scored`); empty where it gives none.

    Args:
        profile: scores an answer.
        problems: those that count, by id.
        outcomes: their verdicts.
        verdicts: the same and others, with their answers; read only where the profile scores.
    """
    if not profile.scored:
        return []
    shown = {name: counted(outcomes.get(name, ())) for name in problems}
    chosen = {facts.key: facts for samples in shown.values() for facts in samples}
    scores = {
        verdict.key: profile.scores(verdict)
        for verdict in verdicts
        if (facts := chosen.get(verdict.key)) is not None
        and (facts.completion_sha256, facts.reason) == (verdict.completion_sha256, verdict.reason)
    }
    known = next(iter(scores.values()), {})
    return [
        mean_score(
            metric,
            [
                ProblemScores(
                    cluster=problems[name].cluster, scores=tuple(scores[facts.key][metric] for facts in samples)
                )
                for name, samples in shown.items()
            ],
        )
        for metric in profile.scored
        if metric in known
    ]


def first_sample(clusters: Mapping[str, str], outcomes: VerdictTable) -> Estimate | None:
    """Share of problems whose sample 0 passes, over the problems where it was graded; None if it never was.

    Args:
        clusters: by id of a problem, its cluster.
        outcomes: the verdicts of the problems.
    """
    tallies = []
    for problem, cluster in clusters.items():
        known = counted([next(iter(outcomes.get(problem, ())), None)])
        passed = sum(one.passed for one in known)
        tallies.append(TaskTally(task_id=problem, cluster=cluster, n=len(known), c=passed))
    if not any(tally.n for tally in tallies):
        return None
    return msgspec.structs.replace(estimate("pass@1", tallies), metric="first_sample")
