"""Anchors: the scores of replies that need no model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from truegrade.evolution.genomes import Scores
from truegrade.evolution.objectives.scorers import GradedReply, Scorer, repair_task
from truegrade.evolution.replies import graded
from truegrade.grading.executor import Executor
from truegrade.profiles import Profile
from truegrade.records import Completion, Problem

ANCHORS: Mapping[str, str] = MappingProxyType(
    {
        "identity": "the buggy program, unchanged",
        "stub": "a function that takes anything and returns None",
        "empty": "an empty reply",
        "reference": "the correct program",
    }
)
"""Names of the anchors, and what they answer."""


def anchor_reply(anchor: str, problem: Problem) -> str:
    """The reply of an anchor, in a fence.

    Raises:
        KeyError: there is no such anchor.
    """
    task = repair_task(problem)
    code = {
        "identity": task.buggy,
        "stub": f"def {task.entry_point}(*args):\n    return None",
        "empty": "",
        "reference": task.reference,
    }[anchor]
    return f"```python\n{code.strip()}\n```" if code else ""


def score_anchors(
    problems: Sequence[Problem], objectives: Scorer, profile: Profile, executor: Executor
) -> dict[str, Scores]:
    """Scores of every anchor, by its name.

    Args:
        problems: those to repair.
        objectives: how replies are scored.
        profile: takes code out of replies, and grades it.
        executor: bound to the profile's limits.
    """
    return {
        anchor: objectives.score(
            problems, [graded_reply(anchor, problem, profile, executor) for problem in problems], executor
        )
        for anchor in ANCHORS
    }


def graded_reply(anchor: str, problem: Problem, profile: Profile, executor: Executor) -> GradedReply:
    """An anchor's reply to a problem, graded as any other."""
    reply = Completion(
        benchmark=problem.benchmark,
        dataset_sha256=problem.dataset_sha256,
        problem_id=problem.id,
        sample=0,
        config_sha256=anchor,
        prompt_sha256=profile.render_prompt(problem).sha256,
        text=anchor_reply(anchor, problem),
        model=f"anchor/{anchor}",
    )
    return graded(problem, reply, profile, executor)
