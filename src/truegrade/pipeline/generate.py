"""The second stage: ask for every sample that is not answered yet, at most so many requests at once.

The first stage: the prompt of every selected problem is rendered, and what a prompt gives away is left out.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import groupby
from typing import Protocol, TypeVar

import msgspec

from truegrade.benchmarks.base import Benchmark
from truegrade.errors import BadRecord, TruegradeError, UserError, raised
from truegrade.kinds import kind_of
from truegrade.models.base import Model, MultiSampleModel, Reply, generate_sample
from truegrade.models.service_errors import Shortfall
from truegrade.pipeline.verdicts import Progress
from truegrade.records import Completion, Problem, Prompt, SampleKey
from truegrade.records.config import GenerationConfig, Sampling
from truegrade.store import Journal, Run
from truegrade.store.facts import sample_hash
from truegrade.store.journal import Notice, ignore
from truegrade.store.manifest import open_batches

NO_BATCHES = (
    "this version asks and collects no batches of Anthropic, which commit 64dee114 was the last to do: leave"
    " `batch` out, and remove the lines of an open batch from batches.jsonl to have its samples asked one by one"
)
"""Said where a batch of Anthropic's is wanted, or was left open by an earlier version."""


class PromptSet(msgspec.Struct, frozen=True):
    """The problems of a run with their prompts, and those that a prompt gives away."""

    items: list[tuple[Problem, Prompt]]
    excluded: dict[str, str]

    @property
    def problems(self) -> dict[str, Problem]:
        """The problems that are asked, by id."""
        return {problem.id: problem for problem, _ in self.items}


class PromptRenderer(Protocol):
    """Renders prompts: a profile, or an agent with prompts of its own."""

    @property
    def scores_shots(self) -> Sequence[str]:
        """Benchmarks whose problems count although a prompt shows them solved."""

    def render_prompt(self, problem: Problem, variant: str | None, examples: Mapping[str, Problem]) -> Prompt:
        """See `truegrade.profiles.base.Profile.render_prompt`."""


def render_prompts(
    benchmark: Benchmark, selected: Sequence[Problem], renderer: PromptRenderer, variant: str | None
) -> PromptSet:
    """Render every prompt; a problem that one shows solved is left out, unless the renderer scores it.

    Args:
        benchmark: the whole data set, from which worked examples come.
        selected: problems to ask, in order.
        renderer: whose prompt is used.
        variant: one of its prompt variants.
    """
    examples = benchmark.by_id()
    prompts = [(problem, _prompt(renderer, problem, variant, examples)) for problem in selected]
    given_away = benchmark.name not in renderer.scores_shots
    shown = {shot for _, prompt in prompts for shot in prompt.shots} if given_away else set()
    excluded = {problem.id: "shown solved in the prompt" for problem in selected if problem.id in shown}
    return PromptSet([(problem, prompt) for problem, prompt in prompts if problem.id not in shown], excluded)


def _prompt(
    renderer: PromptRenderer, problem: Problem, variant: str | None, examples: Mapping[str, Problem]
) -> Prompt:
    try:
        prompt = renderer.render_prompt(problem, variant, examples)
        if isinstance(prompt, Prompt):
            return prompt
        raise TypeError(f"it is {type(prompt).__name__} and no truegrade.records.Prompt")
    except TruegradeError:
        raise
    except Exception as error:  # of a kind, profile or agent from outside
        raise UserError(f"{problem.id}: its prompt cannot be made: {raised(error)}") from error


T = TypeVar("T")
Sample = tuple[Problem, Prompt, SampleKey]


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


def generate(
    run: Run,
    prompt_set: PromptSet,
    model: Model,
    *,
    progress: Progress,
    notice: Notice = ignore,
    stopped: Callable[[], bool] = bool,
) -> Shortfall:
    """Ask for every sample that is not answered yet; each reply is on disk before the next is counted.

    Args:
        run: what is asked for, and where replies go.
        prompt_set: the problems with their prompts.
        model: who answers.
        progress: told about every reply.
        notice: told why requests fail, once some have.
        stopped: whether no further request may start; those under way end.

    Returns:
        The samples still without a reply: not asked, because the budget is spent, or failed.

    Raises:
        ModelError: the service refuses everything (wrong key, unknown model); what came before is kept.
    """
    config = generation_of(run)
    budget = budget_of(run, model)
    wanted = wanted_samples(run, prompt_set)
    answered = run.answered()
    under_way = {sample_hash(key) for batch in open_batches(run.path).values() for key in batch.samples} - answered
    settled = answered | under_way
    missing = [sample for sample in wanted if sample_hash(sample[2]) not in settled]
    if left := sum(sample_hash(sample[2]) in under_way for sample in wanted):
        collects = NO_BATCHES if model.name.startswith("anthropic/") else "`batch=True` collects them"
        notice(f"{left} samples are in a batch at the service and not asked again; {collects}")
    shortfall = Shortfall(notice)
    progress.start("generate", total=len(wanted) - left, done=len(wanted) - left - len(missing))
    try:
        with run.append_completions() as journal:
            asking = _ask_all(missing, config, model, budget, journal, progress, shortfall, stopped)
            complete(_closing(asking, model))
    finally:
        progress.finish()
    return shortfall


