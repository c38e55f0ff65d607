"""From a completion to its verdict: what a run does for each sample, and the grading service for its clients.

The verdicts that count, by problem and sample, and what is averaged over them besides right and wrong.

How far a stage is, told to whoever watches.
"""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import isnan, nan
from typing import Protocol, TypeVar

import msgspec
from msgspec import structs

from truegrade.errors import SandboxError, TruegradeError, UserError, raised
from truegrade.files.extras import require
from truegrade.files.json_text import encode
from truegrade.grading.executor import Executor
from truegrade.grading.functions import OF_REFERENCE
from truegrade.grading.judgement import Judgement
from truegrade.grading.marks import REVERTED, installed_version, missing_package, packages_missed
from truegrade.kinds import kind_at_fault, kind_of
from truegrade.profiles import Profile
from truegrade.profiles.base import refuse_uncovered
from truegrade.records import (
    TOOL_CALLS,
    Answer,
    BuiltInTask,
    Completion,
    Estimate,
    Problem,
    Reason,
    SampleKey,
    Verdict,
)
from truegrade.sandbox import Limits
from truegrade.statistics import TaskTally, estimate
from truegrade.statistics.summaries import ProblemScores, mean_score
from truegrade.store.facts import VerdictFacts, VerdictKind, verdict_kind

RecordT = TypeVar("RecordT", Answer, Judgement)


def verdict_on(
    completion: Completion, problem: Problem, profile: Profile, executor: Executor, answer: Answer | None = None
) -> Verdict:
    """The verdict on one completion. Where grading itself fails, it is the grader's error, and the run goes on.

    A cut reply that holds no value is ``truncated``, whatever else it lacks.

    Args:
        completion: of the problem.
        problem: what was asked.
        profile: the rules.
        executor: runs programs; asked for its level only where something ran.
        answer: what `answer_of` took out of the completion; None has it done here.

    Raises:
        SandboxError: the machine failed.
        TruegradeError: something else that concerns more than this sample.
    """
    answer = answer_of(completion, problem, profile) if answer is None else answer
    if answer.value is None:
        judgement = Judgement(reason=answer.reason or Reason.NO_ANSWER, detail=_why_none(completion, answer))
    else:
        try:
            judgement = profile.judgement(problem, answer, executor)
            if not isinstance(judgement, Judgement):
                raise TypeError(f"judging gave {type(judgement).__name__} and no Judgement")
            judgement = _as_declared(judgement, profile, problem)
            other = None if judgement.passed else kind_of(problem.task).reversal(problem, problem.task)
            if other is not None and profile.judgement(other, answer, executor).passed:
                judgement = structs.replace(judgement, marks=(*judgement.marks, REVERTED))
        except (Exception, SystemExit) as error:
            if _concerns_more(error, profile, problem):
                raise
            judgement = Judgement(reason=Reason.GRADER_ERROR, detail=f"grading failed: {raised(error)}")
    if problem.place and judgement.reason is Reason.GRADER_ERROR and judgement.detail.startswith(OF_REFERENCE):
        said = judgement.detail.removeprefix(OF_REFERENCE)
        place = f"{problem.place}, field 'reference': {said}; correct it, or the tests"
        judgement = structs.replace(judgement, detail=place)
    lacking = answer.value is None or answer.reason is not None
    missing = None if judgement.passed else missing_package(judgement.detail)
    return Verdict(
        benchmark=completion.benchmark,
        dataset_sha256=completion.dataset_sha256,
        problem_id=completion.problem_id,
        sample=completion.sample,
        config_sha256=completion.config_sha256,
        completion_sha256=completion.sha256,
        profile=profile.id,
        passed=judgement.passed,
        reason=Reason.TRUNCATED if lacking and completion.truncated else judgement.reason,
        detail=judgement.detail,
        answer=answer.value,
        found=answer.found,
        cpu_s=judgement.cpu_s,
        wall_s=judgement.wall_s,
        time_sensitive=judgement.time_sensitive,
        truncated=completion.truncated,
        marks=judgement.marks if missing is None else (*judgement.marks, missing),
        level=None if judgement.cpu_s is None else executor.level,
        harness=judgement.harness,
    )


