"""The numbers of a run that stopped early: its pass@1 with bounds that hold whenever one stops, and a warning."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
from msgspec import UNSET

from truegrade.pipeline.cautions import Caution, caution
from truegrade.records import Estimate
from truegrade.statistics import TaskTally
from truegrade.statistics.sequential import ordered_clusters, share_sequence
from truegrade.statistics.splits import Split
from truegrade.store import Manifest
from truegrade.store.manifest import Stopping

METHOD = "hedged-betting confidence sequence: valid although the run stopped early"
NO_METHOD = "none: the run stopped early"


def stopped_early(manifest: Manifest, asked: int, problems: int) -> Stopping | None:
    """The rule that ended a run; None where it was not decided, or has been completed since.

    Args:
        manifest: of the run.
        asked: problems that have a reply.
        problems: those that it would have asked.
    """
    stopping = manifest.stopping
    return None if stopping is UNSET or not stopping.decided or asked >= problems else stopping


def stopped_caution(stopping: Stopping, problems: int) -> list[Caution]:
    """The warning on every number of such a run."""
    test = stopping.test
    if test is None or test.decision is None:
        return []
    better = "better" if test.second_better else "worse"
    said = (
        f"stopped early, decided at problem {test.decision.problems} of {problems}: {better} than"
        f" {stopping.against} (anytime-valid p {test.p_value:.2g}); pass@1 is of the problems asked, with a"
        " confidence sequence in place of its interval, and no result on the benchmark"
    )
    return [caution("stopped-when-decided", said, test.decision.problems, problems)]


def anytime_estimates(
    estimates: Sequence[Estimate], tallies: Sequence[TaskTally], stopping: Stopping
) -> list[Estimate]:
    """The estimates of a run that stopped early: pass@1 with a confidence sequence, others without an interval."""
    return [_anytime(estimate, tallies, stopping) for estimate in estimates]


def without_intervals(splits: Sequence[Split]) -> list[Split]:
    """Groups of such a run: rates alone."""
    return [msgspec.structs.replace(found, rate=_bare(found.rate)) for found in splits]


def _anytime(estimate: Estimate, tallies: Sequence[TaskTally], stopping: Stopping) -> Estimate:
    if estimate.metric != "pass@1":
        return _bare(estimate)
    of: Mapping[str, TaskTally] = {tally.task_id: tally for tally in tallies}
    order = ordered_clusters({task: tally.cluster for task, tally in of.items()}, stopping.order_seed)
    shares = [[of[task].c / of[task].n for task in tasks if of[task].n] for tasks in order]
    seen = [cluster for cluster in shares if cluster]
    low, high = share_sequence(seen, [len(tasks) for tasks in order], 1 - estimate.confidence)
    return msgspec.structs.replace(estimate, low=low, high=high, method=METHOD)


def _bare(estimate: Estimate) -> Estimate:
    return msgspec.structs.replace(estimate, low=None, high=None, method=NO_METHOD)
