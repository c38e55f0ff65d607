"""Agents by name: they call a model in several steps."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from truegrade.errors import UserError
from truegrade.registry import Found, Registry, lacking

if TYPE_CHECKING:
    from truegrade.agents.session import Agent, AgentInfo

__all__ = ["AGENTS", "REGISTRY", "Agent", "AgentInfo", "find_agent", "open_agent"]

AGENTS: Mapping[str, str] = MappingProxyType(
    {
        "agentcoder": "truegrade.agents.agentcoder:AgentCoder",
        "explain": "truegrade.agents.explain:Explain",
        "self-repair": "truegrade.agents.self_repair:SelfRepair",
    }
)
"""Built-in agents: name to ``module:class``; the class takes the arguments (``-A``), ``info`` says what it is."""

REMOVED: Mapping[str, str] = MappingProxyType({"aider": "64dee114"})
"""What earlier versions had, each with the last commit that has it."""


def __getattr__(name: str) -> Any:
    """Import on first use: every summary has a place for an agent, and few runs have one."""
    if name in ("Agent", "AgentInfo"):
        return getattr(import_module("truegrade.agents.session"), name)
    raise AttributeError(f"module 'truegrade.agents' has no attribute {name!r}")


_MEMBERS = ("config", "variant", "label", "scores_shots", "render_prompt", "answer")


def _fault(thing: Any) -> str | None:
    """What keeps a class from being an agent's; what its objects have besides is looked at when one is opened."""
    from truegrade.agents.session import AgentInfo

    missing = lacking(thing, ("info", "render_prompt", "answer"))
    if missing is None and not isinstance(thing.info, AgentInfo):
        return "says in info what is no truegrade.agents.AgentInfo"
    return None if missing is None else f"{missing}, which every agent has: truegrade.agents.session.Agent"


REGISTRY = Registry[Any](
    "agent", AGENTS, _fault, named=lambda made: getattr(getattr(made, "info", None), "name", None), removed=REMOVED
)


def open_agent(name: str, args: Mapping[str, Any]) -> Agent:
    """A built-in or installed agent with its arguments, values already parsed.

    Raises:
        UnknownName: no such agent or argument.
        UserError: an argument does not fit.
    """
    agent: Agent = REGISTRY.known(name).value(args)
    return agent


def find_agent(given: str, args: Mapping[str, Any]) -> Found[Agent]:
    """The agent that the user means, by name or in a file: see `truegrade.registry.Registry.find`.

    Raises:
        UnknownName, UserError: as `open_agent`, or a file or package is at fault.
    """
    found = REGISTRY.find(given)
    agent = found.value(args)
    if (fault := lacking(agent, _MEMBERS)) is not None:
        raise UserError(f"agent {found.name!r} {fault}, which every agent has: truegrade.agents.session.Agent")
    return Found(found.name, agent, found.origin)