def _why_none(completion: Completion, answer: Answer) -> str:
    """Why a completion has no answer, in words."""
    calls = completion.finish_reason == TOOL_CALLS
    return f"{answer.found}; the reply holds tool_calls, which are not read" if calls else answer.found


def answer_of(completion: Completion, problem: Problem, profile: Profile) -> Answer:
    """The answer in a completion. A reply on which the rule itself fails has none: the run goes on.

    Raises:
        TruegradeError: something that concerns more than this sample.
    """
    if completion.text is None:
        return Answer(value=None, found="the request failed", reason=Reason.NO_ANSWER)
    try:
        return _as_declared(profile.answer(problem, completion), profile, problem)
    except (Exception, SystemExit) as error:
        if _concerns_more(error, profile, problem):
            raise
        return Answer(value=None, found=f"grading failed: {raised(error)}", reason=Reason.GRADER_ERROR)


def _is_ours(profile: Profile, problem: Problem) -> bool:
    return profile.origin is None and isinstance(problem.task, BuiltInTask)


def _concerns_more(error: BaseException, profile: Profile, problem: Problem) -> bool:
    """Whether an error is told of more than one sample; what is not built in may raise any of its own."""
    return isinstance(error, TruegradeError) and (_is_ours(profile, problem) or isinstance(error, SandboxError))


def _as_declared(found: RecordT, profile: Profile, problem: Problem) -> RecordT:
    """The record; of what is not built in, with each field as it is declared.

    Raises:
        TypeError, msgspec.ValidationError: a field holds something else.
    """
    return found if _is_ours(profile, problem) else msgspec.json.decode(encode(found), type=type(found))


def limits_for(profile: Profile, problems: Iterable[Problem]) -> Limits:
    """What programs that answer these problems may use: the profile's limits, and what problems ask for.

    Raises:
        UserError: pytest runs tests, and is not installed here.
    """
    limits = profile.limits
    if profile.timeout_s is not None:
        limits = replace(limits, cpu_s=profile.timeout_s, wall_s=None)
    problems = list(problems)
    needs = []
    for problem in problems:
        with kind_at_fault(problem):
            # A copy, since what is no such record fails in that.
            needs.append(structs.replace(kind_of(problem.task).needs(problem.task)))
    names = {name for problem in problems for name in problem.packages}
    names.update(name for each in needs for name in each.packages)
    if "pytest" in {*limits.packages, *names}:
        require("pytest", f"the run of these tests under {profile.name!r}")
    processes = max(limits.processes, *(each.processes for each in needs)) if needs else limits.processes
    packages = (*limits.packages, *sorted(names - {*limits.packages}))
    return replace(limits, packages=packages, processes=processes)


def refuse_ungradable(profiles: Iterable[Profile], problems: Collection[Problem]) -> None:
    """See, before anything is asked or imported, that every profile can grade these problems here.

    Raises:
        UserError: a profile does not cover one of them, or pytest runs tests and is not installed here.
    """
    for profile in profiles:
        refuse_uncovered([profile], problems)
        limits_for(profile, problems)


def package_versions(names: Iterable[str]) -> dict[str, str]:
    """What is installed of packages that programs may import; those that are not are left out."""
    return {name: version for name in names if (version := installed_version(name))}


def with_packages(problems: Mapping[str, Problem], names: Sequence[str]) -> dict[str, Problem]:
    """The problems, with further packages that programs may import.

    Raises:
        UserError: one is not installed here.
    """
    known = package_versions(names)
    for name in names:
        if name not in known:
            raise UserError(f"`packages` {name}: not installed; pip install {name}, or leave it out")
    return {
        key: structs.replace(problem, packages=(*problem.packages, *names)) for key, problem in problems.items()
    }


SHOWN_ERRORS = 5
"""Problems, or packages, that a warning names."""


VerdictTable = Mapping[str, Sequence[VerdictKind | None]]
"""Under one profile: by problem, then by sample; None where there is no verdict."""


