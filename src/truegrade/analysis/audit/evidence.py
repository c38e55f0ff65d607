"""The input of the checks: a surveyed file and its verdicts on regrading."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

import msgspec

from truegrade.analysis.audit.survey import AuditSurvey, survey
from truegrade.benchmarks.base import Benchmark
from truegrade.pipeline.grade import grade_run
from truegrade.pipeline.importing import identity_of
from truegrade.pipeline.progress import Progress
from truegrade.pipeline.verdict_table import VerdictTable, counted, verdict_table
from truegrade.profiles import Profile
from truegrade.records import UNANSWERED, Problem
from truegrade.statistics import TaskTally
from truegrade.store import Manifest, Run
from truegrade.store.facts import VerdictFacts
from truegrade.store.manifest import now


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """A file and what grading it gave."""

    survey: AuditSurvey
    outcomes: VerdictTable
    problems: Mapping[str, Problem]
    """All problems of the benchmark, by id."""
    profile: str

    def outcome(self, problem_id: str, sample: int | None) -> VerdictFacts | None:
        """The fresh verdict on a sample."""
        row = self.outcomes.get(problem_id, ())
        return row[sample] if sample is not None and sample < len(row) else None

    def passes_all(self, problem_id: str) -> bool:
        """Whether every sample of a problem passes."""
        row = counted(self.outcomes.get(problem_id, ()))
        return bool(row) and all(outcome.passed for outcome in row)

    def tallies(self, profile: Profile) -> list[TaskTally]:
        """Counts of each problem that the file answers, as the profile counts them."""
        return [
            _tally(profile, self.problems[name], counted(self.outcomes.get(name, ())))
            for name in self.problems
            if name in self.survey.samples
        ]


def gather(
    path: Path,
    benchmark: Benchmark,
    profile: Profile,
    *,
    graded: Run | None = None,
    workers: int | None,
    progress: Progress,
    allow_unsafe: bool,
) -> Evidence:
    """Survey a file and grade all of it anew, in a run that is removed afterwards.

    What ``graded``, a run of the same file, has a verdict on is not graded once more.

    Raises:
        BadRecord: a row is at fault.
        SandboxError: this machine cannot run programs.
    """
    problems = benchmark.by_id()
    with tempfile.TemporaryDirectory(prefix="truegrade-audit-") as folder:
        run = Run.create_or_resume(Path(folder), _manifest(path, benchmark))
        with run.append_completions() as journal:
            surveyed = survey(path, benchmark, journal.append)
        if graded is not None:
            _take_over(graded, run, profile)
        grade_run(
            run,
            problems,
            profile,
            workers=workers or os.cpu_count() or 1,
            progress=progress,
            allow_unsafe=allow_unsafe,
        )
        width = 1 + max((max(facts, default=0) for facts in surveyed.samples.values()), default=0)
        outcomes = verdict_table(run.verdict_facts(profile.id), problems, width)
    return Evidence(survey=surveyed, outcomes=outcomes, problems=problems, profile=profile.id)


def _take_over(graded: Run, run: Run, profile: Profile) -> None:
    """Copy the verdicts on completions that both runs hold, the same text read in the same way."""
    known = {(c.key, c.sha256, c.form, c.finish_reason) for c in graded.completion_facts()}
    own = ((c.key, c.sha256, c.form, c.finish_reason) for c in run.completion_facts())
    same = {fact[:2] for fact in own if fact in known}
    with run.append_verdicts(profile.id) as journal:
        for verdict in graded.verdicts(profile.id):
            if (verdict.key, verdict.completion_sha256) in same:
                journal.append(verdict)


def _manifest(path: Path, benchmark: Benchmark) -> Manifest:
    return Manifest(
        created=now(),
        benchmark=identity_of(benchmark),
        imported_from=path.name,
        samples_per_task=1,
    )


def _tally(profile: Profile, problem: Problem, outcomes: list[VerdictFacts]) -> TaskTally:
    n, c = profile.tally([(outcome.passed, outcome.marks) for outcome in outcomes])
    unanswered = min(n, sum(outcome.reason in UNANSWERED for outcome in outcomes))
    return TaskTally(task_id=problem.id, cluster=problem.cluster, n=n, c=c, unanswered=unanswered)
