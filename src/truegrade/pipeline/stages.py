"""The stages of a run in their order: everything is opened and checked first, then asked, graded, counted."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from pathlib import Path
from typing import Any, NamedTuple, TypeGuard

import msgspec

from truegrade.agents import Agent
from truegrade.agents.model import AgentPrompts
from truegrade.agents.steps import Role
from truegrade.benchmarks.base import Benchmark, BenchmarkSpec
from truegrade.datasets.learned import past_of
from truegrade.errors import ModelError, UserError, first_few
from truegrade.files.writing import require_writable
from truegrade.models.adapters import ARGUMENT, recorded_arguments
from truegrade.models.base import Model
from truegrade.models.local import LocalModel
from truegrade.models.shortfall import Shortfall
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
from truegrade.pipeline.exporting import write_own_files
from truegrade.pipeline.generate import generate, note_adaptations, wanted_samples
from truegrade.pipeline.generate_in_batches import (
    POLL_ARGUMENT,
    POLL_S,
    BatchPlan,
    generate_in_batches,
    plan_batches,
)
from truegrade.pipeline.grade import Grader, LocalGrader, grade_run, grading_beside
from truegrade.pipeline.importing import RUNS, Reused, identity_of, origins, read_reused, slug, take_over
from truegrade.pipeline.loading import Limit, Shown, load_announced, problems_of, select, told
from truegrade.pipeline.progress import Progress
from truegrade.pipeline.prompts import PromptSet, render_prompts
from truegrade.pipeline.summarise import graders_of, summarise
from truegrade.pipeline.summary import refuse_ks
from truegrade.pipeline.verdicts import with_packages
from truegrade.profiles import Profile
from truegrade.profiles.base import refuse_uncovered
from truegrade.records import Problem, sha256_json
from truegrade.records.config import GenerationConfig, RequestPolicy, Sampling
from truegrade.statistics.windows import EVERYTHING, Window
from truegrade.store import Manifest, Run, environment
from truegrade.store.journal import Notice
from truegrade.store.manifest import now, read_manifest

SHOWN_EXCLUDED = 5
"""Ids of excluded problems that are named before it says how many more there are."""


class RunRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked of which model, as `truegrade.api.run` and `truegrade.api.generate` document it."""

    benchmark: str | BenchmarkSpec
    model: str | Model
    n: int
    data: str | Path | None
    task_args: Mapping[str, str] | None
    limit: Limit
    ids: Sequence[str]
    sampling: Sampling | None
    request_policy: RequestPolicy | None
    base_url: str | None
    model_args: Mapping[str, Any] | None
    agent: str | Agent | None
    agent_args: Mapping[str, Any] | None
    reuse: str | Path | None
    cache: bool | None
    probe: bool
    batch: bool
    out: str | Path | None
    exclude_seen: bool = False
    under: Path = RUNS
    """Where the folder lies whose name ``out`` does not give."""


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
    request: RunRequest,
    profiles: Sequence[Profile],
    *,
    grader: Grader | None = None,
    packages: Sequence[str] = (),
    ks: Sequence[int] | None = None,
    allow_unsafe: bool,
    progress: Progress,
    notice: Notice,
    shown: Shown,
) -> AskedRun:
    """Open everything by name, start or resume the run, ask for what is missing, and grade meanwhile if possible.

    Args:
        request: what is asked of which model.
        profiles: the first words the prompts.
        grader: gives the verdicts under every profile; None where nothing is graded.
        packages: installed packages that programs may import besides those of the profiles.
        ks: the k of pass@k that the run will be counted with.
        allow_unsafe: as for `truegrade.pipeline.grade.grade_run`; only an agent runs programs here.
        progress: watches the requests.
        notice: told what a person should know.
        shown: shows a download.

    Returns:
        The run with its replies.

    Raises:
        UserError: a name, file or number is at fault; nothing was asked.
        ModelError: the service refuses everything, or no sample has a reply that could be graded; what came
            before is kept.
        SandboxError: programs would have to run at level 1, and that is not allowed; the replies are kept.
    """
    plan = prepare(request, profiles, grading=grader is not None, ks=ks, notice=notice, shown=shown)
    run = _begun(request, plan, notice)
    with run.locked():
        run.add_prompts((problem.id, prompt) for problem, prompt in plan.prompt_set.items)
        if plan.reused is not None:
            take_over(run, plan.reused, list(plan.prompt_set.problems), notice)
        problems = with_packages(problems_of(run, plan.loaded), packages)
        shortfall = _asked(
            request, plan, run, problems, profiles, grader,
            allow_unsafe=allow_unsafe, progress=progress, notice=notice,
        )  # fmt: skip
    if shortfall:
        run.shortfall = shortfall.sentence()
        if grader is not None and not run.answered():
            raise ModelError(run.shortfall)
        notice(run.shortfall)
    return AskedRun(run, problems, graded=_meanwhile(grader, plan))


def submit(
    request: RunRequest,
    profiles: Sequence[Profile],
    *,
    ks: Sequence[int] | None,
    progress: Progress,
    notice: Notice,
    shown: Shown,
) -> None:
    """Hand what is missing to the service's batches without waiting for them; `ask` collects, and probes no more.

    Arguments and errors as of `ask`; the request is one with ``batch`` and without ``reuse``.
    """
    plan = prepare(request, profiles, grading=True, ks=ks, notice=notice, shown=shown)
    assert plan.batches is not None
    run = _begun(request, plan, notice)
    with run.locked():
        run.add_prompts((problem.id, prompt) for problem, prompt in plan.prompt_set.items)
        generate_in_batches(
            run, plan.prompt_set, plan.loaded.by_id(), plan.asked, plan.batches,
            progress=progress, notice=notice, collect=False,
        )  # fmt: skip


