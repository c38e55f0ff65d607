"""The stages of a run in their order: everything is opened and checked first, then asked, graded, counted."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from shutil import rmtree
from typing import NamedTuple, TypeGuard

import msgspec

from truegrade.agents import Agent
from truegrade.agents.session import AgentPrompts, sees_official_tests
from truegrade.agents.steps import Role
from truegrade.benchmarks.base import Benchmark, BenchmarkSpec
from truegrade.datasets.learned import past_of
from truegrade.errors import ModelError, UserError, first_few
from truegrade.files import run_log
from truegrade.files.writing import require_writable
from truegrade.models.base import Model
from truegrade.models.local import ARGUMENT, LocalModel, recorded_arguments
from truegrade.models.service_errors import Shortfall
from truegrade.pipeline.asking import (
    asked_origins,
    asker,
    check_followed,
    open_agent_for,
    open_asked,
    open_role_models,
    probe_for,
    prompt_rule,
    sampling_of,
)
from truegrade.pipeline.generate import PromptSet, generate, note_adaptations, render_prompts, wanted_samples
from truegrade.pipeline.generate_in_batches import (
    POLL_ARGUMENT,
    POLL_S,
    BatchPlan,
    generate_in_batches,
    plan_batches,
)
from truegrade.pipeline.grade import Grader, LocalGrader, grading_beside
from truegrade.pipeline.importing import RUNS, Reused, identity_of, origins, read_reused, slug, take_over
from truegrade.pipeline.loading import Shown, load_announced, problems_of, select, tell_rows, told
from truegrade.pipeline.own_rows_check import rows_at_fault
from truegrade.pipeline.summary import refuse_ks
from truegrade.pipeline.verdicts import Progress, refuse_ungradable, with_packages
from truegrade.profiles import Profile
from truegrade.records import Problem, sha256_json
from truegrade.records.config import GenerationConfig
from truegrade.settings import DEFAULT_MODEL, RunSettings
from truegrade.store import Manifest, Run, environment
from truegrade.store.manifest import now, read_manifest

SHOWN_EXCLUDED = 5
"""Ids of excluded problems that are named before it says how many more there are."""


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """A run that nothing stands in the way of; nothing of it is on disk and nothing was asked."""

    loaded: Benchmark
    prompt_set: PromptSet
    asked: Model
    worker: Agent | None
    manifest: Manifest
    folder: Path
    reused: Reused | None
    batches: BatchPlan | None
    """None to ask sample by sample."""
    role_models: Mapping[Role, Model] = {}
    """Of the agent's roles that ask another model than the run's."""


class AskedRun(NamedTuple):
    """A run with its replies."""

    run: Run
    problems: dict[str, Problem]
    """Those that it is to be counted over, by id."""
    graded: bool
    """Whether the verdicts were given meanwhile."""


def ask(
    benchmark: str | BenchmarkSpec,
    settings: RunSettings,
    profiles: Sequence[Profile],
    *,
    grader: Grader | None = None,
    shown: Shown,
) -> AskedRun:
    """Open everything by name, start or resume the run, ask for what is missing, and grade meanwhile if possible.

    Args:
        benchmark: what is asked.
        settings: which model, and how; without a grader only an agent runs programs here.
        profiles: those of the settings, opened; the first words the prompts.
        grader: gives the verdicts under every profile; None where nothing is graded.
        shown: shows a download.

    Returns:
        The run with its replies.

    Raises:
        UserError: a name, file or number is at fault; nothing was asked.
        ModelError: the service refuses everything, or no sample has a reply that could be graded; what came
            before is kept.
        SandboxError: programs would have to run at level 1, and that is not allowed; the replies are kept.
    """
    plan = prepare(benchmark, settings, profiles, grading=grader is not None, shown=shown, grader=grader)
    is_new = not plan.folder.exists()
    run = _begun(settings, plan)
    with run.locked(), _removed_without_a_reply(run, only_if=is_new and plan.batches is None):
        run.add_prompts((problem.id, prompt) for problem, prompt in plan.prompt_set.items)
        if plan.reused is not None:
            take_over(run, plan.reused, list(plan.prompt_set.problems), settings.notice)
        problems = with_packages(problems_of(run, plan.loaded), settings.packages)
        shortfall = _asked(settings, plan, run, problems, profiles, grader)
    if shortfall:
        run.shortfall = shortfall.sentence()
        if grader is not None and not run.answered():
            raise ModelError(run.shortfall)
        settings.notice(run.shortfall)
    return AskedRun(run, problems, graded=_meanwhile(grader, plan))


@contextmanager
def _removed_without_a_reply(run: Run, *, only_if: bool) -> Iterator[None]:
    """Remove the folder of a run that ended before anything was answered: it holds nothing to go on with."""
    try:
        yield
    except BaseException:
        journals = (path for path in run.path.glob("*.jsonl") if path.name != "prompts.jsonl")
        if only_if and not any(path.stat().st_size for path in journals):
            run_log.end()
            rmtree(run.path, ignore_errors=True)
        raise


def submit(
    benchmark: str | BenchmarkSpec, settings: RunSettings, profiles: Sequence[Profile], *, shown: Shown
) -> None:
    """Hand what is missing to the service's batches without waiting for them; `ask` collects, and probes no more.

    Arguments and errors as of `ask`; the settings are some with ``batch`` and without ``reuse``.
    """
    plan = prepare(benchmark, settings, profiles, grading=True, shown=shown)
    assert plan.batches is not None
    run = _begun(settings, plan)
    with run.locked():
        run.add_prompts((problem.id, prompt) for problem, prompt in plan.prompt_set.items)
        generate_in_batches(
            run, plan.prompt_set, plan.loaded.by_id(), plan.asked, plan.batches,
            progress=settings.progress, notice=settings.notice, collect=False,
        )  # fmt: skip


def _begun(settings: RunSettings, plan: Plan) -> Run:
    """The run on disk, its model probed where that is wanted."""
    manifest = plan.manifest
    if settings.probe:
        manifest = msgspec.structs.replace(manifest, probe=probe_for(plan.asked, plan.prompt_set, settings.n))
    return Run.create_or_resume(plan.folder, manifest, notice=settings.notice)


def _asked(
    settings: RunSettings,
    plan: Plan,
    run: Run,
    problems: Mapping[str, Problem],
    profiles: Sequence[Profile],
    grader: Grader | None,
) -> Shortfall:
    """Ask for what is missing, in batches or one by one; where the grader can, grade meanwhile."""
    progress, notice = settings.progress, settings.notice
    if plan.batches is not None:
        shortfall = generate_in_batches(
            run, plan.prompt_set, plan.loaded.by_id(), plan.asked, plan.batches, progress=progress, notice=notice
        )
        note_adaptations(run, plan.asked)
        return shortfall
    answers = asker(
        plan.asked, plan.worker, run, plan.prompt_set.problems,
        allow_unsafe=bool(settings.allow_unsafe), cache=settings.cache, notice=notice, models=plan.role_models,
    )  # fmt: skip
    with answers as answering, _grading(run, plan, problems, profiles, grader, progress) as stopped:
        shortfall = generate(run, plan.prompt_set, answering, progress=progress, notice=notice, stopped=stopped)
        note_adaptations(run, answering)
    return shortfall


def _meanwhile(grader: Grader | None, plan: Plan) -> TypeGuard[LocalGrader]:
    """Whether replies are graded while others are asked for.

    Not beside weights or an agent's programs in this process, which use the same cores; a cluster is given whole
    runs, because its machines are sent the problems first; the replies of a batch come all at once.
    """
    asked_here = plan.worker is not None or isinstance(plan.asked, LocalModel)
    return isinstance(grader, LocalGrader) and not asked_here and plan.batches is None


def prepare(
    benchmark: str | BenchmarkSpec,
    settings: RunSettings,
    profiles: Sequence[Profile],
    *,
    grading: bool,
    shown: Shown,
    under: Path = RUNS,
    grader: Grader | None = None,
) -> Plan:
    """Open everything by name and refuse what cannot end well; arguments and errors as of `ask`.

    The run's folder lies in ``under``, unless the settings name one. Without ``grader`` wrong programs of rows of
    one's own are not run.
    """
    if settings.n < 1:
        raise UserError(f"`n` {settings.n}: at least one sample per task is needed")
    notice = settings.notice
    args, model_args = dict(settings.task_args), settings.arguments_of_model
    poll_s = model_args.pop(POLL_ARGUMENT, POLL_S)  # decides nothing about the replies
    variant = args.pop("prompt", None)
    worker = open_agent_for(settings.agent, settings.agent_args, settings.model, variant)
    data = None if settings.data is None else Path(settings.data)
    loaded = load_announced(benchmark, data, args, notice, shown)
    if loaded.agent and worker is None:
        raise UserError(f"{loaded.name} is asked in several steps: name who asks them, `agent` {loaded.agent}")
    selected = select(loaded, settings.limit, settings.ids)
    if settings.limit is not None and (chosen := told(loaded, selected)) is not None:
        notice(chosen)
    if grading:
        refuse_ungradable(profiles, selected)
    past = past_of(settings.model, model_args.get(ARGUMENT), selected, exclude_seen=settings.exclude_seen)
    offered = with_packages({problem.id: problem for problem in selected}, settings.packages)
    faults = {} if grader is None else rows_at_fault(offered.values(), grader)
    left = [problem for problem in selected if problem.id not in past.seen and problem.id not in faults]
    prompt_set = render_prompts(loaded, left, AgentPrompts(worker) if worker else profiles[0], variant)
    excluded = prompt_set.excluded | past.seen
    for reason, named in _by_reason(excluded):
        notice(f"not scored ({reason}): {named}")
    tell_rows(faults.values(), notice)
    excluded |= faults
    asked = open_asked(settings.model, settings.base_url, settings.request_policy, model_args, prompt_set.problems)
    wanted = sampling_of(settings.model, settings.sampling)
    role_models = open_role_models(worker, asked.request_policy, settings.base_url, model_args)
    for model in (asked, *role_models.values()):
        check_followed(model, wanted, (prompt for _, prompt in prompt_set.items))
    batches = plan_batches(asked, wanted, settings.cache, worker, poll_s) if settings.batch else None
    config = GenerationConfig(
        model=asked.name,
        base_url=asked.base_url,
        prompt_rule=prompt_rule(worker, profiles[0], variant),
        sampling=wanted,
        model_args=recorded_arguments(model_args),
        agent=msgspec.structs.replace(worker.config, sees_official_tests=sees_official_tests(worker))
        if worker
        else None,
    )
    manifest = Manifest(
        created=now(),
        benchmark=identity_of(loaded),
        generation=config,
        samples_per_task=settings.n,
        selected=None if len(selected) == len(loaded.problems) else tuple(p.id for p in selected),
        excluded=excluded,
        training_data=past.training_data,
        environment=environment(),
        origins=origins(benchmark=loaded.origin, **asked_origins(settings.model, settings.agent, worker)),
    )
    folder = under / _folder_name(loaded, config) if settings.out is None else Path(settings.out)
    require_writable(folder)
    refuse_ks(settings.ks, max(settings.n, _samples_there(folder)))
    reused = None if settings.reuse is None else read_reused(Path(settings.reuse), loaded)
    if settings.model == DEFAULT_MODEL:
        notice(f"evaluating the included model, {DEFAULT_MODEL}; name another by `model`")
    return Plan(
        loaded=loaded, prompt_set=prompt_set, asked=asked, worker=worker, manifest=manifest, folder=folder,
        reused=reused, batches=batches, role_models=role_models,
    )  # fmt: skip


def _grading(
    run: Run,
    plan: Plan,
    problems: Mapping[str, Problem],
    profiles: Sequence[Profile],
    grader: Grader | None,
    progress: Progress,
) -> AbstractContextManager[Callable[[], bool]]:
    """What grades while the replies come in; yields whether asking is to stop."""
    if grader is None or not _meanwhile(grader, plan):
        return nullcontext(bool)
    asked = (key for _, _, key in wanted_samples(run, plan.prompt_set))
    return grading_beside(run, problems, profiles, asked=asked, grader=grader, progress=progress)


def _by_reason(excluded: Mapping[str, str]) -> list[tuple[str, str]]:
    """Why problems are left out, each with the first few that are."""
    return [
        (reason, first_few([problem for problem, why in excluded.items() if why == reason], SHOWN_EXCLUDED))
        for reason in dict.fromkeys(excluded.values())
    ]


def _samples_there(folder: Path) -> int:
    """Samples per task of the run that the folder holds already; 0 where it holds none."""
    file = folder / "manifest.json"
    return read_manifest(file).samples_per_task if file.exists() else 0


def _folder_name(loaded: Benchmark, config: GenerationConfig) -> str:
    identity = sha256_json([config.sha256, loaded.dataset_sha256, loaded.args])
    agent = "" if config.agent is None else f"{slug(config.agent.name)}-"
    return f"{slug(loaded.name)}-{agent}{slug(config.model)}-{identity[:8]}"
