"""The straight line: problem → prompt → completion → answer → verdict → estimate.

`generate` asks the model, `grade` decides, `summarise` counts; `truegrade.api.run` walks them in order. Each
starts from the file that the one before it wrote, so each can be stopped at any moment and started again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Container, Coroutine, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from itertools import groupby
from typing import Protocol, TypeVar

import msgspec

from truegrade.benchmarks.base import Benchmark
from truegrade.config import GenerationConfig
from truegrade.errors import BadRecord, TruegradeError, UserError
from truegrade.files.json_text import encode
from truegrade.graders import Grader, LocalGrader
from truegrade.graders.verdicts import limits_for, package_versions
from truegrade.grading.marks import MISSING_PACKAGE
from truegrade.models.base import BatchModel, Model, Reply, Request
from truegrade.models.shortfall import Shortfall
from truegrade.pipeline.selection import scored
from truegrade.pipeline.summary import Summary, read_summary, summarise_run
from truegrade.profiles import Profile, open_stored
from truegrade.records import (
    CasesTask,
    Completion,
    FunctionTask,
    OracleTask,
    Problem,
    Prompt,
    SampleKey,
)
from truegrade.statistics.windows import EVERYTHING, Window, described
from truegrade.store import Journal, Run
from truegrade.store.journal import Notice, ignore

T = TypeVar("T")


class Progress(Protocol):
    """Watches a stage; the terminal's bar and the silence of scripts both fit."""

    def start(self, stage: str, total: int, done: int) -> None:
        """A stage begins; ``done`` of ``total`` were finished earlier."""

    def advance(self, *, cost_usd: float | None = None, failed: bool = False) -> None:
        """One more is finished."""

    def finish(self) -> None:
        """The stage is over."""


class Budget:
    """Dollars that a run may cost, all its commands together; asked before each request, told after it.

    Args:
        max_usd: None for no bound.
    """

    def __init__(self, max_usd: float | None) -> None:
        self.max_usd = max_usd
        self.spent_usd = 0.0

    @property
    def exhausted(self) -> bool:
        """Whether no further request may start."""
        return self.max_usd is not None and self.spent_usd >= self.max_usd

    def spend(self, cost_usd: float | None) -> None:
        """Note what a request cost, where that is known."""
        self.spent_usd += cost_usd or 0.0


# ---------------------------------------------------------------------------------------------- prompts


class Worded(msgspec.Struct, frozen=True):
    """The problems of a run with their prompts, and those that a prompt gives away."""

    items: list[tuple[Problem, Prompt]]
    excluded: dict[str, str]


class Wording(Protocol):
    """Words problems: a profile, or an agent with prompts of its own."""

    @property
    def scores_shots(self) -> Sequence[str]:
        """Benchmarks whose problems count although a prompt shows them solved."""

    def prompt(self, problem: Problem, variant: str | None, examples: Mapping[str, Problem]) -> Prompt:
        """See `truegrade.profiles.base.Profile.prompt`."""


def word(benchmark: Benchmark, selected: Sequence[Problem], wording: Wording, variant: str | None) -> Worded:
    """Word every selected problem; one that any prompt shows solved is left out, unless the wording scores it.

    Args:
        benchmark: the whole data set, from which worked examples come.
        selected: problems to ask, in order.
        wording: whose prompt is used.
        variant: one of its prompt variants.
    """
    examples = benchmark.by_id()
    prompts = [(problem, wording.prompt(problem, variant, examples)) for problem in selected]
    given_away = benchmark.name not in wording.scores_shots
    shown = {shot for _, prompt in prompts for shot in prompt.shots} if given_away else set()
    excluded = {problem.id: "shown solved in the prompt" for problem in selected if problem.id in shown}
    return Worded([(problem, prompt) for problem, prompt in prompts if problem.id not in shown], excluded)


# --------------------------------------------------------------------------------------------- generate


def generate(run: Run, worded: Worded, model: Model, *, progress: Progress, notice: Notice = ignore) -> Shortfall:
    """Ask for every sample that is not answered yet; each reply is on disk before the next is counted.

    Args:
        run: what is asked for, and where replies go.
        worded: the problems with their prompts.
        model: who answers.
        progress: told about every reply.
        notice: told why requests fail, once some have.

    Returns:
        The samples still without a reply: not asked, because the budget is spent, or failed.

    Raises:
        ModelError: the service refuses everything (wrong key, unknown model); what came before is kept.
    """
    config = run.manifest.generation
    if config is None:
        raise BadRecord(run.path, "this run was imported, so there is no model to ask", field="generation")
    budget = Budget(model.patience.max_cost_usd)
    answered = set()
    for completion in run.completions():
        budget.spend(completion.cost_usd)
        if completion.text is not None:
            answered.add(completion.key)
    wanted = [
        (problem, prompt, SampleKey(problem.id, sample))
        for problem, prompt in worded.items
        for sample in range(run.manifest.samples_per_task)
    ]
    missing = [item for item in wanted if item[2] not in answered]
    shortfall = Shortfall(notice)
    progress.start("generate", total=len(wanted), done=len(wanted) - len(missing))
    try:
        with run.append_completions() as journal:
            complete(_ask_all(missing, config, model, budget, journal, progress, shortfall))
    finally:
        progress.finish()
    return shortfall