def generation_of(run: Run) -> GenerationConfig:
    """What a run asks for.

    Raises:
        BadRecord: its completions were imported.
    """
    if run.manifest.generation is None:
        raise BadRecord(run.path, "this run was imported, so there is no model", field="generation")
    return run.manifest.generation


def budget_of(run: Run, model: Model) -> Budget:
    """The dollars that a run may cost, with what its earlier commands spent."""
    budget = Budget(model.request_policy.max_cost_usd)
    for facts in run.completion_facts():
        budget.spend(facts.cost_usd)
    return budget


def note_adaptations(run: Run, model: Model) -> None:
    """Record in the manifest what the service did not take as asked."""
    adaptations = (*run.manifest.adaptations, *getattr(model, "adaptations", ()))
    run.update(adaptations=tuple(dict.fromkeys(adaptations)))


def wanted_samples(run: Run, prompt_set: PromptSet) -> list[Sample]:
    """Every sample that is asked for, answered or not."""
    return [
        (problem, prompt, SampleKey(problem.id, sample))
        for problem, prompt in prompt_set.items
        for sample in range(run.manifest.samples_per_task)
    ]


def complete(work: Coroutine[None, None, T]) -> T:
    """Run a coroutine to its end, also where a loop is running already: in a notebook."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    with ThreadPoolExecutor(1, thread_name_prefix="generate") as thread:
        return thread.submit(asyncio.run, work).result()


async def _ask_all(
    missing: Sequence[Sample],
    config: GenerationConfig,
    model: Model,
    budget: Budget,
    journal: Journal[Completion],
    progress: Progress,
    shortfall: Shortfall,
    stopped: Callable[[], bool],
) -> None:
    """Keep ``max_connections`` requests under way until every sample is asked or the budget is spent.

    A failure that ends the run lets the requests under way finish first: they are paid for.
    """
    shortfall.not_asked += len(missing)
    failures: list[TruegradeError] = []
    together = isinstance(model, MultiSampleModel) and model.batch_n
    requests = iter(_requests(missing, together=together))

    def keep(sample: Sample, seed: int | None, reply: Reply) -> None:
        journal.append(completion_of(*sample, reply, config_sha256=config.sha256, seed=seed))
        budget.spend(reply.cost_usd)
        shortfall.not_asked -= 1
        shortfall.add(reply)
        progress.advance(cost_usd=reply.cost_usd, failed=reply.text is None)

    async def worker() -> None:
        for samples in requests:
            if budget.exhausted or failures or stopped():
                return
            try:
                await _ask(samples, config, model, keep)
            except TruegradeError as failure:
                failures.append(failure)

    async with asyncio.TaskGroup() as group:
        for _ in range(max(1, min(model.request_policy.max_connections, len(missing)))):
            group.create_task(worker())
    if failures:
        raise failures[0]


async def _closing(asking: Coroutine[None, None, None], model: Model) -> None:
    """Ask, and close the model in the same event loop whatever happened."""
    try:
        await asking
    finally:
        await model.close()


async def _ask(
    samples: Sequence[Sample],
    config: GenerationConfig,
    model: Model,
    keep: Callable[[Sample, int | None, Reply], None],
) -> None:
    """Ask for all of these samples in one request, and one by one for those that it did not bring."""
    brought = 0
    if len(samples) > 1 and isinstance(model, MultiSampleModel):
        _, prompt, key = samples[0]
        sampling = own_sampling(config.sampling, key)
        replies = await model.generate_many(prompt, sampling, len(samples))
        for sample, reply in zip(samples, replies, strict=False):
            keep(sample, sampling.seed, reply)
            brought += 1
    for sample in samples[brought:]:
        _, prompt, key = sample
        sampling = own_sampling(config.sampling, key)
        keep(sample, sampling.seed, await generate_sample(model, key, prompt, sampling))


def own_sampling(sampling: Sampling, key: SampleKey) -> Sampling:
    """Sample i asks with the run's seed + i: samples differ, and each can be repeated alone."""
    if sampling.seed is None:
        return sampling
    return msgspec.structs.replace(sampling, seed=sampling.seed + key.sample)


def _requests(samples: Sequence[Sample], *, together: bool) -> Iterable[list[Sample]]:
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
    continues = kind_of(problem.task).continues(problem.task, prompt)
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
