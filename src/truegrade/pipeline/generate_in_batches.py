"""The second stage by way of a service's batches: submitted, waited for, collected. Half the price, within a day.

What is asked and what is stored are those of `truegrade.pipeline.generate`; a run may use both in turn. A batch is
written down before it is submitted, so that no kill at any moment has anything submitted twice.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping
from datetime import datetime
from functools import partial
from math import inf
from typing import Any, TypeVar

import msgspec

from truegrade.agents import Agent
from truegrade.errors import ModelError, UserError
from truegrade.models.base import (
    BatchableModel,
    BatchQuestion,
    BatchService,
    BatchState,
    EncodedQuestion,
    Model,
    MultiSampleModel,
    PassingFailure,
    Reply,
)
from truegrade.models.service_errors import Shortfall
from truegrade.pipeline.generate import (
    NO_BATCHES,
    PromptSet,
    Sample,
    budget_of,
    complete,
    completion_of,
    generation_of,
    note_adaptations,
    own_sampling,
    wanted_samples,
)
from truegrade.pipeline.verdicts import Progress
from truegrade.records import Attempt, Completion, Problem, Prompt, SampleKey
from truegrade.records.config import Sampling
from truegrade.store import Journal, Run
from truegrade.store.facts import sample_hash
from truegrade.store.journal import Notice, ignore
from truegrade.store.manifest import BatchLog, ClosedBatch, OpenBatch, new_token

T = TypeVar("T")

POLL_S = 30.0
"""Seconds between the first two questions how far a batch is."""
POLL_ARGUMENT = "batch_poll_s"
"""The model argument that sets them; it is no part of a run's identity."""
POLL_GROWTH, POLL_MOST = 1.5, 10
"""Each interval is so much longer than the last, up to so many times the first."""

_NO_RESULT = Reply(
    text=None, model="", attempts=(Attempt(outcome="error", error="the batch ended without a result for it"),)
)


class BatchPlan(msgspec.Struct, frozen=True, kw_only=True):
    """How a run is asked in batches."""

    service: BatchService
    poll_s: float


def plan_batches(
    model: Model, sampling: Sampling, cache: bool | None, agent: Agent | None, poll_s: Any
) -> BatchPlan:
    """See, before anything is asked, that a run can be asked in batches.

    Args:
        model: whose batches.
        sampling: what is asked of it.
        cache: as the user says.
        agent: works between the run and the model; None if none does.
        poll_s: seconds between two questions how far a batch is.

    Raises:
        UserError: it cannot.
    """
    service = model.batch_service() if isinstance(model, BatchableModel) else None
    if model.name.startswith("anthropic/"):
        raise UserError(f"{model.name}: {NO_BATCHES}")
    if service is None:
        raise UserError(f"{model.name} has no batches: leave `batch` out, or name a model of openai")
    if agent is not None:
        raise UserError(f"`agent` {agent.config.name} asks one question after another: leave `batch` out")
    if cache:
        raise UserError("batches do not use the response cache: leave `cache` or `batch` out")
    if isinstance(model, MultiSampleModel) and model.batch_n:
        raise UserError("the requests of a batch bring one sample each: leave `model_args` batch_n or `batch` out")
    if model.request_policy.max_cost_usd is not None and sampling.max_tokens is None:
        raise UserError(
            "`max_cost_usd` with `batch` needs `max_tokens`: what a batch can cost must be known before it is"
            " submitted, and without a limit on its tokens a reply can cost anything"
        )
    if isinstance(poll_s, bool) or not isinstance(poll_s, int | float) or not 0 < poll_s < inf:
        raise UserError(f"`model_args` {POLL_ARGUMENT}={poll_s}: give a number of seconds above 0")
    return BatchPlan(service=service, poll_s=poll_s)


