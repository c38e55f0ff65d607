"""What an agent is: a multi-step asker that the pipeline takes for a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import msgspec

from truegrade.agents.session import Session
from truegrade.agents.steps import Role
from truegrade.agents.visible import VisibleProblem
from truegrade.grading.executor import Executor
from truegrade.models.base import Reply
from truegrade.records import Prompt
from truegrade.records.config import AgentConfig


class AgentRule(msgspec.Struct, frozen=True):
    """One rule of an agent and where it is written."""

    text: str
    source: str
    """Repository path at a version, an arXiv number, or ``ours``."""


class AgentInfo(msgspec.Struct, frozen=True, kw_only=True):
    """An agent as ``truegrade agents`` lists it."""

    name: str
    version: str
    summary: str
    covers: tuple[str, ...]
    """Names of the benchmarks it can work on."""
    args: dict[str, str]
    """Arguments (``-A``), each with its meaning."""
    defaults: dict[str, dict[str, object]]
    """Defaults of the arguments, by variant."""
    rules: tuple[AgentRule, ...]
    sees_official_tests: bool = False
    """Whether it is given a way to run the data set's own tests and to read what they print, expected values
    included; no agent is given the tests themselves."""


class RoleModel(NamedTuple):
    """The model of one role, where it is another than the run's; arguments as of `truegrade.models.open_model`."""

    name: str
    base_url: str | None
    args: Mapping[str, Any]


class Agent(Protocol):
    """An agent with its settings; it holds no state between samples."""

    @property
    def config(self) -> AgentConfig:
        """Name, version and all arguments: part of the run's identity."""

    @property
    def variant(self) -> str:
        """Which of its ways of working."""

    @property
    def label(self) -> str:
        """What a pass rate of this agent is, in words that keep it from being taken for the model's pass@1."""

    @property
    def scores_shots(self) -> tuple[str, ...]:
        """Benchmarks whose problems count although a prompt shows them solved."""

    def render_prompt(self, problem: VisibleProblem, shown_tests: Sequence[str]) -> Prompt:
        """The first question on a problem.

        Args:
            problem: what the agent may know of it.
            shown_tests: those of the data set's tests that a prompt may show; nobody sees them later.

        Raises:
            UserError: the agent does not know this kind of problem.
        """

    async def answer(self, session: Session, executor: Executor) -> Reply:
        """Work on one sample until there is an answer. A Reply without text could not be finished."""


def sees_official_tests(agent: Agent) -> bool:
    """Whether an agent declares that it runs the data set's own tests and shows what they print."""
    info = getattr(agent, "info", None)
    return isinstance(info, AgentInfo) and info.sees_official_tests


def role_models(agent: Agent) -> Mapping[Role, RoleModel]:
    """The roles of an agent that have a model of their own, as it says in ``models``; mostly none."""
    models: Mapping[Role, RoleModel] = getattr(agent, "models", {})
    return models
