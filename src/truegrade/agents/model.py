"""The faces that an agent shows the pipeline: it words problems like a profile and answers like a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from truegrade.agents.session import NO_MODELS, Agent, OfficialTests, Session
from truegrade.agents.steps import Role, StepLog, VisibleProblem, prompt_tests, visible_problem
from truegrade.grading.executor import Executor
from truegrade.models.base import Model, Reply, no_sample
from truegrade.records import Problem, Prompt, SampleKey
from truegrade.records.config import RequestPolicy, Sampling


class AgentPrompts:
    """Words problems as an agent does, which is told of each what it may know."""

    def __init__(self, agent: Agent) -> None:
        self._agent = agent

    @property
    def scores_shots(self) -> Sequence[str]:
        """Benchmarks whose problems count although a prompt shows them solved."""
        return self._agent.scores_shots

    def render_prompt(self, problem: Problem, variant: str | None, examples: Mapping[str, Problem]) -> Prompt:
        """The first question on a problem; see `Agent.render_prompt`."""
        return self._agent.render_prompt(visible_problem(problem), prompt_tests(problem))


class AgentModel:
    """An agent in front of a model, for one run.

    Args:
        agent: what to do.
        model: whom to ask; its request policy bounds every request, its cost limit the run.
        executor: runs the agent's programs and tests.
        log: the run's steps; the caller closes it.
        problems: what the agent may know of each problem of the run, by id.
        models: of roles that have another model than the run's; its `RequestPolicy` bounds theirs.
        official_tests: what runs the tests of each, for an agent that shows their output; else None.
    """

    def __init__(
        self,
        agent: Agent,
        model: Model,
        executor: Executor,
        log: StepLog,
        problems: Mapping[str, VisibleProblem],
        official_tests: Mapping[str, OfficialTests] | None = None,
        models: Mapping[Role, Model] = NO_MODELS,
    ) -> None:
        self._agent, self._model, self._executor, self._log = agent, model, executor, log
        self._problems, self._official_tests, self._models = problems, official_tests or {}, models

    @property
    def name(self) -> str:
        """The model's ``provider/name``."""
        return self._model.name

    @property
    def base_url(self) -> str | None:
        """Where the model is served."""
        return self._model.base_url

    @property
    def request_policy(self) -> RequestPolicy:
        """The model's; ``max_connections`` samples are worked on at once, each with one request at a time."""
        return self._model.request_policy

    @property
    def adaptations(self) -> tuple[str, ...]:
        """Parameters that the model's service did not take as asked."""
        return tuple(
            said for model in (self._model, *self._models.values()) for said in getattr(model, "adaptations", ())
        )

    async def generate(self, prompt: Prompt, sampling: Sampling) -> Reply:
        """Refuse: an agent works on a problem.

        Raises:
            UserError: always.
        """
        raise no_sample(f"{self.name} behind an agent")

    async def generate_sample(self, key: SampleKey, prompt: Prompt, sampling: Sampling) -> Reply:
        """One sample of the agent: its answer, with the accounts of all its steps."""
        problem = self._problems[key.problem_id]
        tests = self._official_tests.get(key.problem_id)
        session = Session(
            key.sample, problem, prompt, sampling,
            model=self._model, models=self._models, log=self._log, official_tests=tests,
        )  # fmt: skip
        return await self._agent.answer(session, self._executor)

    async def close(self) -> None:
        """Release the connections of the models."""
        for model in (self._model, *self._models.values()):
            await model.close()