def generate_in_batches(
    run: Run,
    prompt_set: PromptSet,
    problems: Mapping[str, Problem],
    model: Model,
    plan: BatchPlan,
    *,
    progress: Progress,
    notice: Notice = ignore,
    collect: bool = True,
) -> Shortfall:
    """Submit every sample that is neither answered nor under way, and collect all that are under way.

    Args:
        run: what is asked for, and where replies and batches are written down.
        prompt_set: the problems with their prompts.
        problems: those of the whole data set, by id: an earlier command may have submitted others.
        model: whose batches they are; closed at the end.
        plan: its batches.
        progress: told how far the batches are, then about every reply.
        notice: told the ids of batches, and what became of them.
        collect: whether to wait for the batches; without, a later call collects them.

    Returns:
        The samples still without a reply: not asked, because the budget is spent, or failed.

    Raises:
        ModelError: the service refuses a batch, or it was cancelled there; what it brought is kept.
    """
    with BatchLog(run.path, notice=notice) as log, run.append_completions() as journal:
        batching = _Batching(run, prompt_set, problems, model, plan, log, journal, progress, notice)
        try:
            complete(batching.work(collect=collect))
        except KeyboardInterrupt:
            if log.open:
                notice("the batches go on at the service; the same command collects them")
            raise
        return batching.shortfall


def _given_up(failure: PassingFailure) -> ModelError:
    return ModelError(f"{failure}; what is submitted goes on at the service, and the same command collects it")


