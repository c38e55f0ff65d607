"""Chosen runs against the first of them: `truegrade.api.compare` for each, and what it refuses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import msgspec

from truegrade import api
from truegrade.errors import UserError
from truegrade.statistics.reasoning_records import ShareDifference
from truegrade.store import Run
from truegrade.web.viewer.run_catalogue import Folder

NAMED_TASKS = 500
"""Task ids a list of wins or losses carries; the count beside it is of all."""


class CompareQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What ``/api/compare`` takes."""

    run: Annotated[list[str], msgspec.Meta(min_length=2, max_length=20)]
    """Ids; the first is what the others are compared with."""
    profile: str = ""
    force: bool = False
    """Compare even what is not comparable."""


class TaskList(msgspec.Struct, frozen=True, kw_only=True):
    """Tasks, the first `NAMED_TASKS` by name."""

    count: int
    tasks: list[str]


class ComparedRun(msgspec.Struct, frozen=True, kw_only=True):
    """One run minus the first, paired by task; only ``problem`` where they cannot be compared."""

    run: str
    problem: str = ""
    profile: str = ""
    rate_first: float = 0.0
    rate: float = 0.0
    difference: float = 0.0
    low: float | None = None
    high: float | None = None
    confidence: float = 0.95
    method: str = ""
    permutation_p: float = 1.0
    mcnemar_p: float | None = None
    tasks: int = 0
    clusters: int = 0
    wins: TaskList = TaskList(count=0, tasks=[])
    losses: TaskList = TaskList(count=0, tasks=[])
    ties: int = 0
    only_first: int = 0
    """Tasks that this run lacks."""
    only_here: int = 0
    parts: tuple[ShareDifference, ...] = ()


class ComparisonPage(msgspec.Struct, frozen=True, kw_only=True):
    """What ``/api/compare`` gives."""

    first: str
    benchmark: str
    """That of the first run."""
    profiles: list[str]
    """Those that every run was graded under."""
    contenders: list[ComparedRun]


def compare(folders: Sequence[Folder], query: CompareQuery) -> ComparisonPage:
    """Compare runs with the first one.

    Raises:
        UserError: the first run cannot be read.
    """
    first = Run.open(folders[0].path)
    runs = [Run.open(folder.path) for folder in folders]
    common = [profile for profile in first.profiles if all(profile in run.profiles for run in runs)]
    return ComparisonPage(
        first=folders[0].id,
        benchmark=first.manifest.benchmark.label,
        profiles=common,
        contenders=[
            _contender(first, run, folder.id, query) for run, folder in zip(runs[1:], folders[1:], strict=True)
        ],
    )


def _contender(first: Run, run: Run, run_id: str, query: CompareQuery) -> ComparedRun:
    profile = query.profile or next((one for one in first.profiles if one in run.profiles), "")
    if not profile:
        names = [", ".join(one.profiles) or "nothing yet" for one in (first, run)]
        problem = f"no profile in common: {first.given} was graded under {names[0]}, {run.given} under {names[1]}"
        return ComparedRun(run=run_id, problem=problem)
    try:
        found = api.compare(first, run, profile=profile, force=query.force)
    except UserError as error:
        return ComparedRun(run=run_id, problem=str(error))
    return ComparedRun(
        run=run_id,
        profile=profile,
        rate_first=found.rate_a,
        rate=found.rate_b,
        difference=found.difference,
        low=found.low,
        high=found.high,
        confidence=found.confidence,
        method=found.method,
        permutation_p=found.permutation_p,
        mcnemar_p=found.mcnemar_p,
        tasks=found.tasks,
        clusters=found.clusters,
        wins=_tasks(found.wins),
        losses=_tasks(found.losses),
        ties=len(found.ties),
        only_first=len(found.only_a),
        only_here=len(found.only_b),
        parts=found.parts,
    )


def _tasks(names: Sequence[str]) -> TaskList:
    return TaskList(count=len(names), tasks=list(names[:NAMED_TASKS]))
