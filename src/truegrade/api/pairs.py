"""Pairs of a model and a benchmark: all are checked before the first is asked, then each becomes a run of its own.

`run_all` names the pairs one by one, `run_suite` by suites; the page that shows them is written at the end of
every pair.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from truegrade.analysis.standings import LeftOutBenchmark, PairStanding, SuiteStanding, pair_standing, titled
from truegrade.api import evaluate, grader_for
from truegrade.benchmarks import find_benchmark
from truegrade.benchmarks.base import BenchmarkSpec
from truegrade.datasets import source
from truegrade.datasets.download import UNPINNED, find, locate
from truegrade.errors import DataMissing, TruegradeError, UserError
from truegrade.files import run_log
from truegrade.models import find_preset
from truegrade.models.base import Model
from truegrade.models.local import ARGUMENT
from truegrade.pipeline.generate import complete
from truegrade.pipeline.importing import RUNS, slug
from truegrade.pipeline.stages import prepare, submit
from truegrade.pipeline.suites import NOTHING, BenchmarkSuite, argument, find_suite, is_suite, said_settings
from truegrade.pipeline.verdicts import Progress, with_packages
from truegrade.profiles import Profile, find_profile
from truegrade.records.config import RequestPolicy, Sampling
from truegrade.registry import Found
from truegrade.report.progress_lines import download_progress
from truegrade.report.standings_document import write_suite
from truegrade.settings import DEFAULT_MODEL, PairsSettings, RunSettings, keywords_of
from truegrade.statistics.windows import check_cutoff
from truegrade.store import Run
from truegrade.store.journal import Notice
from truegrade.store.manifest import now, open_batches, read_manifest
from truegrade.store.run import refuse_mixing
from truegrade.store.trackers import NotTracked, open_trackers

ONE_MODELS = ("input_price", "output_price", ARGUMENT)
"""Model arguments that are true of one model only."""

ONE_PROVIDERS = "api_key_env"
"""The model argument that is true of the models of one provider only."""

NOT_YET = "its turn has not come, or the command was stopped before its end; the same command goes on"
"""Why a pair is not complete whose turn has not come."""


class WantedBenchmark(msgspec.Struct, frozen=True, kw_only=True):
    """One benchmark as every model is to be asked about it."""

    benchmark: str | BenchmarkSpec
    settings: RunSettings
    """Their model and folder stand for nothing: every pair has its own."""
    optional: bool = False
    """Left out where its data are not at hand."""

    @property
    def title(self) -> str:
        """Its name, with its arguments."""
        name = self.benchmark if isinstance(self.benchmark, str) else self.benchmark.name
        return titled(name, self.settings.task_args)


class AskedPairs(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be evaluated, and how its page is headed."""

    name: str
    description: str
    settings: RunSettings
    """What all pairs have in common; where benchmarks differ, their own hold."""
    wanted: Sequence[WantedBenchmark]
    models: Sequence[str | Model]
    out: Path
    origins: Mapping[str, str] = {}
    """Where each suite was found, by its name."""
    missing: Mapping[str, str] = {}
    """Benchmarks by title whose data are known not to be at hand, with how to get them."""
    skip_missing: bool = False
    """Leave out every benchmark whose data are not at hand, not only the optional ones."""


class _Pair(msgspec.Struct, frozen=True, kw_only=True):
    """One model on one benchmark, checked: nothing stands in its way but the service itself."""

    asked: str | BenchmarkSpec
    settings: RunSettings
    profiles: Sequence[Profile]
    label: str
    benchmark: str
    model: str
    folder: Path

    def told(self, sentence: str) -> str:
        """Tell the person a sentence, and hand it back."""
        self.settings.notice(sentence)
        return sentence


