"""Numbers of a profile that are no counts of all samples: means of its scores, and the first samples alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from truegrade.pipeline.verdict_table import VerdictTable, counted
from truegrade.profiles import Profile
from truegrade.records import Estimate, Problem, Verdict
from truegrade.statistics import TaskTally, estimate
from truegrade.statistics.summaries import ProblemScores, mean_score


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
