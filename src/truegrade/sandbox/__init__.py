"""Runs untrusted Python.

Protection levels, of which this version has the first:

3   namespaces, Landlock and seccomp;
2   Landlock and seccomp, for containers that forbid namespaces;
1   rlimits only: a fresh process per run, with limits, an environment, a session and a directory of its own.

At every level no expected value is ever in the program's process (``call``, ``judge``), outcomes come from
messages and clocks rather than exit codes, and everything started is killed at the end. At level 1 a hostile
program can still reach the network, the user's files and the user's other processes, the tests' process
included, and leave a daemon behind; do not run it as root.
"""

from truegrade.sandbox.limits import Limits
from truegrade.sandbox.outcome import CallResult, Outcome, ProgramOutcome
from truegrade.sandbox.pool import Sandbox, run_program
from truegrade.sandbox.values import Digest, Drained, Unsupported

__all__ = [
    "CallResult",
    "Digest",
    "Drained",
    "Limits",
    "Outcome",
    "ProgramOutcome",
    "Sandbox",
    "Unsupported",
    "run_program",
]
