"""Runs of an agent against a scripted service."""

from __future__ import annotations

from contextlib import contextmanager

import pytest

import truegrade
from support import scripted_agents as agents
from support import scripted_server as scripted
from truegrade.agents.steps import read_steps
from truegrade.records.config import RequestPolicy

REQUEST_POLICY = RequestPolicy(max_connections=1, max_attempts=2, backoff_s=0.01, backoff_max_s=0.02, timeout_s=20)


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path, monkeypatch, humaneval_file):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TRUEGRADE_DATA", str(humaneval_file.parent))


@pytest.fixture
def play():
    """Run AgentCoder against ``programmer`` and ``tester``; gives the run and what was asked of them.

    HumanEval/53 is ``add(x, y)``, HumanEval/23 is ``strlen(string)``.
    """

    def run(
        programmer,
        tester,
        *,
        benchmark="humaneval",
        ids=("HumanEval/53",),
        request_policy=REQUEST_POLICY,
        **options,
    ):
        played = agents.Agents(programmer, tester)
        agent_args = options.pop("agent_args", {})
        with scripted.scripted_server(played) as server:
            made = truegrade.run(
                benchmark, model="openai-compatible/m", base_url=server.url, ids=ids, agent="agentcoder",
                agent_args=agent_args, request_policy=request_policy, out=options.pop("out", "run"), **options,
            )  # fmt: skip
        return made, played

    return run


@pytest.fixture
def steps():
    """The steps of a run of one kind: ``asked``, ``tried`` or ``settled``."""

    def of_kind(run, kind):
        return [step.did for step in read_steps(run.path) if type(step.did).__struct_config__.tag == kind]

    return of_kind


@pytest.fixture
def serving():
    """A service of both agents that outlives a run: (server, agents)."""

    @contextmanager
    def serve(programmer, tester):
        played = agents.Agents(programmer, tester)
        with scripted.scripted_server(played) as server:
            yield server, played

    return serve