def complete(work: Coroutine[None, None, T]) -> T:
    """Run a coroutine to its end, also where a loop is running already: in a notebook."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    with ThreadPoolExecutor(1, thread_name_prefix="generate") as thread:
        return thread.submit(asyncio.run, work).result()


Sample = tuple[Problem, Prompt, SampleKey]


async def _ask_all(
    missing: Sequence[Sample],
    config: GenerationConfig,
    model: Model,
    budget: Budget,
    journal: Journal[Completion],
    progress: Progress,
    shortfall: Shortfall,
) -> None:
    """Keep ``max_connections`` requests under way until every sample is asked or the budget is spent.

    A failure that ends the run lets the requests under way finish first: they are paid for.
    """
    shortfall.not_asked = len(missing)
    failures: list[TruegradeError] = []
    together = isinstance(model, BatchModel) and model.batch_n
    batches = iter(_batches(missing, together=together))

    def keep(sample: Sample, seed: int | None, reply: Reply) -> None:
        journal.append(completion_of(*sample, reply, config_sha256=config.sha256, seed=seed))
        budget.spend(reply.cost_usd)
        shortfall.not_asked -= 1
        shortfall.add(reply)
        progress.advance(cost_usd=reply.cost_usd, failed=reply.text is None)

    async def worker() -> None:
        for batch in batches:
            if budget.exhausted or failures:
                return
            try:
                await _ask(batch, config, model, keep)
            except TruegradeError as failure:
                failures.append(failure)

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(max(1, min(model.patience.max_connections, len(missing)))):
                group.create_task(worker())
    finally:
        await model.close()
    if failures:
        raise failures[0]


async def _ask(
    batch: Sequence[Sample],
    config: GenerationConfig,
    model: Model,
    keep: Callable[[Sample, int | None, Reply], None],
) -> None:
    """Ask for all samples of a batch in one request, and one by one for those that it did not bring."""
    brought = 0
    if len(batch) > 1 and isinstance(model, BatchModel):
        request = _request(batch[0], config)
        for sample, reply in zip(batch, await model.generate_many(request, len(batch)), strict=False):
            keep(sample, request.sampling.seed, reply)
            brought += 1
    for sample in batch[brought:]:
        request = _request(sample, config)
        keep(sample, request.sampling.seed, await model.generate(request))


def _request(sample: Sample, config: GenerationConfig) -> Request:
    """Sample i asks with the run's seed + i: samples differ, and each can be repeated alone."""
    problem, prompt, key = sample
    sampling = config.sampling
    if sampling.seed is not None:
        sampling = msgspec.structs.replace(sampling, seed=sampling.seed + key.sample)
    return Request(problem=problem, prompt=prompt, sample=key.sample, sampling=sampling)


def _batches(samples: Sequence[Sample], *, together: bool) -> Iterable[list[Sample]]:
    """One sample a request, or all missing samples of a problem together."""
    if not together:
        return ([sample] for sample in samples)
    return (list(group) for _, group in groupby(samples, key=lambda sample: sample[2].problem_id))


def completion_of(
    problem: Problem,
    prompt: Prompt,
    key: SampleKey,
    reply: Reply,
    *,
    config_sha256: str = "",
    seed: int | None = None,
) -> Completion:
    """The record of a reply; whatever continues a text for base models is marked as such."""
    continues = prompt.style == "text" and isinstance(problem.task, FunctionTask | OracleTask | CasesTask)
    return Completion(
        benchmark=problem.benchmark,
        dataset_sha256=problem.dataset_sha256,
        problem_id=problem.id,
        sample=key.sample,
        config_sha256=config_sha256,
        prompt_sha256=prompt.sha256,
        text=reply.text,
        form="completion" if continues and reply.form == "reply" else reply.form,
        reasoning=reply.reasoning,
        finish_reason=reply.finish_reason,
        usage=reply.usage,
        latency_s=reply.latency_s,
        model=reply.model,
        seed=seed,
        attempts=reply.attempts,
        cost_usd=reply.cost_usd,
    )


# ----------------------------------------------------------------------------------------------- import


class Survey(msgspec.Struct, frozen=True):
    """What a file of completions holds."""

    samples: int
    tasks: set[str]
    samples_per_task: int


def survey(completions: Iterable[Completion]) -> Survey:
    """Read completions to their end, so that a bad line is found before a run is made of them."""
    samples, tasks, most = 0, set(), 0
    for completion in completions:
        samples += 1
        tasks.add(completion.problem_id)
        most = max(most, completion.sample + 1)
    return Survey(samples, tasks, most)