class _Batching:
    """One command's work on the batches of a run."""

    def __init__(
        self,
        run: Run,
        prompt_set: PromptSet,
        problems: Mapping[str, Problem],
        model: Model,
        plan: BatchPlan,
        log: BatchLog,
        journal: Journal[Completion],
        progress: Progress,
        notice: Notice,
    ) -> None:
        self._run, self._problems, self._model, self._log, self._journal = run, problems, model, log, journal
        self._service, self._poll_s, self._progress, self._notice = plan.service, plan.poll_s, progress, notice
        self._config = generation_of(run)
        self._budget = budget_of(run, model)
        self._wanted = wanted_samples(run, prompt_set)
        self.shortfall = Shortfall(ignore)  # all failures come at once, so that the last sentence is early enough

    async def work(self, *, collect: bool) -> None:
        """All of it; again with other parameters while failures teach that the service does not take some."""
        try:
            await self._adopt_lost()
            while True:
                learnt = self._service.learnt
                self.shortfall = Shortfall(ignore)
                await self._submit_missing()
                if not collect:
                    return
                states = await self._ended()
                await self._collect(states)
                if self._service.learnt == learnt:
                    return
        finally:
            await self._model.close()

    # ----------------------------------------------------------------------------------- submission

    async def _submit_missing(self) -> None:
        """Submit what is neither answered nor under way, as far as the budget surely allows."""
        for token, samples, requests in self._cut():
            note_adaptations(self._run, self._model)  # another command may collect
            bounds = [request.bound_usd for request in requests if request.bound_usd is not None]
            batch = self._log.intend(token, samples, sum(bounds) if bounds else None)
            await self._submit(batch, requests)

    def _cut(self) -> Iterator[tuple[str, list[SampleKey], list[EncodedQuestion]]]:
        """Batches within the service's limits: token, samples, requests."""
        under_way = (sample_hash(key) for batch in self._log.open.values() for key in batch.samples)
        settled = self._run.answered().union(under_way)
        missing = [sample for sample in self._wanted if sample_hash(sample[2]) not in settled]
        reserved_usd = sum(batch.bound_usd or 0.0 for batch in self._log.open.values())
        token, samples, requests, size = new_token(), list[SampleKey](), list[EncodedQuestion](), 0
        for place, (_, prompt, key) in enumerate(missing):
            request = self._service.encode(self._question(token, len(samples), prompt, key))
            reserved_usd += request.bound_usd or 0.0
            if self._budget.max_usd is not None and self._budget.spent_usd + reserved_usd > self._budget.max_usd:
                self.shortfall.not_asked = len(missing) - place
                break
            if requests and not self._fits(requests, size, request):
                yield token, samples, requests
                token, samples, requests, size = new_token(), [], [], 0
                request = self._service.encode(self._question(token, 0, prompt, key))
            samples.append(key)
            requests.append(request)
            size += len(request.content) + 1
        if requests:
            yield token, samples, requests

    def _fits(self, requests: list[EncodedQuestion], size: int, request: EncodedQuestion) -> bool:
        return (
            len(requests) < self._service.max_requests
            and size + len(request.content) < self._service.max_bytes
            and request.endpoint == requests[0].endpoint
        )

    async def _submit(self, batch: OpenBatch, requests: list[EncodedQuestion]) -> None:
        """Submit a batch; where the service may have taken it without a word, look for it before trying again."""
        for attempt in range(1, self._model.request_policy.max_attempts + 1):
            try:
                id_: str | None = await self._service.submit(batch.token, requests)
            except PassingFailure as failure:
                if attempt == self._model.request_policy.max_attempts:
                    raise _given_up(failure) from None
                id_ = await self._find(batch)
            except ModelError as refusal:
                self._log.close_batch(batch.token, ClosedBatch(outcome="not submitted", reason=str(refusal)))
                raise
            if id_ is not None:
                self._accept(batch, id_)
                return

    def _accept(self, batch: OpenBatch, id_: str) -> None:
        self._log.accept(batch.token, id_)
        self._notice(
            f"batch {id_} with {len(batch.samples)} requests is at {self._model.name}, which answers within a day;"
            " Ctrl-C leaves it there, and the same command collects it"
        )

    # -------------------------------------------------------------------------------- lost batches

    async def _adopt_lost(self) -> None:
        """Find the batches that an earlier command submitted without living to note their ids."""
        for batch in list(self._log.open.values()):
            if batch.id is not None:
                continue
            id_ = await self._find(batch)
            if id_ is not None:
                self._accept(batch, id_)
            else:
                self._log.close_batch(batch.token, ClosedBatch(outcome="not submitted"))

    async def _find(self, batch: OpenBatch) -> str | None:
        """The id of a batch at the service; None where two looks, some time apart, show none."""
        look = partial(self._service.find, batch.token, datetime.fromisoformat(batch.at).timestamp())
        found = await self._patiently(look)
        if found is None:
            await asyncio.sleep(self._poll_s)
            found = await self._patiently(look)
        return found

    # -------------------------------------------------------------------------------------- waiting

    async def _ended(self) -> dict[str, BatchState]:
        """The states, by id, of all batches of this run, once none is running; meanwhile their counts are shown.

        Raises:
            ModelError: the service refuses a batch as a whole.
        """
        batches = {batch.id: batch for batch in self._log.open.values() if batch.id is not None}
        if not batches:
            return {}
        states: dict[str, BatchState] = {}
        shown = failed = 0
        self._progress.start("batch", total=sum(len(batch.samples) for batch in batches.values()), done=0)
        try:
            for wait_s in self._intervals():
                for id_, batch in batches.items():
                    if id_ not in states or states[id_].status == "running":
                        states[id_] = await self._patiently(partial(self._service.state, id_))
                        self._refuse_failed(batch, states[id_])
                shown, failed = self._show(states, shown, failed)
                if all(state.status != "running" for state in states.values()):
                    break
                await asyncio.sleep(wait_s)
        finally:
            self._progress.finish()
        return states

    def _show(self, states: Mapping[str, BatchState], shown: int, failed: int) -> tuple[int, int]:
        """Advance to what the service has counted; returns what is shown now, and how many of these failed."""
        now_failed = sum(state.failed for state in states.values())
        now_shown = now_failed + sum(state.answered for state in states.values())
        for i in range(now_shown - shown):
            self._progress.advance(failed=i < now_failed - failed)
        return max(shown, now_shown), max(failed, now_failed)

    def _refuse_failed(self, batch: OpenBatch, state: BatchState) -> None:
        if state.status != "failed":
            return
        self._log.close_batch(batch.token, ClosedBatch(outcome="failed", reason=state.reason))
        others = "; the other batches go on, and the same command collects them" if self._log.open else ""
        advice = "change what it names, then run the same command again"
        if "token" in (state.reason or "").lower() and "limit" in (state.reason or "").lower():
            advice = "wait until other batches have ended, or ask for fewer problems at a time with `limit`"
        raise ModelError(
            f"{self._model.name} refused batch {state.id}: {state.reason or 'no reason given'}; {advice}{others}"
        )

    def _intervals(self) -> Iterator[float]:
        wait_s = self._poll_s
        while True:
            yield wait_s
            wait_s = min(wait_s * POLL_GROWTH, self._poll_s * POLL_MOST)

    async def _patiently(self, ask: Callable[[], Awaitable[T]]) -> T:
        """Ask again after passing failures; each time counts as an attempt.

        Raises:
            ModelError: no attempt is left, or the failure will not pass.
        """
        for attempt, wait_s in enumerate(self._intervals(), 1):
            try:
                return await ask()
            except PassingFailure as failure:
                if attempt >= self._model.request_policy.max_attempts:
                    raise _given_up(failure) from None
            await asyncio.sleep(wait_s)
        raise AssertionError("the intervals do not end")

    # ----------------------------------------------------------------------------------- collection

    async def _collect(self, states: Mapping[str, BatchState]) -> None:
        """Store what the batches brought, and say what became of those that did not end as they should.

        Raises:
            ModelError: one was cancelled.
        """
        answered = self._run.answered()
        done = sum(sample_hash(sample[2]) in answered for sample in self._wanted)
        cancelled = []
        self._progress.start("generate", total=len(self._wanted), done=done)
        try:
            for batch in list(self._log.open.values()):
                state = states[batch.id or ""]
                await self._collect_one(batch, state)
                brought = f"{state.answered} of {len(batch.samples)} requests were answered and are kept"
                if state.status == "expired":
                    self._notice(f"batch {state.id} expired after 24 h: {brought}")
                if state.status == "cancelled":
                    cancelled.append(f"batch {state.id} was cancelled at the service: {brought}")
        finally:
            self._progress.finish()
        if cancelled:
            raise ModelError(f"{'; '.join(cancelled)}; the same command asks for the others again")

    async def _collect_one(self, batch: OpenBatch, state: BatchState) -> None:
        prompts, answered = self._run.prompts(), self._run.answered()
        samples: dict[str, Sample] = {}
        questions: dict[str, BatchQuestion] = {}
        for i, key in enumerate(batch.samples):
            prompt = prompts[key.problem_id]
            question = self._question(batch.token, i, prompt, key)
            questions[question.custom_id] = question
            if sample_hash(key) not in answered:
                samples[question.custom_id] = (self._problems[key.problem_id], prompt, key)

        async def read() -> None:
            async for custom_id, reply in self._service.results(state.id, questions):
                if (sample := samples.pop(custom_id, None)) is not None:
                    self._keep(sample, reply)

        await self._patiently(read)
        for sample in samples.values():
            self._keep(sample, msgspec.structs.replace(_NO_RESULT, model=self._model.name))
        assert state.status != "running"
        self._log.close_batch(batch.token, ClosedBatch(outcome=state.status, reason=state.reason))

    def _keep(self, sample: Sample, reply: Reply) -> None:
        seed = own_sampling(self._config.sampling, sample[2]).seed
        self._journal.append(completion_of(*sample, reply, config_sha256=self._config.sha256, seed=seed))
        self._budget.spend(reply.cost_usd)
        self.shortfall.add(reply)
        self._progress.advance(cost_usd=reply.cost_usd, failed=reply.text is None)

    def _question(self, token: str, place: int, prompt: Prompt, key: SampleKey) -> BatchQuestion:
        sampling = own_sampling(self._config.sampling, key)
        return BatchQuestion(custom_id=f"{token}-{place}", prompt=prompt, sampling=sampling)
