"""Sandboxes for all these tests, at the level this machine offers.

What must not end by a limit has seconds to spare, since a busy machine takes many times as long, in CPU time too;
what must end by one has a shorter one of its own.
"""

from dataclasses import replace
from pathlib import Path

import pytest

from truegrade.sandbox import Limits, Sandbox
from truegrade.sandbox.limits import MIB

LIMITS = Limits(cpu_s=15, wall_s=90, memory_bytes=512 * MIB, output_bytes=4 * MIB)


@pytest.fixture(scope="session")
def sandbox():
    with Sandbox(LIMITS, workers=2, allow_unsafe=True) as opened:
        yield opened


@pytest.fixture(scope="session")
def crowd():
    """A sandbox whose programs may start processes."""
    with Sandbox(replace(LIMITS, processes=32), workers=1, allow_unsafe=True) as opened:
        yield opened


@pytest.fixture
def processes_named():
    """Number the machine's live processes that have given themselves a name."""

    def named(name):
        found = []
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                if (folder / "comm").read_text().strip() == name and _state(folder) != "Z":
                    found.append(int(folder.name))
            except OSError:
                continue
        return found

    return named


def _state(folder):
    return (folder / "stat").read_text().rpartition(")")[2].split()[0]


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
    """Assert that the run was over soon after its limit: what sleeps would do so for a minute."""

    def check(outcome):
        assert outcome.wall_s < 45, outcome
        return outcome

    return check
