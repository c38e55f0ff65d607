"""Suites: their benchmarks with their settings, by one call that resumes and writes one page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from truegrade.agents import Agent
from truegrade.analysis.standings import LeftOutBenchmark, SuiteStanding
from truegrade.api import DEFAULT_PROFILES, unsafe_allowed
from truegrade.api.pairs import AskedPairs, SharedSettings, WantedBenchmark, evaluate
from truegrade.api.several import refuse_shared
from truegrade.benchmarks import find_benchmark
from truegrade.benchmarks.base import BenchmarkSpec, limit_of
from truegrade.datasets import source
from truegrade.datasets.download import find, locate
from truegrade.datasets.sources import UNPINNED
from truegrade.errors import DataMissing, UserError
from truegrade.models import DEFAULT_MODEL
from truegrade.models.base import Model
from truegrade.pipeline.importing import RUNS, slug
from truegrade.pipeline.loading import Limit
from truegrade.pipeline.progress import Progress
from truegrade.pipeline.suites import BenchmarkSuite, SuiteBenchmark, find_suite, is_suite
from truegrade.pipeline.suites.suite import argument
from truegrade.profiles import AnyProfile
from truegrade.records.config import RequestPolicy, Sampling
from truegrade.registry import Found
from truegrade.report.progress_lines import Silent
from truegrade.store.journal import Notice, ignore


class _Given(msgspec.Struct, frozen=True, kw_only=True):
    """What the call says of every benchmark; what it does not say is the suite's to say."""

    profiles: Sequence[AnyProfile]
    n: int | None
    data: Path | None
    task_args: Mapping[str, str]
    limit: Limit
    sampling: Sampling
    cutoff: str | None


class _Entry(msgspec.Struct, frozen=True, kw_only=True):
    """A benchmark, and whether it is left out where its data are not at hand."""

    wanted: WantedBenchmark
    optional: bool


def run_suite(
    suites: str | BenchmarkSuite | Sequence[str | BenchmarkSuite | BenchmarkSpec],
    *,
    models: Sequence[str | Model] = (),
    profiles: Sequence[AnyProfile] = (),
    n: int | None = None,
    data: str | Path | None = None,
    task_args: Mapping[str, str] | None = None,
    limit: Limit = None,
    sampling: Sampling | None = None,
    request_policy: RequestPolicy | None = None,
    base_url: str | None = None,
    model_args: Mapping[str, Any] | None = None,
    agent: str | Agent | None = None,
    agent_args: Mapping[str, Any] | None = None,
    cache: bool | None = None,
    probe: bool = False,
    batch: bool = False,
    exclude_seen: bool = False,
    skip_missing: bool = False,
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
) -> SuiteStanding:
    """Evaluate models on the benchmarks of suites, as `truegrade.run_all` does, each with the suite's settings.

    The same call resumes, and asks nothing twice. ``suite.html`` in the folder of the runs shows all of them; it
    is written again at the end of each, and ``suite.json`` beside it holds the same.

    Args:
        suites: a suite, or several, and benchmarks among them: built-in names, files, or objects.
        models: names or objects; none for those that the suites name, or else the default one.
        profiles, n, limit, cutoff: as for `truegrade.run`; given, they hold for every benchmark, whatever the
            suite says.
        sampling: what it sets holds, whatever the suite says.
        task_args: added to those of every benchmark.
        data: folder that is looked in first for the files of the benchmarks, unless the suite says where theirs
            lies; a copy of a data set that is not pinned lies in it as a folder or JSON Lines file of the
            benchmark's name.
        request_policy, base_url, model_args, agent, agent_args, cache, probe, batch, exclude_seen, ks, workers,
            executor, allow_unsafe, packages, log_to: as for `truegrade.run_all`, for every pair.
        skip_missing: leave out the benchmarks whose data are not on this machine; the page names them.
        out: folder that holds the folders of the runs, and the page; None for one under ``runs`` named by what is
            asked.
        progress: watches the stages; each names its pair.
        notice: told what a person should know; each sentence names its pair.

    Raises:
        UserError: a name, file or number is at fault, or data are not on this machine; the message says which, and
            what to do. Nothing was asked.
    """
    named = [suites] if isinstance(suites, str | BenchmarkSuite) else list(suites)
    found = [_found(each) for each in named]
    of_suites = [each for each in found if isinstance(each, Found)]
    folder = None if data is None else Path(data).expanduser()
    if folder is not None and not folder.is_dir():
        raise UserError(f"`data` {data} is no folder: give the folder that holds the files of the benchmarks")
    given = _Given(
        profiles=tuple(profiles), n=n, data=folder, task_args=task_args or {}, limit=limit,
        sampling=sampling or Sampling(), cutoff=cutoff,
    )  # fmt: skip
    entries = _once([entry for each in found for entry in _entries(each, given)])
    suites_models = [model for each in of_suites for model in each.value.models]
    asked_models = list(models) or list(dict.fromkeys(suites_models)) or [DEFAULT_MODEL]
    refuse_shared(
        [entry.wanted.benchmark for entry in entries], asked_models, base_url, model_args or {}, None, None
    )
    shared = SharedSettings(
        request_policy=request_policy or RequestPolicy(), base_url=base_url, model_args=model_args, agent=agent,
        agent_args=agent_args, cache=cache, probe=probe, batch=batch, exclude_seen=exclude_seen, ks=ks,
        workers=workers, executor=executor, allow_unsafe=unsafe_allowed(allow_unsafe), packages=packages,
        log_to=log_to,
    )  # fmt: skip
    titles = [each if isinstance(each, str) else each.name for each in found]
    asked = AskedPairs(
        name=", ".join(titles), description=" ".join(each.value.description for each in of_suites),
        origins={each.name: str(each.origin) for each in of_suites},
        wanted=[entry.wanted for entry in entries], models=asked_models,
        out=RUNS / slug("-".join(titles)) if out is None else Path(out),
        missing={entry.wanted.title: why for entry in entries if (why := _to_get(entry.wanted)) is not None},
        leave_out=partial(_left_out, entries, skip_missing),
    )  # fmt: skip
    return evaluate(asked, shared, progress=progress or Silent(), notice=notice)


