"""Running untrusted Python within limits; knows nothing of problems.

A warm interpreter per worker, the zygote, is shut in once and forks one process per program; the tests run in a
fork of another, which never runs a program. Where nothing is imported that is not loaded yet, a run costs a fork.

Protection levels, found out at the start and proved by a program that tries to get out (`levels`, `selftest`):

3   namespaces made by bubblewrap, Landlock, a filter of system calls: the program sees a read-only tree of what
    Python needs, a scratch of bounded size, and no network, user or process of this machine;
2   Landlock and the filter, for containers that forbid namespaces: the same but for the number of files in the
    scratch, its total size, and what lies outside the file system, such as the machine's name;
1   limits of resources only, everywhere else: a hostile program can reach the network, the user's files and the
    user's processes, the tests' process included. `Sandbox` refuses unless told to ``allow_unsafe``.

At every level no expected value is ever in the program's process (``call``, ``judge``), outcomes come from
messages and clocks rather than exit codes, and everything a program started or wrote is gone when its run returns.

Not covered at any level: faults of the kernel, and channels of timing between programs that run at the same time.
"""

from truegrade.sandbox.limits import GraderNeeds, Limits
from truegrade.sandbox.outcome import CallResult, Outcome
from truegrade.sandbox.pool import Sandbox, run_program
from truegrade.sandbox.wire import Digest, Drained, Unsupported

__all__ = [
    "CallResult",
    "Digest",
    "Drained",
    "GraderNeeds",
    "Limits",
    "Outcome",
    "Sandbox",
    "Unsupported",
    "run_program",
]
