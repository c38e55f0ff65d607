"""Pairs of a model and a benchmark: all are checked before the first is asked, then each becomes a run of its own.

`truegrade.api.several` and `truegrade.api.suites` say which pairs; the page that shows them is written here, at
the end of every pair.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from truegrade.agents import Agent
from truegrade.analysis.standings import LeftOutBenchmark, PairStanding, SuiteStanding, pair_standing, titled
from truegrade.api import DEFAULT_PROFILES, run
from truegrade.benchmarks.base import BenchmarkSpec
from truegrade.errors import DataMissing, TruegradeError, UserError
from truegrade.files import run_log
from truegrade.models.base import Model
from truegrade.pipeline.generate import complete
from truegrade.pipeline.grade import open_grader
from truegrade.pipeline.importing import RUNS
from truegrade.pipeline.loading import Limit
from truegrade.pipeline.progress import Progress
from truegrade.pipeline.stages import RunRequest, prepare, submit
from truegrade.pipeline.verdicts import with_packages
from truegrade.profiles import AnyProfile, Profile, find_profile
from truegrade.records.config import RequestPolicy, Sampling
from truegrade.report.progress_lines import download_progress
from truegrade.report.standings_document import write_suite
from truegrade.statistics.windows import check_cutoff
from truegrade.store import Run
from truegrade.store.journal import Notice
from truegrade.store.manifest import now, open_batches, read_manifest
from truegrade.store.run import refuse_mixing
from truegrade.store.trackers import NotTracked, open_trackers

NOT_YET = "its turn has not come, or the command was stopped before its end; the same command goes on"
"""Why a pair is not complete whose turn has not come."""


class WantedBenchmark(msgspec.Struct, frozen=True, kw_only=True):
    """One benchmark as every model is to be asked about it; fields as the parameters of `truegrade.run`."""

    benchmark: str | BenchmarkSpec
    profiles: Sequence[AnyProfile] = DEFAULT_PROFILES
    n: int = 1
    data: str | Path | None = None
    task_args: Mapping[str, str] | None = None
    limit: Limit = None
    sampling: Sampling | None = None
    cutoff: str | None = None

    @property
    def title(self) -> str:
        """Its name, with its arguments."""
        name = self.benchmark if isinstance(self.benchmark, str) else self.benchmark.name
        return titled(name, self.task_args or {})


class SharedSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What all pairs have in common; fields as the parameters of `truegrade.run`."""

    ids: Sequence[str] = ()
    request_policy: RequestPolicy
    base_url: str | None
    model_args: Mapping[str, Any] | None
    agent: str | Agent | None
    agent_args: Mapping[str, Any] | None
    reuse: str | Path | None = None
    cache: bool | None
    probe: bool
    batch: bool
    exclude_seen: bool
    ks: Sequence[int] | None
    workers: int | None
    executor: str
    allow_unsafe: bool
    packages: Sequence[str]
    log_to: Sequence[str]