def _found(each: str | BenchmarkSuite | BenchmarkSpec) -> Found[BenchmarkSuite] | str | BenchmarkSpec:
    """A suite opened; a benchmark as it was named."""
    if isinstance(each, BenchmarkSuite) or (isinstance(each, str) and is_suite(each)):
        return find_suite(each)
    return each


def missing_of(found: Found[BenchmarkSuite]) -> dict[str, str]:
    """By benchmark, how to get its data where they are not on this machine; nothing is loaded."""
    nothing = _Given(profiles=(), n=None, data=None, task_args={}, limit=None, sampling=Sampling(), cutoff=None)
    wanted = [entry.wanted for entry in _entries(found, nothing)]
    return {str(each.benchmark): why for each in wanted if (why := _to_get(each)) is not None}


def _entries(each: Found[BenchmarkSuite] | str | BenchmarkSpec, given: _Given) -> list[_Entry]:
    """The benchmarks of a suite, or the one that is named beside suites."""
    if isinstance(each, Found):
        return [_entry(entry, each.value, given) for entry in each.value.benchmarks]
    wanted = WantedBenchmark(
        benchmark=each,
        profiles=given.profiles or DEFAULT_PROFILES,
        n=given.n or 1,
        data=_placed(each, given.data),
        task_args=given.task_args,
        limit=given.limit,
        sampling=given.sampling,
        cutoff=given.cutoff,
    )
    return [_Entry(wanted=wanted, optional=False)]


def _entry(entry: SuiteBenchmark, suite: BenchmarkSuite, given: _Given) -> _Entry:
    """A benchmark with its settings: the call's before its own, and these before the suite's."""
    shared = {"temperature": suite.temperature, "max_tokens": suite.max_tokens}
    unset = {name: value for name, value in shared.items() if getattr(given.sampling, name) is None}
    limit = given.limit or entry.limit or suite.limit
    wanted = WantedBenchmark(
        benchmark=entry.name,
        profiles=given.profiles or entry.profiles or suite.profiles or DEFAULT_PROFILES,
        n=given.n or entry.n or suite.n or 1,
        data=entry.data or _placed(entry.name, given.data),
        task_args={**{name: argument(value) for name, value in entry.args.items()}, **given.task_args},
        limit=limit if isinstance(limit, tuple) else limit_of(limit),
        sampling=msgspec.structs.replace(given.sampling, **unset),
        cutoff=given.cutoff or suite.cutoff,
    )
    return _Entry(wanted=wanted, optional=entry.optional)


def _once(entries: Sequence[_Entry]) -> list[_Entry]:
    """The entries without those that another suite of the same call has with the same settings."""
    kept: list[_Entry] = []
    for entry in entries:
        if all(entry.wanted != other.wanted for other in kept):
            kept.append(entry)
    return kept


def _placed(benchmark: str | BenchmarkSpec, folder: Path | None) -> Path | None:
    """What a folder holds for a benchmark: itself for a pinned file in it; for a data set that nobody can pin a
    folder or JSON Lines file of the benchmark's name."""
    if folder is None:
        return None
    spec = find_benchmark(benchmark)
    if spec.source is not None:
        try:
            locate(source(spec.source), folder)
        except DataMissing:
            return None
        return folder
    copies = (folder / spec.name, folder / f"{spec.name}.jsonl") if spec.name in UNPINNED else ()
    return next((path for path in copies if path.exists()), None)


def _to_get(wanted: WantedBenchmark) -> str | None:
    """How to get what a benchmark reads, where that is known not to be on this machine; None where it may be."""
    spec = find_benchmark(wanted.benchmark)
    if wanted.data is not None:
        return None
    if spec.name in UNPINNED:
        return f"{UNPINNED[spec.name]}; in the `data` FOLDER of a suite it lies as {spec.name}"
    if spec.source is None or find(source(spec.source)) is not None:
        return None
    return f"truegrade data pull {spec.source}"


def _left_out(entries: Sequence[_Entry], skip_missing: bool, missing: Mapping[str, str]) -> list[LeftOutBenchmark]:
    """The benchmarks that are left out because their data are not on this machine.

    Raises:
        DataMissing: one must not be left out, or none is left.
    """
    required = [e.wanted.title for e in entries if e.wanted.title in missing and not (e.optional or skip_missing)]
    if required or all(entry.wanted.title in missing for entry in entries):
        lines = "; ".join(f"{title}: {missing[title]}" for title in required or missing)
        advice = (
            "get them, or leave these benchmarks out by `skip_missing=True`" if required else "get some of them"
        )
        raise DataMissing(f"data are not on this machine: {lines}; {advice}. Nothing was asked")
    return [
        LeftOutBenchmark(benchmark=title, why=f"its data are not here: {why}") for title, why in missing.items()
    ]
