"""Several models on several benchmarks by one call: every pair is a run of its own, in its own folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from truegrade.agents import Agent
from truegrade.analysis.standings import PairStanding
from truegrade.api import DEFAULT_PROFILES, unsafe_allowed
from truegrade.api.pairs import AskedPairs, SharedSettings, WantedBenchmark, evaluate
from truegrade.benchmarks.base import BenchmarkSpec
from truegrade.errors import UserError
from truegrade.models import DEFAULT_MODEL, find_preset
from truegrade.models.adapters import ARGUMENT
from truegrade.models.base import Model
from truegrade.pipeline.importing import RUNS
from truegrade.pipeline.loading import Limit
from truegrade.pipeline.progress import Progress
from truegrade.profiles import AnyProfile
from truegrade.records.config import RequestPolicy, Sampling
from truegrade.report.progress_lines import Silent
from truegrade.store.journal import Notice, ignore

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
    progress: Progress | None = None,
    notice: Notice = ignore,
) -> list[PairStanding]:
    """Evaluate every model on every benchmark, as `truegrade.run` does one on one.

    Every pair is opened and checked before the first request of the first one. A pair that fails later does not
    stop the others. The same call resumes: what is stored is neither requested nor graded again, whether this
    function or `truegrade.run` made it. ``suite.html`` in the folder of the runs shows all pairs; it is written
    again at the end of each. With ``batch`` the batches of all pairs are submitted before the first is
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
        progress: watches the stages; each names its pair.
        notice: told what a person should know; each sentence names its pair.

    Returns:
        One for each pair, all benchmarks of the first model first.

    Raises:
        UserError: a name, file or number is at fault, of whatever pair; the message says which and what to do.
            Nothing was asked.
    """
    refuse_shared(benchmarks, models, base_url, model_args or {}, data, reuse)
    wanted = [
        WantedBenchmark(
            benchmark=each, profiles=profiles, n=n, data=data, task_args=task_args, limit=limit, sampling=sampling,
            cutoff=cutoff,
        )
        for each in benchmarks
    ]  # fmt: skip
    shared = SharedSettings(
        ids=ids, request_policy=request_policy or RequestPolicy(), base_url=base_url, model_args=model_args,
        agent=agent, agent_args=agent_args, reuse=reuse, cache=cache, probe=probe, batch=batch,
        exclude_seen=exclude_seen, ks=ks, workers=workers, executor=executor,
        allow_unsafe=unsafe_allowed(allow_unsafe), packages=packages, log_to=log_to,
    )  # fmt: skip
    asked = AskedPairs(
        name=", ".join(each.title for each in wanted),
        description="Several benchmarks or models of one command.",
        wanted=wanted, models=models, out=Path(out or RUNS),
    )  # fmt: skip
    return evaluate(asked, shared, progress=progress or Silent(), notice=notice).pairs


def refuse_shared(
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