class AskedPairs(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be evaluated, and how its page is headed."""

    name: str
    description: str
    wanted: Sequence[WantedBenchmark]
    models: Sequence[str | Model]
    out: Path = RUNS
    origins: Mapping[str, str] = {}
    """Where each suite was found, by its name."""
    missing: Mapping[str, str] = {}
    """Benchmarks by title whose data are known not to be at hand, with how to get them."""
    leave_out: Callable[[Mapping[str, str]], list[LeftOutBenchmark]] | None = None
    """Told all benchmarks whose data are not at hand before anything is asked: gives those that are left out, or
    refuses. None to refuse the first."""


class _Pair(msgspec.Struct, frozen=True, kw_only=True):
    """One model on one benchmark, checked: nothing stands in its way but the service itself."""

    request: RunRequest
    wanted: WantedBenchmark
    profiles: Sequence[Profile]
    label: str
    benchmark: str
    model: str
    folder: Path
    notice: Notice


def evaluate(
    asked: AskedPairs,
    shared: SharedSettings,
    *,
    progress: Progress,
    notice: Notice,
) -> SuiteStanding:
    """Check every pair, then ask, grade and count one after the other, and write the page after each.

    Args:
        asked: benchmarks and models.
        shared: what all pairs have in common.
        progress, notice: as for `truegrade.api.several.run_all`.

    Raises:
        UserError: a name, file or number is at fault, of whatever pair. Nothing was asked.
    """
    missing = dict(asked.missing)
    pairs = _checked(asked, shared, missing, notice)
    left_out = asked.leave_out(missing) if asked.leave_out and missing else []
    so_far = SuiteStanding(
        name=asked.name, description=asked.description, updated=now(), origins=dict(asked.origins),
        folder=asked.out, pairs=[_standing(pair, pair.folder, NOT_YET) for pair in pairs],
        left_out=left_out,
    )  # fmt: skip
    write_suite(so_far)
    budget = _SharedBudget(shared.request_policy, pairs)
    refused: dict[Path, str | None] = {}
    if shared.batch:
        refused = {pair.folder: _submitted(pair, budget, shared.ks, progress) for pair in pairs}
        shared = msgspec.structs.replace(shared, probe=False)  # that was done before the submission
    for place, pair in enumerate(pairs):
        watch = _Labelled(progress, f"{place + 1}/{len(pairs)} {pair.label}")
        ended = _carried_out(pair, shared, budget, watch, failure=refused.get(pair.folder))
        done = [*so_far.pairs[:place], ended, *so_far.pairs[place + 1 :]]
        so_far = msgspec.structs.replace(so_far, updated=now(), pairs=done)
        write_suite(so_far)
    return so_far


def _checked(asked: AskedPairs, shared: SharedSettings, missing: dict[str, str], notice: Notice) -> list[_Pair]:
    """Open everything of every pair and refuse what cannot end well; to ``missing`` come those without data.

    Raises:
        UserError: as `evaluate`.
    """
    opened = {id(wanted): [find_profile(each) for each in wanted.profiles] for wanted in asked.wanted}
    for wanted in asked.wanted:
        check_cutoff(wanted.cutoff)
    open_trackers(shared.log_to)
    with_packages({}, shared.packages)
    open_grader(shared.executor, workers=shared.workers, allow_unsafe=shared.allow_unsafe).close()
    pairs: list[_Pair] = []
    for model in asked.models:
        for wanted in asked.wanted:
            if wanted.title in missing:
                continue
            try:
                _add_checked(pairs, asked.out, model, wanted, opened[id(wanted)], shared, notice)
            except DataMissing as error:
                if asked.leave_out is None:
                    raise
                missing[wanted.title] = str(error.__cause__ or error)
    return pairs


_OF_REQUEST = (
    "ids", "request_policy", "base_url", "model_args", "agent", "agent_args", "reuse", "cache", "probe", "batch",
    "exclude_seen",
)  # fmt: skip


def _add_checked(
    pairs: list[_Pair],
    under: Path,
    model: str | Model,
    wanted: WantedBenchmark,
    profiles: Sequence[Profile],
    shared: SharedSettings,
    notice: Notice,
) -> None:
    """Open everything of a pair, refuse what cannot end well, and keep nothing but its names: its problems or
    weights may be large.

    Raises:
        UserError: as `truegrade.pipeline.stages.prepare`, or the pair was named before.
        DataMissing: the benchmark's data are not at hand.
    """
    request = RunRequest(
        benchmark=wanted.benchmark, model=model, n=wanted.n, data=wanted.data, task_args=wanted.task_args,
        limit=wanted.limit, sampling=wanted.sampling, out=None, under=under,
        **{name: getattr(shared, name) for name in _OF_REQUEST},
    )  # fmt: skip
    label = f"{wanted.title} with {model if isinstance(model, str) else model.name}"
    told = _each_once(label, notice)
    try:
        plan = prepare(request, profiles, grading=True, ks=shared.ks, notice=told, shown=download_progress)
        if isinstance(request.model, str):
            complete(plan.asked.close())  # weights may fill the memory: each pair opens them when its turn comes
        if (stored := plan.folder / "manifest.json").exists():
            refuse_mixing(plan.folder, read_manifest(stored), plan.manifest)
    except DataMissing as error:
        raise DataMissing(f"{label}: {error}") from error
    except UserError as error:
        raise UserError(f"{label}: {error}") from error
    if any(pair.folder == plan.folder for pair in pairs):
        raise UserError(f"{label} is named twice: name it once, and more samples by `n`")
    named = {"benchmark": titled(plan.loaded.name, plan.loaded.args), "model": plan.asked.name}
    pairs.append(
        _Pair(
            request=request,
            wanted=wanted,
            profiles=profiles,
            label=label,
            folder=plan.folder,
            notice=told,
            **named,
        )
    )


def _each_once(label: str, notice: Notice) -> Notice:
    """A notice that names the pair, and says nothing twice: what the check has told the run would tell again."""
    said: set[str] = set()

    def tell(sentence: str) -> None:
        if sentence not in said:
            said.add(sentence)
            notice(f"{label}: {sentence}")

    return tell


class _Labelled:
    """A progress whose stages name the pair that they belong to."""

    def __init__(self, progress: Progress, label: str) -> None:
        self._progress, self._label = progress, label
        self.advance, self.finish = progress.advance, progress.finish

    def start(self, stage: str, total: int, done: int) -> None:
        self._progress.start(f"{self._label}: {stage}", total, done)

    def beside(self) -> Progress:
        return _Labelled(self._progress.beside(), self._label)


class _SharedBudget:
    """What all pairs together may cost, and what each has cost so far, in this command and earlier ones.

    A batch under way counts as the most that it can cost.
    """

    def __init__(self, policy: RequestPolicy, pairs: Sequence[_Pair]) -> None:
        self._policy = policy
        self._spent_usd = {} if policy.max_cost_usd is None else {pair.folder: _spent_usd(pair) for pair in pairs}

    def policy_for(self, pair: _Pair) -> RequestPolicy:
        """The policy with what the other pairs leave; a run counts what it has cost itself."""
        if self._policy.max_cost_usd is None:
            return self._policy
        others_usd = sum(usd for folder, usd in self._spent_usd.items() if folder != pair.folder)
        return msgspec.structs.replace(self._policy, max_cost_usd=max(0.0, self._policy.max_cost_usd - others_usd))

    def ended(self, pair: _Pair) -> None:
        """Note what a pair has cost by now."""
        if self._policy.max_cost_usd is not None:
            self._spent_usd[pair.folder] = _spent_usd(pair)


def _spent_usd(pair: _Pair) -> float:
    if not (pair.folder / "manifest.json").exists():
        return 0.0
    under_way = open_batches(pair.folder).values()
    return sum(facts.cost_usd or 0.0 for facts in Run.open(pair.folder).completion_facts()) + sum(
        batch.bound_usd or 0.0 for batch in under_way
    )


def _submitted(pair: _Pair, budget: _SharedBudget, ks: Sequence[int] | None, progress: Progress) -> str | None:
    """Hand a pair's requests to the service's batches, so that the pairs wait together; why that failed."""
    run_log.end()
    request = msgspec.structs.replace(pair.request, request_policy=budget.policy_for(pair))
    try:
        submit(request, pair.profiles, ks=ks, progress=progress, notice=pair.notice, shown=download_progress)
    except TruegradeError as error:
        pair.notice(str(error))
        return str(error)
    finally:
        budget.ended(pair)
    return None


def _carried_out(
    pair: _Pair, shared: SharedSettings, budget: _SharedBudget, progress: Progress, *, failure: str | None
) -> PairStanding:
    """Ask, grade and count one pair; why that did not come to its end is part of what is returned.

    A pair that failed already, for the reason given, is left as it is.
    """
    done: Run | None = None
    run_log.end()  # what is said from here on belongs to this pair's run
    shared = msgspec.structs.replace(shared, request_policy=budget.policy_for(pair))
    arguments = msgspec.structs.asdict(shared) | msgspec.structs.asdict(pair.wanted)
    del arguments["benchmark"]
    try:
        if failure is None:
            done = run(
                pair.request.benchmark, model=pair.request.model, out=pair.folder, progress=progress,
                notice=pair.notice, **arguments,
            )  # fmt: skip
            failure = done.shortfall
    except NotTracked as error:
        done, failure = error.made, str(error)
        pair.notice(failure)
    except TruegradeError as error:
        failure = str(error)
        pair.notice(failure)
    budget.ended(pair)
    return _standing(pair, done or pair.folder, failure)


def _standing(pair: _Pair, of: Run | Path, failure: str | None) -> PairStanding:
    return pair_standing(
        of, [profile.id for profile in pair.profiles], benchmark=pair.benchmark, model=pair.model, failure=failure
    )
