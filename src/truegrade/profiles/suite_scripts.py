"""Runs suites of unit tests as published harnesses do, in the program's own process, and reads their report."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from truegrade.grading.executor import Executor
from truegrade.grading.functions import TESTS_INSIDE
from truegrade.grading.judgement import Judgement, from_outcome
from truegrade.records import Reason
from truegrade.sandbox.outcome import Outcome

REPORT = "suite report: "
"""Begins the line, the last of stdout, that holds what became of the tests as JSON."""
CLOCK = """import json, os, signal, sys
class TimedOut(BaseException):
    pass
def expired(number, frame):
    raise TimedOut("over the time limit of the test")
signal.signal(signal.SIGPROF, expired)
signal.signal(signal.SIGALRM, expired)
def clock(seconds, again=0):
    signal.setitimer(signal.ITIMER_PROF, seconds, again)
    signal.setitimer(signal.ITIMER_REAL, 3 * seconds + 5 if seconds else 0, again)
REAL_OUT, REAL_EXIT = os.dup(1), os._exit
def report(found):
    os.write(REAL_OUT, ("\\nsuite report: " + json.dumps(found) + "\\n").encode())
    REAL_EXIT(0)
JOB = json.load(sys.stdin)
for path, text in JOB["files"].items():
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
sys.path.insert(0, os.getcwd())
"""
"""Head of a script: a limit of CPU time, thrice that and 5 s of wall time, that raises where the program runs."""


class Script(msgspec.Struct, frozen=True, kw_only=True):
    """A run of a suite."""

    source: str
    """What runs the tests and reports; `CLOCK` stands before it."""
    files: dict[str, str]
    """Program and tests, by name."""
    job: dict[str, Any] = {}
    """What the source needs besides, JSON values."""
    cpu_s: float
    """CPU seconds of the whole run."""


def run_script(script: Script, executor: Executor) -> tuple[Outcome, Any]:
    """Run a suite.

    Returns:
        How the process ended, and what it reported; None where it did not come to that.
    """
    job = json.dumps({"files": script.files, **script.job})
    outcome = executor.script(CLOCK + script.source, job, cpu_s=script.cpu_s)
    _, found, said = outcome.stdout.rpartition(REPORT)
    try:
        return outcome, json.loads(said) if found else None
    except (ValueError, RecursionError):  # the program wrote into it
        return outcome, None


def unreported(outcome: Outcome) -> Judgement:
    """The judgement of a program whose suite never reported: it ended the process, or a limit did."""
    if outcome.status != Reason.PASSED:
        return from_outcome(outcome, marks=(TESTS_INSIDE,))
    return Judgement(
        reason=Reason.RUNTIME_ERROR,
        detail="the program ended the process before its tests had ended",
        cpu_s=outcome.cpu_s,
        wall_s=outcome.wall_s,
        marks=(TESTS_INSIDE,),
    )