def copy_completions(run: Run, completions: Iterable[Completion], total: int, *, progress: Progress) -> None:
    """Append imported completions to the run; those already there are passed over."""
    present = run.answered()
    progress.start("import", total=total, done=len(present))
    try:
        with run.append_completions() as journal:
            for completion in completions:
                if completion.key not in present:
                    journal.append(completion)
                    progress.advance()
    finally:
        progress.finish()


# ------------------------------------------------------------------------------------------------ grade


def grade(
    run: Run,
    problems: Mapping[str, Problem],
    profile: Profile,
    *,
    workers: int = 1,
    progress: Progress,
    allow_unsafe: bool = False,
    grader: Grader | None = None,
) -> None:
    """Give every completion a verdict under one profile; what has one already is not graded again.

    Memory is bounded: completions are streamed, and at most a few per worker are under way. Nothing is started
    before a program has to run.

    Args:
        run: holds the completions and receives the verdicts.
        problems: those to grade, by id; completions of others, and of shots, are passed over.
        profile: the rules.
        workers: programs run at once.
        progress: told about every verdict.
        allow_unsafe: run programs even where only resource limits protect this machine (level 1).
        grader: who does it, with workers and permissions of its own; None for ``workers`` on this machine.

    Raises:
        BadRecord: a completion belongs to another data set.
        SandboxError: programs would have to run at level 1, and that is not allowed.
    """
    problems = scored(run, problems, profile)
    packages = package_versions(limits_for(profile, problems.values()).packages)
    others = packages != (run.manifest.packages or {}).get(profile.id)
    graded = run.graded(profile.id, anew=MISSING_PACKAGE if others else None)
    done = [(c.key, c.sha256) in graded for c in _gradable(run, problems)]
    progress.start(f"grade as {profile.name}", total=len(done), done=sum(done))
    pending = (c for c in _gradable(run, problems) if (c.key, c.sha256) not in graded)
    grader = grader or LocalGrader(workers, allow_unsafe=allow_unsafe)
    levels: set[int] = set()
    try:
        with (
            closing(grader.grade(pending, problems, profile)) as verdicts,
            run.append_verdicts(profile.id) as journal,
        ):
            for verdict in verdicts:
                journal.append(verdict)
                progress.advance()
                if verdict.level is not None:
                    levels.add(verdict.level)
    finally:
        progress.finish()
    run.record_grading(profile.id, min(levels, default=None), packages)


def _gradable(run: Run, problems: Mapping[str, Problem]) -> Iterator[Completion]:
    for completion in run.completions():
        problem = problems.get(completion.problem_id)
        if problem is None or completion.text is None:
            continue
        if completion.dataset_sha256 != problem.dataset_sha256:
            raise BadRecord(
                run.completions_path,
                f"{completion.key.problem_id} sample {completion.sample} answers another version of the data set"
                f" ({completion.dataset_sha256[:12]}…, loaded {problem.dataset_sha256[:12]}…)",
                field="dataset_sha256",
            )
        yield completion


# ------------------------------------------------------------------------------------------ summarise


def summarise(
    run: Run,
    problems: Mapping[str, Problem],
    profiles: Sequence[Profile],
    ks: Sequence[int] | None = None,
    *,
    window: Window = EVERYTHING,
    cutoff: str | None = None,
) -> Summary:
    """Count, with intervals, and write ``summary.json``; arguments as of `summarise_run`.

    Raises:
        UserError: a k of pass@k exceeds the samples per task.
    """
    summary = summarise_run(run, problems, profiles, ks, window=window, cutoff=cutoff)
    run.write("summary.json", encode(summary, indent=2) + b"\n")
    return summary


def summarise_part(run: Run, problems: Mapping[str, Problem], *, window: Window, cutoff: str | None) -> Summary:
    """Count a part of a graded run, with the k of its stored summary; nothing is written.

    Args:
        run: graded.
        problems: those in the window.
        window: what left the others out.
        cutoff: last day of the model's training data; None for that of the stored summary.

    Raises:
        UserError: it was not graded, or nothing of the part was.
    """
    stored = read_summary(run)
    metrics = [estimate.metric for estimate in stored.profiles[0].estimates]
    ks = [int(name.removeprefix("pass@")) for name in metrics if name.startswith("pass@")]
    profiles = graders_of(run, problems)
    if not profiles:
        raise UserError(f"{run.path}: nothing in {described(window)} was graded; truegrade grade {run.path}")
    return summarise_run(run, problems, profiles, ks, window=window, cutoff=cutoff or stored.cutoff)


def graders_of(run: Run, problems: Container[str]) -> list[Profile]:
    """Profiles with verdicts on some of these problems: an earlier grading may have been for another window."""
    return [
        open_stored(name)
        for name in run.profiles
        if any(key.problem_id in problems for key, _ in run.graded(name))
    ]
