"""The third stage: every completion that has no verdict under a profile gets one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing

from truegrade.errors import BadRecord
from truegrade.grading.marks import MISSING_PACKAGE
from truegrade.pipeline.graders import Grader
from truegrade.pipeline.local_grader import LocalGrader
from truegrade.pipeline.progress import Progress
from truegrade.pipeline.selection import scored
from truegrade.pipeline.verdicts import limits_for, package_versions
from truegrade.profiles import Profile
from truegrade.records import Problem
from truegrade.store import Run
from truegrade.store.facts import CompletionFacts


def grade_run(
    run: Run,
    problems: Mapping[str, Problem],
    profile: Profile,
    *,
    workers: int = 1,
    progress: Progress,
    allow_unsafe: bool = False,
    grader: Grader | None = None,
) -> None:
    """Give every completion a verdict under one profile; what has one already is not graded again.

    Memory is bounded: completions are streamed, and at most a few per worker are under way. Nothing is started
    before a program has to run.

    Args:
        run: holds the completions and receives the verdicts.
        problems: those to grade, by id; completions of others, and of shots, are passed over.
        profile: the rules.
        workers: programs run at once.
        progress: told about every verdict.
        allow_unsafe: run programs even where only resource limits protect this machine (level 1).
        grader: who does it, with workers and permissions of its own; None for ``workers`` on this machine.

    Raises:
        BadRecord: a completion belongs to another data set.
        NotComparable: the run holds verdicts that another version of the profile's file gave.
        SandboxError: programs would have to run at level 1, and that is not allowed.
    """
    run.record_origin(profile.id, profile.origin)
    problems = scored(run, problems, profile)
    packages = package_versions(limits_for(profile, problems.values()).packages)
    others = packages != (run.manifest.packages or {}).get(profile.id)
    graded = run.graded(profile.id, anew=MISSING_PACKAGE if others else None)
    wanted = [(facts.key, facts.sha256) for facts in _gradable(run, problems)]
    missing = {each for each in wanted if each not in graded}
    progress.start(f"grade as {profile.name}", total=len(wanted), done=sum(each in graded for each in wanted))
    # The texts are read here, and of a run without any missing not at all.
    replies = (c for c in run.completions() if c.text is not None) if missing else iter(())
    pending = (c for c in replies if (c.key, c.sha256) in missing)
    grader = grader or LocalGrader(workers, allow_unsafe=allow_unsafe)
    levels: set[int] = set()
    try:
        with (
            closing(grader.verdicts(pending, problems, profile)) as verdicts,
            run.append_verdicts(profile.id) as journal,
        ):
            for verdict in verdicts:
                journal.append(verdict)
                progress.advance()
                if verdict.level is not None:
                    levels.add(verdict.level)
    finally:
        progress.finish()
    run.record_grading(profile.id, min(levels, default=None), packages)


def _gradable(run: Run, problems: Mapping[str, Problem]) -> Iterator[CompletionFacts]:
    for facts in run.completion_facts():
        problem = problems.get(facts.problem_id)
        if problem is None or not facts.answered:
            continue
        if facts.dataset_sha256 != problem.dataset_sha256:
            raise BadRecord(
                run.completions_path,
                f"{facts.problem_id} sample {facts.sample} answers another version of the data set"
                f" ({facts.dataset_sha256[:12]}…, loaded {problem.dataset_sha256[:12]}…)",
                field="dataset_sha256",
            )
        yield facts
