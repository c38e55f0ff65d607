"""Agents by name, in one table: multi-step askers with a model's face."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from truegrade.agents.base import Agent, AgentInfo
from truegrade.errors import UnknownName

__all__ = ["NAMES", "Agent", "AgentInfo", "list_agents", "open_agent"]

NAMES = ("agentcoder", "self-repair")


def open_agent(name: str, args: Mapping[str, Any]) -> Agent:
    """An agent with its arguments, values already parsed.

    Raises:
        UnknownName: no such agent or argument.
        UserError: an argument does not fit.
    """
    from truegrade.agents.agentcoder import AgentCoder
    from truegrade.agents.self_repair import SelfRepair

    if name not in NAMES:
        raise UnknownName("agent", name, NAMES, "`truegrade agents` explains them")
    return AgentCoder(args) if name == "agentcoder" else SelfRepair(args)


def list_agents() -> list[AgentInfo]:
    """What ``truegrade agents`` prints."""
    from truegrade.agents import agentcoder, self_repair

    return [agentcoder.INFO, self_repair.INFO]
