"""The data set's own tests, for an agent that declares that it shows their output to the model.

Such an agent is handed a function that runs them, never their source; what they print names expected values.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from truegrade.agents.base import Agent, sees_official_tests
from truegrade.agents.session import OfficialTests
from truegrade.grading.executor import Executor
from truegrade.grading.pytest_runs import PACKAGES, PytestRun
from truegrade.profiles.aider_whole import run_tests
from truegrade.records import Problem, SuiteTask


def official_tests(agent: Agent, problems: Mapping[str, Problem]) -> dict[str, OfficialTests]:
    """What runs the tests of each problem that pytest can run; nothing for an agent that does not declare it."""
    if not sees_official_tests(agent):
        return {}
    suites = {id_: problem for id_, problem in problems.items() if isinstance(problem.task, SuiteTask)}
    return {id_: partial(_run, problem) for id_, problem in suites.items()}


def packages(agent: Agent) -> tuple[str, ...]:
    """What the agent's jail lets programs import besides what every jail does."""
    return PACKAGES if sees_official_tests(agent) else ()


def _run(problem: Problem, program: str, executor: Executor) -> PytestRun:
    return run_tests(problem, program, executor)
