"""Who answers requests: a model, the response cache, an agent with its jail; probes, and single questions."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from types import MappingProxyType, TracebackType
from typing import Any, Self
from urllib.parse import urlsplit

import msgspec

from truegrade.agents import REGISTRY as AGENTS
from truegrade.agents import Agent, find_agent
from truegrade.agents.session import CPU_S, NO_MODELS, AgentModel, of_role, official_tests, packages, role_models
from truegrade.agents.steps import Role, StepLog, visible_problem
from truegrade.errors import ModelError, UserError
from truegrade.models import checked_model, find_preset, open_model, provider_origin, takes_address
from truegrade.models.base import Model, refuse_in_process_only
from truegrade.models.local import ARGUMENT, LocalModel
from truegrade.models.probe import Seen, Style, probe_model, replies
from truegrade.models.replay import CachedModel, cacheable
from truegrade.models.service_model import ServiceModel
from truegrade.pipeline.generate import Budget, PromptSet, complete
from truegrade.profiles import Profile
from truegrade.records import Message, Problem, Prompt, SampleKey
from truegrade.records.config import RequestPolicy, Sampling
from truegrade.registry import Origin
from truegrade.sandbox import Limits, Sandbox
from truegrade.store import Run
from truegrade.store.journal import Notice, ignore
from truegrade.store.manifest import ProbeReport
from truegrade.store.responses import ResponseCache, responses_path

# ---------- `truegrade doctor --model`: the honesty probe of `truegrade.models.probe`, from names, waited for.


_NO_ARGS: Mapping[str, Any] = MappingProxyType({})


def probe(model: Model, *, style: Style = "chat") -> ProbeReport:
    """`truegrade.models.probe.probe_model`, waited for; a model of this process stays open."""
    return complete(probe_model(model, style=style))


def probe_by_name(
    model: str,
    *,
    base_url: str | None = None,
    args: Mapping[str, Any] = _NO_ARGS,
    base_model: str | None = None,
    style: Style = "chat",
    timeout_s: float = 120.0,
) -> ProbeReport:
    """Probe a model; where an adapter is named, also whether it changes what the model says.

    The base model is asked first and let go of before the adapted one is opened: both need not fit into memory.

    Args:
        model: see `truegrade.models.open_model`.
        base_url: the service's address.
        args: model arguments; ``adapter`` is left out for the base model.
        base_model: the model that an adapter was made for, where a service offers the adapter under a name of its
            own; at the same address.
        style: chat messages, or text to continue.
        timeout_s: wall seconds for one request.

    Raises:
        UserError: a name or argument is at fault, or there is nothing to probe.
        ModelError: the service refuses everything, or says nothing.
    """
    where: dict[str, Any] = {"base_url": base_url, "request_policy": RequestPolicy(timeout_s=timeout_s)}
    base: list[Seen] | None = None
    if base_model is not None or args.get(ARGUMENT) is not None:
        plain = {key: value for key, value in args.items() if key != ARGUMENT}
        base = complete(_base_replies(open_model(base_model or model, args=plain, **where), style))
    return complete(_probe_and_close(open_model(model, args=args, **where), style, base))


async def _base_replies(model: Model, style: Style) -> list[Seen]:
    try:
        return await replies(model, style)
    finally:
        await model.close()


async def _probe_and_close(model: Model, style: Style, base: list[Seen] | None) -> ProbeReport:
    try:
        return await probe_model(model, style=style, base=base)
    finally:
        await model.close()


def open_asked(
    model: str | Model,
    base_url: str | None,
    request_policy: RequestPolicy,
    args: Mapping[str, Any],
    problems: Mapping[str, Problem],
) -> Model:
    """Open a model by name; a cost limit on a model without a known price is refused.

    See `truegrade.models.open_model`; the problems are those of the run, which only baselines are given.

    Raises:
        UserError: as `truegrade.models.open_model`, or there is a cost limit and no price.
    """
    if not isinstance(model, str):
        return checked_model(model)
    opened = open_model(model, base_url=base_url, request_policy=request_policy, args=args, problems=problems)
    require_price(opened)
    return opened


def require_price(model: Model) -> None:
    """See that a cost limit can be kept.

    Raises:
        UserError: there is one, and the model's price is not known.
    """
    if model.request_policy.max_cost_usd is not None and getattr(model, "price", "free") is None:
        raise UserError(
            f"`max_cost_usd` needs the price of {model.name}, which is not known; give it in dollars per million"
            " tokens: `model_args` input_price=… `model_args` output_price=…"
        )


def sampling_of(model: str | Model, sampling: Sampling) -> Sampling:
    """The parameters asked for, and a preset's token limit where none was given."""
    preset = find_preset(model) if isinstance(model, str) else None
    if preset is None or sampling.max_tokens is not None:
        return sampling
    return msgspec.structs.replace(sampling, max_tokens=preset.max_tokens)


