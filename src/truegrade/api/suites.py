"""Suites: their benchmarks with their settings, by one call that resumes and writes one page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from truegrade.analysis.standings import SuiteStanding
from truegrade.api.pairs import (
    AskedPairs,
    WantedBenchmark,
    evaluate_pairs,
    refuse_shared,
)
from truegrade.benchmarks import find_benchmark
from truegrade.benchmarks.base import BenchmarkSpec
from truegrade.datasets import source
from truegrade.datasets.download import UNPINNED, find, locate
from truegrade.errors import DataMissing, UserError
from truegrade.pipeline.importing import RUNS, slug
from truegrade.pipeline.suites import NOTHING, BenchmarkSuite, argument, find_suite, is_suite, said_settings
from truegrade.records.config import Sampling
from truegrade.registry import Found
from truegrade.settings import DEFAULT_MODEL, PairsSettings, RunSettings, keywords_of


@keywords_of(PairsSettings, but=("model", "ids", "reuse"))
def run_suite(
    suites: str | BenchmarkSuite | Sequence[str | BenchmarkSuite | BenchmarkSpec], given: dict[str, Any]
) -> SuiteStanding:
    """Evaluate models on the benchmarks of suites, as `truegrade.run_all` does, each with the suite's settings.

    The same call resumes, and asks nothing twice. ``suite.html`` in the folder of the runs shows all of them; it
    is written again at the end of each, and ``suite.json`` beside it holds the same.

    What is given holds for every benchmark, whatever the suite says; of ``sampling`` what it sets, and
    ``task_args`` are added to those of every benchmark. ``data`` is a folder that is looked in first for the files
    of the benchmarks, unless the suite says where theirs lies; a copy of a data set that is not pinned lies in it
    as a folder or JSON Lines file of the benchmark's name. Without ``out`` the runs and the page lie in a folder
    under ``runs`` named by what is asked.

    Args:
        suites: a suite, or several, and benchmarks among them: built-in names, files, or objects.

    Raises:
        UserError: a name, file or number is at fault, or data are not on this machine; the message says which, and
            what to do. Nothing was asked.
    """
    named = [suites] if isinstance(suites, str | BenchmarkSuite) else list(suites)
    found = [_found(each) for each in named]
    of_suites = [each for each in found if isinstance(each, Found)]
    models, skip_missing = given.pop("models", ()), given.pop("skip_missing", False)
    if "data" in given:
        given["data"] = Path(given["data"]).expanduser()
        if not given["data"].is_dir():
            raise UserError(
                f"`data` {given['data']} is no folder: give the folder that holds the files of the benchmarks"
            )
    settings = RunSettings(**given)
    wanted: list[WantedBenchmark] = []
    for entry in (entry for each in found for entry in _wanted(each, given)):
        if entry not in wanted:  # another suite of the same call has it with the same settings
            wanted.append(entry)
    suites_models = [model for each in of_suites for model in each.value.models]
    asked_models = list(models) or list(dict.fromkeys(suites_models)) or [DEFAULT_MODEL]
    refuse_shared([each.benchmark for each in wanted], asked_models, replace(settings, data=None))
    titles = [each if isinstance(each, str) else each.name for each in found]
    asked = AskedPairs(
        name=", ".join(titles), description=" ".join(each.value.description for each in of_suites),
        origins={each.name: str(each.origin) for each in of_suites},
        settings=settings, wanted=wanted, models=asked_models,
        out=RUNS / slug("-".join(titles)) if settings.out is None else Path(settings.out),
        missing={each.title: why for each in wanted if (why := _to_get(each)) is not None},
        skip_missing=skip_missing,
    )  # fmt: skip
    return evaluate_pairs(asked)


def _found(each: str | BenchmarkSuite | BenchmarkSpec) -> Found[BenchmarkSuite] | str | BenchmarkSpec:
    """A suite opened; a benchmark as it was named."""
    if isinstance(each, BenchmarkSuite) or (isinstance(each, str) and is_suite(each)):
        return find_suite(each)
    return each


def missing_of(found: Found[BenchmarkSuite]) -> dict[str, str]:
    """By benchmark, how to get its data where they are not on this machine; nothing is loaded."""
    return {str(each.benchmark): why for each in _wanted(found, {}) if (why := _to_get(each)) is not None}


def _wanted(each: Found[BenchmarkSuite] | str | BenchmarkSpec, given: dict[str, Any]) -> list[WantedBenchmark]:
    """The benchmarks of a suite, or the one that is named beside suites, with their settings: the call's before
    the benchmark's own, and these before the suite's."""
    if not isinstance(each, Found):
        settings = RunSettings(**{**given, "data": _placed(each, given.get("data"))})
        return [WantedBenchmark(benchmark=each, settings=settings)]
    wanted = []
    for entry in each.value.benchmarks:
        said = said_settings(each.value) | said_settings(entry)
        sampling = {name: said.pop(name) for name in Sampling.__struct_fields__ if name in said}
        asked = given.get("sampling", Sampling())
        sampling = {name: value for name, value in sampling.items() if getattr(asked, name) in NOTHING}
        args = {name: argument(value) for name, value in entry.args.items()} | dict(given.get("task_args", {}))
        data = entry.data or _placed(entry.name, given.get("data"))
        own = {"data": data, "task_args": args, "sampling": replace(asked, **sampling)}
        settings = RunSettings(**{**said, **given, **own})
        wanted.append(WantedBenchmark(benchmark=entry.name, settings=settings, optional=entry.optional))
    return wanted


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
    if wanted.settings.data is not None:
        return None
    if spec.name in UNPINNED:
        return f"{UNPINNED[spec.name]}; in the `data` FOLDER of a suite it lies as {spec.name}"
    if spec.source is None or find(source(spec.source)) is not None:
        return None
    return f"truegrade data pull {spec.source}"
