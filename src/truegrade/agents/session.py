"""One sample of an agent: it asks the model, remembers every step, and adds up what they took."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

import msgspec

from truegrade.agents.self_tests import parse_tests
from truegrade.agents.steps import AskedStep, Role, SettledStep, Step, StepLog, TriedStep
from truegrade.agents.visible import VisibleProblem
from truegrade.errors import BadRecord
from truegrade.grading.executor import Executor
from truegrade.grading.pytest_runs import PytestRun
from truegrade.models.base import Model, Reply, generate_sample
from truegrade.records import Attempt, Prompt, SampleKey, Usage
from truegrade.records.config import Sampling

OfficialTests = Callable[[str, Executor], PytestRun]
"""Runs the data set's own tests of one problem on a program."""


NO_MODELS: Mapping[Role, Model] = MappingProxyType({})


class BudgetSpent(Exception):
    """No further request may start; the sample stays unanswered and goes on with the next command."""


class Session:
    """What an agent works with while it answers one sample.

    Stored steps are given back instead of asked again: every reply, and every failure of a concluded round.

    Args:
        sample: 0-based number of the sample.
        problem: what the agent may know of the problem.
        prompt: what the run says the problem was asked with: the programmer's first prompt.
        sampling: parameters of the run; the seed is already the sample's own.
        model: the model in question.
        models: of roles that have another one.
        log: the run's steps.
        official_tests: for an agent that says that it shows their output (`AgentInfo.sees_official_tests`).
    """

    def __init__(
        self,
        sample: int,
        problem: VisibleProblem,
        prompt: Prompt,
        sampling: Sampling,
        *,
        model: Model,
        log: StepLog,
        models: Mapping[Role, Model] = NO_MODELS,
        official_tests: OfficialTests | None = None,
    ) -> None:
        self.official_tests = official_tests
        self.sample, self.problem, self.first = sample, problem, prompt
        self._sampling, self._model, self._log = sampling, model, log
        self._models = models
        self._key = SampleKey(problem.id, sample)
        steps, self._accounted = log.take(self._key)
        self._asked: list[AskedStep] = []
        self._replies: dict[tuple[int, Role, int], AskedStep] = {}
        self._tried: dict[int, TriedStep] = {}
        self._settled: SettledStep | None = None
        self._shown: set[str] = set()
        for step in steps:
            self._remember(step)

    async def ask(self, agent: Role, round_: int, index: int, prompt: Prompt) -> AskedStep:
        """The reply to a prompt, from the store or from the model. A failure is a reply without text.

        Raises:
            BudgetSpent: the cost limit is reached.
            BadRecord: the stored step was asked with other words.
            ModelError, UserError: see `truegrade.models.base.Model`.
        """
        stored = self._replies.get((round_, agent, index))
        if stored is not None and (stored.reply.text is not None or round_ in self._tried):
            if stored.prompt_sha256 != prompt.sha256:
                problem = (
                    f"{self._key.problem_id} sample {self._key.sample}, round {round_}: the {agent} was asked with"
                    " other words than this version uses; choose another `out`"
                )
                raise BadRecord(self._log.path, problem, field="prompt_sha256")
            return stored
        limit_usd = self._model.request_policy.max_cost_usd
        if limit_usd is not None and self._log.spent_usd >= limit_usd:
            raise BudgetSpent
        sampling = _own_seed(self._sampling, agent, round_, index)
        reply = await generate_sample(self._models.get(agent, self._model), self._key, prompt, sampling)
        messages = () if prompt.sha256 in self._shown else prompt.messages
        asked = AskedStep(
            agent=agent,
            index=index,
            prompt_sha256=prompt.sha256,
            messages=messages,
            seed=sampling.seed,
            reply=reply,
            tests=self._tests(agent, reply),
        )
        self._store(round_, asked)
        return asked

    def tried(self, round_: int) -> TriedStep | None:
        """How a round ended, if it is stored."""
        return self._tried.get(round_)

    def conclude(self, round_: int, tried: TriedStep) -> None:
        """Store how a round ended."""
        self._store(round_, tried)

    def settle(self, settled: SettledStep, answer: AskedStep) -> Reply:
        """Store what is handed in and make the pipeline's reply of it."""
        if settled != self._settled:
            self._store(settled.round, settled)
        replies = [asked.reply for asked in self._asked]
        latencies_s = [reply.latency_s for reply in replies if reply.latency_s is not None]
        attempts, cost_usd = self._news()
        return msgspec.structs.replace(
            answer.reply,
            usage=total_usage([reply.usage for reply in replies if reply.usage is not None]),
            latency_s=sum(latencies_s) if latencies_s else None,
            attempts=attempts,
            cost_usd=cost_usd,
        )

    def give_up(self) -> Reply:
        """The reply without text of a sample that could not be finished."""
        name = self._asked[-1].reply.model if self._asked else self._model.name
        attempts, cost_usd = self._news()
        return Reply(text=None, model=name, attempts=attempts, cost_usd=cost_usd)

    def _tests(self, agent: Role, reply: Reply) -> tuple[str, ...]:
        return parse_tests(reply.text or "", self.problem.entry_point) if agent == "tester" else ()

    def _store(self, round_: int, did: AskedStep | TriedStep | SettledStep) -> None:
        step = Step(problem_id=self._key.problem_id, sample=self._key.sample, round=round_, did=did)
        self._log.append(step)
        self._remember(step)

    def _remember(self, step: Step) -> None:
        match step.did:
            case AskedStep() as asked:
                self._asked.append(asked)
                self._replies[step.round, asked.agent, asked.index] = asked
                self._shown.add(asked.prompt_sha256)
            case TriedStep() as tried:
                self._tried[step.round] = tried
            case SettledStep() as settled:
                self._settled = settled

    def _news(self) -> tuple[tuple[Attempt, ...], float | None]:
        """Attempts and their cost that no stored completion of this sample tells of yet."""
        news: list[Reply] = []
        passed_over = self._accounted
        for asked in self._asked:
            if passed_over > 0:
                passed_over -= len(asked.reply.attempts)
            else:
                news.append(asked.reply)
        costs_usd = [reply.cost_usd for reply in news if reply.cost_usd is not None]
        cost_usd = sum(costs_usd) if len(costs_usd) == len(news) else None
        return tuple(attempt for reply in news for attempt in reply.attempts), cost_usd


def total_usage(parts: Sequence[Usage]) -> Usage | None:
    """Tokens of several requests together; None if none is known."""
    if not parts:
        return None
    reasoning = [part.reasoning_tokens for part in parts if part.reasoning_tokens is not None]
    return Usage(
        input_tokens=sum(part.input_tokens for part in parts),
        output_tokens=sum(part.output_tokens for part in parts),
        reasoning_tokens=sum(reasoning) if reasoning else None,
    )


def _own_seed(sampling: Sampling, agent: Role, round_: int, index: int) -> Sampling:
    """Each question of a sample has a seed of its own, else all candidates would be one."""
    if sampling.seed is None:
        return sampling
    digest = hashlib.sha256(f"{sampling.seed}/{agent}/{round_}/{index}".encode()).digest()
    return msgspec.structs.replace(sampling, seed=int.from_bytes(digest[:4], "big") >> 1)
