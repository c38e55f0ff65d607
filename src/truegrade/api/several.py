"""Several models on several benchmarks by one call: every pair is a run of its own, in its own folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from truegrade.agents import Agent
from truegrade.analysis.standings import PairStanding, pair_standing
from truegrade.api import DEFAULT_PROFILES, run, unsafe_allowed
from truegrade.benchmarks.base import BenchmarkSpec
from truegrade.errors import TruegradeError, UserError
from truegrade.files import run_log
from truegrade.models import DEFAULT_MODEL, find_preset
from truegrade.models.adapters import ARGUMENT
from truegrade.models.base import Model
from truegrade.pipeline.deciding import stop_request
from truegrade.pipeline.generate import complete
from truegrade.pipeline.graders import open_grader
from truegrade.pipeline.importing import RUNS
from truegrade.pipeline.progress import Progress
from truegrade.pipeline.selection import Limit
from truegrade.pipeline.stages import RunRequest, prepare, submit
from truegrade.pipeline.verdicts import with_packages
from truegrade.profiles import AnyProfile, Profile, find_profile
from truegrade.records.config import RequestPolicy, Sampling
from truegrade.report.progress_lines import Silent, download_progress
from truegrade.statistics.windows import check_cutoff
from truegrade.store import Run
from truegrade.store.batch_journal import open_batches
from truegrade.store.journal import Notice, ignore
from truegrade.store.manifest import read_manifest
from truegrade.store.run import refuse_mixing
from truegrade.store.trackers import NotTracked, open_trackers

ONE_MODELS = ("input_price", "output_price", ARGUMENT)
"""Model arguments that are true of one model only."""

ONE_PROVIDERS = "api_key_env"
"""The model argument that is true of the models of one provider only."""


def run_all(
    benchmarks: Sequence[str | BenchmarkSpec],
    *,
    models: Sequence[str | Model] = (DEFAULT_MODEL,),
    profiles: Sequence[AnyProfile] = DEFAULT_PROFILES,
    n: int = 1,
    data: str | Path | None = None,
    task_args: Mapping[str, str] | None = None,
    limit: Limit = None,
    ids: Sequence[str] = (),
    sampling: Sampling | None = None,
    request_policy: RequestPolicy | None = None,
    base_url: str | None = None,
    model_args: Mapping[str, Any] | None = None,
    agent: str | Agent | None = None,
    agent_args: Mapping[str, Any] | None = None,
    reuse: str | Path | None = None,
    cache: bool | None = None,
    probe: bool = False,
    batch: bool = False,
    exclude_seen: bool = False,
    out: str | Path | None = None,
    ks: Sequence[int] | None = None,
    workers: int | None = None,
    executor: str = "local",
    allow_unsafe: bool | None = None,
    cutoff: str | None = None,
    packages: Sequence[str] = (),
    log_to: Sequence[str] = (),
    stop_when_decided: Run | str | Path | None = None,
    order_seed: int = 0,
    alpha: float = 0.05,
    progress: Progress | None = None,
    notice: Notice = ignore,
) -> list[PairStanding]:
    """Evaluate every model on every benchmark, as `truegrade.run` does one on one.

    Every pair is opened and checked before the first request of the first one. A pair that fails later does not
    stop the others. The same call resumes: what is stored is neither requested nor graded again, whether this
    function or `truegrade.run` made it. With ``batch`` the batches of all pairs are submitted before the first is
    waited for.

    Args:
        benchmarks: names, files or objects, as for `truegrade.run`.
        models: names or objects. An object is asked about each benchmark in an event loop of its own, and closed
            after each. Weights that run in this process are loaded for the check and again for each benchmark.
        profiles, n, task_args, limit, ids, sampling, agent, agent_args, cache, probe, batch, exclude_seen, ks,
            workers, executor, allow_unsafe, cutoff, packages, log_to: as for `truegrade.run`, for every pair.
        data: local folder that holds the data files; a file only with one benchmark.
        request_policy: how hard the services are tried. ``max_cost_usd`` bounds all pairs together, with what
            earlier calls spent on them.
        base_url: address of an OpenAI-compatible service; only with models of one provider.
        model_args: arguments of every model. Prices and ``adapter`` only with one model, ``api_key_env`` only with
            models of one provider.
        reuse: as for `truegrade.run`, only with one pair.
        out: folder that holds the folders of the runs; None for ``runs``.
        stop_when_decided, order_seed, alpha: as for `truegrade.run`, only with one pair.
        progress: watches the stages; each names its pair.
        notice: told what a person should know; each sentence names its pair.

    Returns:
        One for each pair, all benchmarks of the first model first.

    Raises:
        UserError: a name, file or number is at fault, of whatever pair; the message says which and what to do.
            Nothing was asked.
    """
    policy, unsafe = request_policy or RequestPolicy(), unsafe_allowed(allow_unsafe)
    _refuse_shared(benchmarks, models, base_url, model_args or {}, data, reuse)
    if stop_when_decided is not None and len(benchmarks) * len(models) > 1:
        raise UserError(
            f"`stop_when_decided` {stop_when_decided} is compared with one run: name one model and one benchmark"
        )
    arguments: dict[str, Any] = {
        "n": n, "data": data, "task_args": task_args, "limit": limit, "ids": ids, "sampling": sampling,
        "request_policy": policy, "base_url": base_url, "model_args": model_args, "agent": agent,
        "agent_args": agent_args, "reuse": reuse, "cache": cache, "probe": probe, "batch": batch,
        "exclude_seen": exclude_seen, "stop": stop_request(stop_when_decided, order_seed, alpha),
    }  # fmt: skip
    opened = [find_profile(each) for each in profiles]
    check_cutoff(cutoff)
    open_trackers(log_to)
    with_packages({}, packages)
    open_grader(executor, workers=workers, allow_unsafe=unsafe).close()
    pairs: list[_Pair] = []
    for model in models:
        for benchmark in benchmarks:
            request = RunRequest(benchmark=benchmark, model=model, out=None, under=Path(out or RUNS), **arguments)
            _add_checked(pairs, request, opened, ks, notice)
    del arguments["stop"]
    arguments |= {
        "stop_when_decided": stop_when_decided, "order_seed": order_seed, "alpha": alpha,
        "profiles": profiles, "ks": ks, "workers": workers, "executor": executor, "allow_unsafe": unsafe,
        "cutoff": cutoff, "packages": packages, "log_to": log_to,
    }  # fmt: skip
    budget, watch = _SharedBudget(policy, pairs), progress or Silent()
    refused: dict[Path, str | None] = {}
    if batch:
        refused = {pair.folder: _submitted(pair, budget, opened, ks, watch) for pair in pairs}
        arguments["probe"] = False  # that was done before the submission
    return [
        _carried_out(
            pair, arguments, budget, _Labelled(watch, f"{place}/{len(pairs)} {pair.label}"), opened,
            failure=refused.get(pair.folder),
        )
        for place, pair in enumerate(pairs, 1)
    ]  # fmt: skip


class _Pair(msgspec.Struct, frozen=True, kw_only=True):
    """One model on one benchmark, checked: nothing stands in its way but the service itself."""

    request: RunRequest
    label: str
    benchmark: str
    model: str
    folder: Path
    notice: Notice


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


def _refuse_shared(
    benchmarks: Sequence[str | BenchmarkSpec],
    models: Sequence[str | Model],
    base_url: str | None,
    model_args: Mapping[str, Any],
    data: str | Path | None,
    reuse: str | Path | None,
) -> None:
    """Refuse arguments that cannot be meant for all.

    Raises:
        UserError: which, and why.
    """
    if not benchmarks or not models:
        raise UserError("name at least one benchmark (`benchmark`) and one model (`model`)")
    given = [
        *(["`base_url`"] if base_url is not None else []),
        *([f"`model_args` {ONE_PROVIDERS}"] if ONE_PROVIDERS in model_args else []),
    ]
    providers = dict.fromkeys(_provider(model) for model in models)
    if given and len(providers) > 1:
        raise UserError(
            f"{' and '.join(given)} can only be true of one provider, and the models are of {len(providers)}"
            f" ({', '.join(providers)}): ask the models of each provider by a command of its own"
        )
    alone = [name for name in ONE_MODELS if name in model_args]
    if alone and len(models) > 1:
        raise UserError(
            f"`model_args` {', '.join(alone)} can only be true of one model, and {len(models)} are named: ask each"
            " by a command of its own"
        )
    if data is not None and len(benchmarks) > 1 and Path(data).is_file():
        raise UserError(
            f"`data` {data} is one file, and {len(benchmarks)} benchmarks are named: give the folder that holds"
            " their files"
        )
    if reuse is not None and len(benchmarks) * len(models) > 1:
        raise UserError(
            f"`reuse` {reuse} holds one model's replies to one benchmark: name one model and benchmark"
        )


def _provider(model: str | Model) -> str:
    if not isinstance(model, str):
        return model.name.partition("/")[0]
    preset = find_preset(model)
    return (model if preset is None else preset.name).partition("/")[0]


def _add_checked(
    pairs: list[_Pair],
    request: RunRequest,
    profiles: Sequence[Profile],
    ks: Sequence[int] | None,
    notice: Notice,
) -> None:
    """Open everything of a pair, refuse what cannot end well, and keep nothing but its names: its problems or
    weights may be large.

    Raises:
        UserError: as `truegrade.pipeline.stages.prepare`, or the pair was named before.
    """
    benchmark = request.benchmark if isinstance(request.benchmark, str) else request.benchmark.name
    model = request.model if isinstance(request.model, str) else request.model.name
    label = f"{benchmark} with {model}"
    told = _each_once(label, notice)
    try:
        plan = prepare(request, profiles, grading=True, ks=ks, notice=told, shown=download_progress)
        if isinstance(request.model, str):
            complete(plan.asked.close())  # weights may fill the memory: each pair opens them when its turn comes
        if (stored := plan.folder / "manifest.json").exists():
            refuse_mixing(plan.folder, read_manifest(stored), plan.manifest)
    except UserError as error:
        raise UserError(f"{label}: {error}") from error
    if any(pair.folder == plan.folder for pair in pairs):
        raise UserError(f"{label} is named twice: name it once, and more samples by `n`")
    named = {"benchmark": plan.loaded.name, "model": plan.asked.name}
    pairs.append(_Pair(request=request, label=label, folder=plan.folder, notice=told, **named))


def _each_once(label: str, notice: Notice) -> Notice:
    """A notice that names the pair, and says nothing twice: what the check has told the run would tell again."""
    said: set[str] = set()

    def tell(sentence: str) -> None:
        if sentence not in said:
            said.add(sentence)
            notice(f"{label}: {sentence}")

    return tell


def _submitted(
    pair: _Pair,
    budget: _SharedBudget,
    profiles: Sequence[Profile],
    ks: Sequence[int] | None,
    progress: Progress,
) -> str | None:
    """Hand a pair's requests to the service's batches, so that the pairs wait together; why that failed."""
    run_log.end()
    request = msgspec.structs.replace(pair.request, request_policy=budget.policy_for(pair))
    try:
        submit(request, profiles, ks=ks, progress=progress, notice=pair.notice, shown=download_progress)
    except TruegradeError as error:
        pair.notice(str(error))
        return str(error)
    finally:
        budget.ended(pair)
    return None


def _carried_out(
    pair: _Pair,
    arguments: Mapping[str, Any],
    budget: _SharedBudget,
    progress: Progress,
    profiles: Sequence[Profile],
    *,
    failure: str | None,
) -> PairStanding:
    """Ask, grade and count one pair; why that did not come to its end is part of what is returned.

    A pair that failed already, for the reason given, is left as it is.
    """
    done: Run | None = None
    run_log.end()  # what is said from here on belongs to this pair's run
    try:
        if failure is None:
            done = run(
                pair.request.benchmark, model=pair.request.model, out=pair.folder, progress=progress,
                notice=pair.notice, **{**arguments, "request_policy": budget.policy_for(pair)},
            )  # fmt: skip
            failure = done.shortfall
    except NotTracked as error:
        done, failure = error.made, str(error)
        pair.notice(failure)
    except TruegradeError as error:
        failure = str(error)
        pair.notice(failure)
    budget.ended(pair)
    return pair_standing(
        done or pair.folder, [profile.id for profile in profiles],
        benchmark=pair.benchmark, model=pair.model, failure=failure,
    )  # fmt: skip