@keywords_of(PairsSettings, but=("model",))
def run_all(benchmarks: Sequence[str | BenchmarkSpec], given: dict[str, Any]) -> list[PairStanding]:
    """Evaluate every model on every benchmark, as `truegrade.run` does one on one.

    Every pair is opened and checked before the first request of the first one. A pair that fails later does not
    stop the others. The same call resumes: what is stored is neither requested nor graded again, whether this
    function or `truegrade.run` made it. ``suite.html`` in the folder of the runs shows all pairs; it is written
    again at the end of each. With ``batch`` the batches of all pairs are submitted before the first is waited for.

    A model that is an object is asked about each benchmark in an event loop of its own, and closed after each;
    weights that run in this process are loaded for the check and again for each benchmark. ``max_cost_usd`` bounds
    all pairs together, with what earlier calls spent on them. ``data`` is a folder, or a file with one benchmark.
    What can be true of one model, or of the models of one provider, or of one pair only (prices, ``adapter``,
    ``base_url``, ``reuse``) is refused with several.

    Args:
        benchmarks: names, files or objects, as for `truegrade.run`.

    Returns:
        One for each pair, all benchmarks of the first model first.

    Raises:
        UserError: a name, file or number is at fault, of whatever pair; the message says which and what to do.
            Nothing was asked.
    """
    models, skip_missing = given.pop("models", (DEFAULT_MODEL,)), given.pop("skip_missing", False)
    settings = RunSettings(**given)
    refuse_shared(benchmarks, models, settings)
    wanted = [WantedBenchmark(benchmark=each, settings=settings) for each in benchmarks]
    asked = AskedPairs(
        name=", ".join(each.title for each in wanted),
        description="Several benchmarks or models of one command.",
        settings=settings, wanted=wanted, models=models, out=Path(settings.out or RUNS),
        skip_missing=skip_missing,
    )  # fmt: skip
    found = evaluate_pairs(asked)
    for each in found.left_out:
        settings.notice(f"{each.benchmark} is left out: {each.why}")
    return found.pairs