def _begun(request: RunRequest, plan: Plan, notice: Notice) -> Run:
    """The run on disk, its model probed where that is wanted."""
    manifest = plan.manifest
    if request.probe:
        manifest = msgspec.structs.replace(manifest, probe=probe_for(plan.asked, plan.prompt_set, request.n))
    return Run.create_or_resume(plan.folder, manifest, notice=notice)


def _asked(
    request: RunRequest,
    plan: Plan,
    run: Run,
    problems: Mapping[str, Problem],
    profiles: Sequence[Profile],
    grader: Grader | None,
    *,
    allow_unsafe: bool,
    progress: Progress,
    notice: Notice,
) -> Shortfall:
    """Ask for what is missing, in batches or one by one; where the grader can, grade meanwhile."""
    if plan.batches is not None:
        shortfall = generate_in_batches(
            run, plan.prompt_set, plan.loaded.by_id(), plan.asked, plan.batches, progress=progress, notice=notice
        )
        note_adaptations(run, plan.asked)
        return shortfall
    answers = asker(
        plan.asked, plan.worker, run, plan.prompt_set.problems,
        allow_unsafe=allow_unsafe, cache=request.cache, notice=notice, models=plan.role_models,
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
    request: RunRequest,
    profiles: Sequence[Profile],
    *,
    grading: bool,
    ks: Sequence[int] | None,
    notice: Notice,
    shown: Shown,
) -> Plan:
    """Open everything by name and refuse what cannot end well; arguments and errors as of `ask`."""
    if request.n < 1:
        raise UserError(f"`n` {request.n}: at least one sample per task is needed")
    args, model_args = dict(request.task_args or {}), dict(request.model_args or {})
    poll_s = model_args.pop(POLL_ARGUMENT, POLL_S)  # decides nothing about the replies
    variant = args.pop("prompt", None)
    worker = open_agent_for(request.agent, request.agent_args or {}, request.model, variant)
    data = None if request.data is None else Path(request.data)
    loaded = load_announced(request.benchmark, data, args, notice, shown)
    if loaded.agent and worker is None:
        raise UserError(f"{loaded.name} is asked in several steps: name who asks them, `agent` {loaded.agent}")
    selected = select(loaded, request.limit, request.ids)
    if request.limit is not None and (chosen := told(loaded, selected)) is not None:
        notice(chosen)
    if grading:
        refuse_uncovered(profiles, selected)
    past = past_of(request.model, model_args.get(ARGUMENT), selected, exclude_seen=request.exclude_seen)
    left = [problem for problem in selected if problem.id not in past.seen]
    prompt_set = render_prompts(loaded, left, AgentPrompts(worker) if worker else profiles[0], variant)
    excluded = prompt_set.excluded | past.seen
    for reason, named in _by_reason(excluded):
        notice(f"not scored ({reason}): {named}")
    asked = open_asked(
        request.model, request.base_url, request.request_policy or RequestPolicy(), model_args, prompt_set.problems
    )
    wanted = sampling_of(request.model, request.sampling or Sampling())
    role_models = open_role_models(worker, asked.request_policy)
    for model in (asked, *role_models.values()):
        check_followed(model, wanted, (prompt for _, prompt in prompt_set.items))
    batches = plan_batches(asked, wanted, request.cache, worker, poll_s) if request.batch else None
    config = GenerationConfig(
        model=asked.name,
        base_url=asked.base_url,
        prompt_rule=prompt_rule(worker, profiles[0], variant),
        sampling=wanted,
        model_args=recorded_arguments(model_args),
        agent=worker.config if worker else None,
    )
    manifest = Manifest(
        created=now(),
        benchmark=identity_of(loaded),
        generation=config,
        samples_per_task=request.n,
        selected=None if len(selected) == len(loaded.problems) else tuple(p.id for p in selected),
        excluded=excluded,
        training_data=past.training_data,
        environment=environment(),
        origins=origins(benchmark=loaded.origin, **asked_origins(request.model, request.agent, worker)),
    )
    folder = request.under / _folder_name(loaded, config) if request.out is None else Path(request.out)
    require_writable(folder)
    refuse_ks(ks, max(request.n, _samples_there(folder)))
    reused = None if request.reuse is None else read_reused(Path(request.reuse), loaded)
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


def grade_and_count(
    run: Run,
    problems: Mapping[str, Problem],
    profiles: Sequence[Profile],
    ks: Sequence[int] | None,
    grader: Grader,
    progress: Progress,
    *,
    graded: bool = False,
    window: Window = EVERYTHING,
    cutoff: str | None = None,
) -> None:
    """Grade under every profile, then count; earlier gradings stay in the summary.

    Args:
        run: with its replies.
        problems: those to grade, by id, inside the window.
        profiles: the rules, in the order to report.
        ks: the k of pass@k; None for the usual ones.
        grader: closed at the end.
        progress: watches the grading.
        graded: whether the verdicts were given already (`AskedRun.graded`), so that it only counts.
        window: what left the other problems out.
        cutoff: last day of the model's training data, ``YYYY-MM-DD``.

    Raises:
        UserError: a k exceeds the samples per task, or the folder cannot be written to; nothing was graded.
        SandboxError: programs would have to run at level 1, and that is not allowed.
    """
    with closing(grader):
        refuse_ks(ks, run.manifest.samples_per_task)
        require_writable(run.path)
        with run.locked():
            for profile in () if graded else profiles:
                grade_run(run, problems, profile, progress=progress, grader=grader)
            earlier = graders_of(run, problems, besides={profile.id for profile in profiles})
            summarise(run, problems, [*profiles, *earlier], ks, window=window, cutoff=cutoff)
            write_own_files(run, problems, profiles)


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
