"""Grading of programming-contest problems: the published graders, reproduced inside the jail, and our own rules.

`tests` decodes what programs are graded by. `driver`, `prime`, `worlds` and `output_comparison` run beside a
program; `inside` makes one source of them, `harness` sends it to the sandbox and turns what comes back into the
harness' own results, metadata and our verdict. `sandboxed` is EvalScope's container path. `separate` is ours: a
process for every test, comparison outside.
"""

from __future__ import annotations

from typing import NotRequired, TypedDict

# ----------------------------------------------------------------------------------------------------------------
# In what the variants of the published contest grader differ; told to `driver`, which runs beside a program.


class Rules(TypedDict):
    """One variant."""

    world: str
    """See `truegrade.grading.contests.worlds`."""
    timeout_s: float
    whole_seconds: bool
    announces_alarm: bool
    int_digits: int
    faulthandler: bool
    disabled: list[str]
    """Names set to None first: ``os.kill``, ``sys.modules:psutil``."""
    preload: list[str]
    """Modules that the grader has imported before that."""
    forked: bool
    """Whether its process inherits what the parent's `tempfile` has found out, which the guard would hide."""
    module: str
    """Under what name a program can import the grader."""
    preamble: NotRequired[str]
    """What stands in front of every program, where it is not LiveCodeBench's. Packages are imported as
    ``import NAME as ALIAS``, and only where the program names one of both."""
    close: NotRequired[bool]
    """Whether returned values that are the same as JSON, or close as numbers, are right."""
    prime: NotRequired[bool]
    """Whether `prime` grades, the older form of the grader, with an alarm that nobody handles."""