def check_followed(model: Model, sampling: Sampling, prompts: Iterable[Prompt]) -> None:
    """See, before anything is written or asked, that a model can follow every parameter and take every prompt.

    Raises:
        UserError: as `truegrade.models.base.refuse_in_process_only` or `ServiceModel.check`.
    """
    if isinstance(model, ServiceModel):
        for route in {model.route(prompt) for prompt in prompts}:
            model.check(route, sampling)
    elif not isinstance(model, LocalModel):
        refuse_in_process_only(model.name, sampling)


def probe_for(model: Model, prompt_set: PromptSet, n: int) -> ProbeReport:
    """Look what the model's server honours, before anything of the benchmark is asked.

    Raises:
        UserError: several samples per problem are wanted of a server that ignores the temperature.
        ModelError: the service refuses everything.
    """
    style = prompt_set.items[0][1].style if prompt_set.items else "chat"
    report = probe(model, style=style)
    if n > 1 and report.state("temperature") == "ignored":
        evidence = next(feature.evidence for feature in report.features if feature.name == "temperature")
        raise UserError(
            f"`n` {n}: {model.name} ignores the temperature ({evidence}), so its samples say nothing about pass@k;"
            " ask for one with `n` 1, or serve the model by an engine that honours it"
        )
    return report


def open_role_models(
    agent: Agent | None, request_policy: RequestPolicy, base_url: str | None, model_args: Mapping[str, Any]
) -> dict[Role, Model]:
    """Open the models of an agent's roles that have one of their own.

    Args:
        agent: of the run.
        request_policy: of the run; it bounds each model.
        base_url: where the run's model is served, which is where a role's is unless it has an address of its own.
        model_args: of the run's model, of which a role's at the same address takes ``api_key_env``.

    Raises:
        UserError: as `open_asked`, an address holds a key, or a model has only stored or looked-up answers.
    """
    opened: dict[Role, Model] = {}
    for role, own in ({} if agent is None else role_models(agent)).items():
        if own.name.startswith(("replay:", "baseline/")):
            raise UserError(f"`agent_args` {role}_model={own.name} cannot answer what an agent asks; name a model")
        address = urlsplit(own.base_url or "")
        if address.username or address.password or address.query:
            raise UserError(
                f"`agent_args` {role}_base_url holds a key: it would be stored; use {role}_args"
                " api_key_env, which names a variable"
            )
        at, args = own.base_url, own.args
        if beside := at is None and base_url is not None and takes_address(own.name):
            key = model_args.get("api_key_env")
            at, args = base_url, args if key is None else {"api_key_env": key, **args}
        try:
            opened[role] = open_asked(own.name, at, request_policy, args, {})
        except UserError as error:
            raise error if beside else of_role(role, error) from None
    return opened


def open_agent_for(
    name: str | Agent | None, args: Mapping[str, Any], model: str | Model, variant: str | None
) -> Agent | None:
    """Open an agent by name, or take the one that is handed in; None where none is.

    Raises:
        UserError: it cannot go together with the model or the prompt variant, or an argument is at fault.
    """
    if name is None:
        if args:
            raise UserError(f"`agent_args` {', '.join(args)}: there is no agent to take it; name one with `agent`")
        return None
    if variant is not None:
        raise UserError(f"`task_args` prompt={variant}: agent {name!r} writes its own prompts; leave it out")
    if isinstance(model, str) and model.startswith("replay:"):
        raise UserError(f"{model}: stored answers are complete; leave `agent` {name} out to replay them")
    if not isinstance(name, str):
        if args:
            raise UserError(
                f"`agent_args` {', '.join(args)}: the agent is an object that has its arguments already"
            )
        return name
    return find_agent(name, args).value


def asked_origins(model: str | Model, agent: str | Agent | None, worker: Agent | None) -> dict[str, Origin | None]:
    """Where the providers of a run's models and its agent were found; None for what is built in, or not there.

    Args:
        model: of the run.
        agent: as it was asked for.
        worker: the agent, opened.
    """
    if agent is None or isinstance(agent, str):
        found = None if agent is None else AGENTS.find(agent).origin
    else:
        found = Origin(how="object", name=f"{type(agent).__module__}.{type(agent).__qualname__}")
    roles = {} if worker is None else role_models(worker)
    own = {f"provider of {role}": provider_origin(one.name) for role, one in roles.items()}
    return {"provider": provider_origin(model), "agent": found, **own}


