"""The model's face of an agent: the pipeline asks it like any other model."""

from __future__ import annotations

from truegrade.agents.base import Agent
from truegrade.agents.session import Session
from truegrade.agents.steps import StepLog
from truegrade.grading.executor import Executor
from truegrade.models.base import Model, Reply, Request
from truegrade.records.config import Patience


class AgentModel:
    """An agent in front of a model, for one run.

    Args:
        agent: what to do.
        model: whom to ask; its patience bounds every request, its cost limit the run.
        executor: runs the agent's programs and tests.
        log: the run's steps; the caller closes it.
    """

    def __init__(self, agent: Agent, model: Model, executor: Executor, log: StepLog) -> None:
        self._agent, self._model, self._executor, self._log = agent, model, executor, log

    @property
    def name(self) -> str:
        """The model's ``provider/name``."""
        return self._model.name

    @property
    def base_url(self) -> str | None:
        """Where the model is served."""
        return self._model.base_url

    @property
    def patience(self) -> Patience:
        """The model's; ``max_connections`` samples are worked on at once, each with one request at a time."""
        return self._model.patience

    @property
    def adaptations(self) -> tuple[str, ...]:
        """Parameters that the model's service did not take as asked."""
        return tuple(getattr(self._model, "adaptations", ()))

    async def generate(self, request: Request) -> Reply:
        """One sample of the agent: its answer, with the accounts of all its steps."""
        return await self._agent.answer(Session(request, self._model, self._log), self._executor)

    async def close(self) -> None:
        """Release the model's connections."""
        await self._model.close()