def refuse_shared(
    benchmarks: Sequence[str | BenchmarkSpec],
    models: Sequence[str | Model],
    settings: RunSettings,
) -> None:
    """Refuse arguments that cannot be meant for all.

    Raises:
        UserError: which, and why.
    """
    if not benchmarks or not models:
        raise UserError("name at least one benchmark (`benchmark`) and one model (`model`)")
    model_args, data, reuse = settings.arguments_of_model, settings.data, settings.reuse
    given = [
        *(["`base_url`"] if settings.base_url is not None else []),
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


def evaluate_pairs(asked: AskedPairs) -> SuiteStanding:
    """Check every pair, then ask, grade and count one after the other, and write the page after each.

    Raises:
        UserError: a name, file or number is at fault, of whatever pair. Nothing was asked.
    """
    missing = dict(asked.missing)
    pairs = _checked(asked, missing)
    left_out = _left_out(asked, missing) if missing else []
    so_far = SuiteStanding(
        name=asked.name, description=asked.description, updated=now(), origins=dict(asked.origins),
        folder=asked.out, pairs=[_standing(pair, pair.folder, NOT_YET) for pair in pairs],
        left_out=left_out,
    )  # fmt: skip
    write_suite(so_far)
    budget = _SharedBudget(asked.settings.request_policy, pairs)
    refused: dict[Path, str | None] = {}
    if asked.settings.batch:
        refused = {pair.folder: _submitted(pair, budget) for pair in pairs}
    for place, pair in enumerate(pairs):
        watch = _Labelled(asked.settings.progress, f"{place + 1}/{len(pairs)} {pair.label}")
        try:
            ended = _carried_out(pair, budget, watch, failure=refused.get(pair.folder))
        except KeyboardInterrupt:
            _write(so_far, place, _standing(pair, pair.folder, NOT_YET))
            raise
        so_far = _write(so_far, place, ended)
    return so_far


def _write(so_far: SuiteStanding, place: int, ended: PairStanding) -> SuiteStanding:
    """Put what one pair has come to in its place, and write the page."""
    done = [*so_far.pairs[:place], ended, *so_far.pairs[place + 1 :]]
    so_far = replace(so_far, updated=now(), pairs=done)
    write_suite(so_far)
    return so_far


def _left_out(asked: AskedPairs, missing: Mapping[str, str]) -> list[LeftOutBenchmark]:
    """The benchmarks that are left out because their data are not on this machine.

    Raises:
        DataMissing: one must not be left out, or none is left.
    """
    wanted = asked.wanted
    required = [
        each.title for each in wanted if each.title in missing and not (each.optional or asked.skip_missing)
    ]
    if required or all(each.title in missing for each in wanted):
        lines = "; ".join(f"{title}: {missing[title]}" for title in required or missing)
        advice = (
            "get them, or leave these benchmarks out by `skip_missing=True`" if required else "get some of them"
        )
        raise DataMissing(f"data are not on this machine: {lines}; {advice}. Nothing was asked")
    return [
        LeftOutBenchmark(benchmark=title, why=f"its data are not here: {why}") for title, why in missing.items()
    ]


def _checked(asked: AskedPairs, missing: dict[str, str]) -> list[_Pair]:
    """Open everything of every pair and refuse what cannot end well; to ``missing`` come those without data.

    Raises:
        UserError: as `evaluate_pairs`.
    """
    opened = {id(each): [find_profile(name) for name in each.settings.profiles] for each in asked.wanted}
    for wanted in asked.wanted:
        check_cutoff(wanted.settings.cutoff)
    open_trackers(asked.settings.log_to)
    with_packages({}, asked.settings.packages)
    grader_for(asked.settings).close()
    pairs: list[_Pair] = []
    for model in asked.models:
        for wanted in asked.wanted:
            if wanted.title in missing:
                continue
            try:
                _add_checked(pairs, asked.out, model, wanted, opened[id(wanted)])
            except DataMissing as error:
                missing[wanted.title] = str(error.__cause__ or error)
    return pairs


def _add_checked(
    pairs: list[_Pair], under: Path, model: str | Model, wanted: WantedBenchmark, profiles: Sequence[Profile]
) -> None:
    """Open everything of a pair, refuse what cannot end well, and keep nothing but its names: its problems or
    weights may be large.

    Raises:
        UserError: as `truegrade.pipeline.stages.prepare`, or the pair was named before.
        DataMissing: the benchmark's data are not at hand.
    """
    label = f"{wanted.title} with {model if isinstance(model, str) else model.name}"
    told = _each_once(label, wanted.settings.notice)
    settings = replace(wanted.settings, model=model, notice=told, out=None)
    try:
        plan = prepare(wanted.benchmark, settings, profiles, grading=True, shown=download_progress, under=under)
        if isinstance(model, str):
            complete(plan.asked.close())  # weights may fill the memory: each pair opens them when its turn comes
        if (stored := plan.folder / "manifest.json").exists():
            refuse_mixing(plan.folder, read_manifest(stored), plan.manifest)
    except DataMissing as error:
        raise DataMissing(f"{label}: {error}") from error
    except UserError as error:
        raise UserError(f"{label}: {error}") from error
    if any(pair.folder == plan.folder for pair in pairs):
        raise UserError(f"{label} is named twice: name it once, and more samples by `n`")
    names = {"label": label, "benchmark": titled(plan.loaded.name, plan.loaded.args), "model": plan.asked.name}
    settings = replace(settings, out=plan.folder)
    pairs.append(_Pair(asked=wanted.benchmark, settings=settings, profiles=profiles, folder=plan.folder, **names))


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
        return replace(self._policy, max_cost_usd=max(0.0, self._policy.max_cost_usd - others_usd))

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


def _submitted(pair: _Pair, budget: _SharedBudget) -> str | None:
    """Hand a pair's requests to the service's batches, so that the pairs wait together; why that failed."""
    run_log.end()
    settings = replace(pair.settings, request_policy=budget.policy_for(pair))
    try:
        submit(pair.asked, settings, pair.profiles, shown=download_progress)
    except TruegradeError as error:
        return pair.told(str(error))
    finally:
        budget.ended(pair)
    return None


def _carried_out(pair: _Pair, budget: _SharedBudget, progress: Progress, *, failure: str | None) -> PairStanding:
    """Ask, grade and count one pair; why that did not come to its end is part of what is returned.

    A pair that failed already, for the reason given, is left as it is.
    """
    done: Run | None = None
    run_log.end()  # what is said from here on belongs to this pair's run
    settings = replace(pair.settings, request_policy=budget.policy_for(pair), progress=progress)
    if settings.batch:  # it was probed before the submission
        settings = replace(settings, probe=False)
    try:
        if failure is None:
            done = evaluate(pair.asked, settings)
            failure = done.shortfall
    except NotTracked as error:
        done, failure = error.made, pair.told(str(error))
    except TruegradeError as error:
        failure = pair.told(str(error))
    budget.ended(pair)
    only_short = done is not None and failure is not None and failure == done.shortfall
    return _standing(pair, done or pair.folder, failure, only_short=only_short)


def _standing(pair: _Pair, of: Run | Path, failure: str | None, *, only_short: bool = False) -> PairStanding:
    profiles = [profile.id for profile in pair.profiles]
    return pair_standing(
        of, profiles, benchmark=pair.benchmark, model=pair.model, failure=failure, only_short=only_short
    )


# ------------------- Suites: their benchmarks with their settings, by one call that resumes and writes one page.


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