def verdict_table(verdicts: Iterable[VerdictFacts], tasks: Container[str], samples_per_task: int) -> VerdictTable:
    """The verdicts of the problems and samples that count; a later verdict on a sample replaces an earlier one.

    Args:
        verdicts: of one profile, in the order they were written.
        tasks: ids of the problems that count.
        samples_per_task: samples beyond this number do not count.
    """
    table: dict[str, list[VerdictKind | None]] = defaultdict(list)
    known: dict[VerdictKind, VerdictKind] = {}
    for verdict in verdicts:
        if verdict.problem_id in tasks and verdict.sample < samples_per_task:
            samples = table[verdict.problem_id]
            samples += [None] * (verdict.sample + 1 - len(samples))
            samples[verdict.sample] = known.setdefault(outcome := verdict_kind(verdict), outcome)
    return table


def graded(samples: Iterable[VerdictKind | None]) -> list[VerdictKind]:
    """Those that have a verdict."""
    return [outcome for outcome in samples if outcome is not None]


def counted(samples: Iterable[VerdictKind | None]) -> list[VerdictKind]:
    """Those whose verdict says something about the answer: a grader's error stands in no denominator."""
    return [outcome for outcome in samples if outcome is not None and outcome.reason is not Reason.GRADER_ERROR]


def counted_by_sample(samples: Iterable[VerdictKind | None]) -> Iterator[tuple[int, VerdictKind]]:
    """The same with the number of each sample."""
    for sample, outcome in enumerate(samples):
        if outcome is not None and outcome.reason is not Reason.GRADER_ERROR:
            yield sample, outcome


def side_by_side(profiles: Sequence[VerdictTable]) -> Iterator[tuple[SampleKey, list[VerdictKind | None]]]:
    """Every sample that any profile graded, with its outcome under each, in the order given."""
    tasks = dict.fromkeys(task for outcomes in profiles for task in outcomes)
    for task in tasks:
        columns = [outcomes.get(task, ()) for outcomes in profiles]
        for sample in range(max(map(len, columns))):
            row = [column[sample] if sample < len(column) else None for column in columns]
            if any(outcome is not None for outcome in row):
                yield SampleKey(task, sample), row


def disputed(row: Sequence[VerdictKind | None]) -> bool:
    """Whether a sample passes under one profile and fails under another."""
    if len(row) < 2:  # as of most runs
        return False
    judged = (each for each in row if each is not None and each.reason is not Reason.GRADER_ERROR)
    return len({outcome.passed for outcome in judged}) > 1


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


def missing_packages(outcomes: Sequence[VerdictKind]) -> list[str]:
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
    found: dict[str, dict[str, array[float]]] = {}  # by metric and problem; of a sample without a score, no number
    for verdict in verdicts:  # the last one on a sample, which is the one in the table
        samples = outcomes.get(verdict.problem_id, ()) if verdict.problem_id in problems else ()
        outcome = samples[verdict.sample] if verdict.sample < len(samples) else None
        if outcome is not None and outcome.reason is verdict.reason is not Reason.GRADER_ERROR:
            for metric, score in profile.scores(verdict).items():
                of_metric = found.setdefault(metric, {})
                scores = of_metric.setdefault(verdict.problem_id, array("d", [nan]) * len(samples))
                scores[verdict.sample] = score
    return [
        mean_score(
            metric,
            [
                ProblemScores(cluster=problem.cluster, scores=_numbers(found[metric].get(name, ())))
                for name, problem in problems.items()
            ],
        )
        for metric in profile.scored
        if metric in found
    ]


def _numbers(scores: Iterable[float]) -> array[float]:
    return array("d", (score for score in scores if not isnan(score)))


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


class Progress(Protocol):
    """Watches a stage; the terminal's bar and the silence of scripts both fit."""

    def start(self, stage: str, total: int, done: int) -> None:
        """A stage begins; ``done`` of ``total`` were finished earlier."""

    def beside(self) -> Progress:
        """What watches another stage at the same time, perhaps from another thread."""

    def advance(self, *, cost_usd: float | None = None, failed: bool = False) -> None:
        """One more is finished."""

    def finish(self) -> None:
        """The stage is over."""