def prompt_rule(agent: Agent | None, profile: Profile, variant: str | None) -> str:
    """Who words the prompts, for the run's configuration."""
    if agent is not None:
        return f"{agent.config.name}@{agent.config.version}/{agent.variant}"
    return f"{profile.prompt_id}/{variant or 'default'}"


@contextmanager
def asker(
    model: Model,
    agent: Agent | None,
    run: Run,
    problems: Mapping[str, Problem],
    *,
    allow_unsafe: bool = False,
    cache: bool | None = None,
    notice: Notice = ignore,
    models: Mapping[Role, Model] = NO_MODELS,
) -> Iterator[Model]:
    """What `generate` asks; cache, or an agent's jail and journal, are closed behind the block.

    Args:
        model: the model in question.
        agent: works between the run and the model; None to ask the model directly.
        run: whose steps are gone on with.
        problems: what is asked, by id; an agent is told the visible part of each, a model nothing of it. One that
            declares it (`AgentInfo.sees_official_tests`) may also run the tests.
        allow_unsafe: as for `truegrade.pipeline.grade.grade_run`.
        cache: see `truegrade.models.replay.cacheable`. An agent's questions are never cached: it may put one
            several times in a sample, and its steps are on disk already.
        notice: told when a torn line was dropped, and how much came from the cache.
        models: of an agent's roles that have one of their own.
    """
    if agent is None:
        with _before(model, run, cache, notice) as answering:
            yield answering
        return
    answered: set[SampleKey] = set()
    accounted: Counter[SampleKey] = Counter()
    for facts in run.completion_facts():
        accounted[facts.key] += len(facts.attempts)
        if facts.answered:
            answered.add(facts.key)
    log = StepLog(run.path, answered=answered, accounted=accounted, notice=notice)
    try:
        wanted = sorted({name for problem in problems.values() for name in problem.packages})
        names = dict.fromkeys((*Limits().packages, *packages(agent), *wanted))
        limits = Limits(cpu_s=CPU_S, packages=tuple(names))
        with Sandbox(limits, allow_unsafe=allow_unsafe) as sandbox:
            visible = {id_: visible_problem(problem) for id_, problem in problems.items()}
            tests = official_tests(agent, problems)
            yield AgentModel(agent, model, sandbox, log, visible, tests, models)
    finally:
        log.close()


@contextmanager
def _before(model: Model, run: Run, cache: bool | None, notice: Notice) -> Iterator[Model]:
    """The model, behind the response cache where that is wanted and possible."""
    if not cacheable(model, cache):
        yield model
        return
    config = run.manifest.generation
    with closing(ResponseCache(responses_path(), notice=notice)) as responses:
        cached = CachedModel(model, responses, config.model_args if config else {})
        try:
            yield cached
        finally:
            if cached.found:
                notice(
                    f"{cached.found} replies come from the response cache (asked since {cached.oldest}) and cost"
                    " nothing; for another draw give `cache=False` or another `seed`"
                )


# -------------------------- Put single questions to a model, outside any benchmark: for builders of data sets.
# A model's back end lives on one event loop; it is kept here in a thread, so that plain functions in several
# threads may ask.


class Asker:
    """A context manager whose `ask` takes a question and returns the reply's text.

    Args:
        model: closed at the end.
        sampling: parameters of every request.
    """

    def __init__(self, model: Model, sampling: Sampling) -> None:
        self._model, self._sampling = model, sampling
        self._budget = Budget(model.request_policy.max_cost_usd)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="asker", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        asyncio.run_coroutine_threadsafe(self._model.close(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def ask(self, question: str) -> str:
        """The text that the model answers.

        Raises:
            ModelError: the service failed after all attempts, or the money is spent.
        """
        if self._budget.exhausted:
            raise ModelError("the cost limit is reached; the same command continues with a higher `max_cost_usd`")
        prompt = Prompt(messages=(Message(role="user", content=question),), source="ours")
        answering = self._model.generate(prompt, self._sampling)
        reply = asyncio.run_coroutine_threadsafe(answering, self._loop).result()
        self._budget.spend(reply.cost_usd)
        if reply.text is None:
            why = next((attempt.error for attempt in reversed(reply.attempts) if attempt.error), "no reason given")
            raise ModelError(f"{self._model.name} gave no answer: {why}; the same command resumes")
        return reply.text
