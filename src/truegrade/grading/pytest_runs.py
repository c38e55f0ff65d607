"""A suite of tests run by pytest as a project runs it: tests and program in one folder and one process.

What pytest prints is what a person, or a model between two tries, would read. The process is judged by its exit
code, so a program that leaves early with 0 passes: only for harnesses that do so.
"""

from __future__ import annotations

from importlib.util import find_spec

import msgspec

from truegrade.errors import UserError
from truegrade.grading.executor import Executor
from truegrade.records import SuiteTask
from truegrade.sandbox.outcome import Outcome

PACKAGES = ("pytest",)
"""What the jail must let the program import (`truegrade.sandbox.Limits.packages`)."""

_RUN = """\
import os, sys
os.dup2(1, 2)
sys.stdout.reconfigure(line_buffering=True)
os.mkdir({folder!r})
os.chdir({folder!r})
print(os.getcwd(), flush=True)
for path, text in {files!r}.items():
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(path, "w", encoding="utf-8", newline="") as file:
        file.write(text)
import pytest
sys.exit(pytest.main([]))
"""


class PytestRun(msgspec.Struct, frozen=True, kw_only=True):
    """What running the tests gave."""

    outcome: Outcome
    output: str
    """What pytest wrote to its two streams, which are one here, with the folder's name in place of its path; if it
    wrote nothing, how the process ended."""

    @property
    def passed(self) -> bool:
        """Whether the process ended with exit code 0."""
        return self.outcome.exit_code == 0 and self.outcome.status == "passed"


def run_pytest(
    task: SuiteTask, program: str, executor: Executor, *, folder: str, cpu_s: float, wall_s: float
) -> PytestRun:
    """Run ``pytest`` without arguments in a folder that holds the program, the tests and the task's files.

    No plug-in is loaded but pytest's own. The tests are ``MODULE_test.py``, written last, so that no file of the
    same name replaces them.

    Args:
        task: its ``module`` is not empty.
        program: source of that module.
        executor: its limits must let the program import `PACKAGES`.
        folder: name of the folder.
        cpu_s: CPU seconds of the whole run.
        wall_s: wall seconds of the whole run.

    Raises:
        UserError: pytest is not installed, or the task names no module.
        SandboxError: the machinery failed.
    """
    if find_spec("pytest") is None:
        raise UserError("pytest, which runs these tests, is not installed here: `pip install pytest`")
    if not task.module:
        raise UserError("these tests do not import the program by a name, so pytest cannot run them in a folder")
    files = {f"{task.module}.py": program, **task.files, f"{task.module}_test.py": task.tests}
    source = _RUN.format(files=files, folder=folder)
    outcome = executor.script(source, cpu_s=cpu_s, wall_s=wall_s)
    path, _, written = outcome.stdout.partition("\n")
    written += outcome.stderr
    output = written.replace(path, folder) if path else written
    return PytestRun(outcome=outcome, output=output or outcome.detail)
