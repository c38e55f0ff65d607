"""One sandbox with small limits for all these tests."""

import pytest

from truegrade.sandbox import Limits, Sandbox
from truegrade.sandbox.limits import MIB

LIMITS = Limits(cpu_s=1, wall_s=3, memory_bytes=512 * MIB, output_bytes=4 * MIB)
MARGIN_S = 2.5


@pytest.fixture(scope="session")
def sandbox():
    with Sandbox(LIMITS, workers=2) as opened:
        yield opened


@pytest.fixture
def outputs(sandbox):
    """Run a program's ``f`` on argument tuples: the outcome and what was answered."""

    def run(program, *calls, function="f"):
        results = []
        outcome = sandbox.call(program, function, calls, lambda _, result: results.append(result) or True)
        return outcome, results

    return run


@pytest.fixture
def judged(sandbox):
    """Judge a program that must define ``f``."""

    def run(program, tests, **more):
        return sandbox.judge(program, tests, ["f"], **more)

    return run


@pytest.fixture
def in_time():
    """Assert that the run was over soon after its limit."""

    def check(outcome):
        assert outcome.wall_s <= LIMITS.wall_backstop_s * 1.1 + MARGIN_S, outcome
        return outcome

    return check
