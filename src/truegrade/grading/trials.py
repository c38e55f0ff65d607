"""Tests that run one by one, suites that pytest runs as a project does, and a function called as a script."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec

from truegrade.errors import UserError
from truegrade.files.extras import require
from truegrade.grading.contests.driver import import_string
from truegrade.grading.executor import Executor
from truegrade.grading.functions import grade_by_tests
from truegrade.grading.judgement import Judgement, TestCount, shortened
from truegrade.grading.programs import assemble
from truegrade.records import Answer, FunctionTask, Reason, SuiteTask
from truegrade.sandbox.outcome import Outcome

# ----------------------------------------------------------------------------------------------------------------
# Tests that are run one by one, each with an outcome of its own: the verdict on all of them, and their number.

Failure = tuple[Reason, str]
Trial = tuple[Outcome, Failure | None]
"""A test's run, and why it failed or None."""

_START_S = 1.0
"""Wall seconds beyond a test's own: a program that sleeps through its limit is ended, a delayed one is not."""


_FILE = """import runpy, sys
with open({name!r}, "w", encoding="utf-8", newline="") as file:
    file.write(sys.stdin.read())
try:
    runpy.run_path({name!r}, run_name="__main__")
except SystemExit:
    raise
except BaseException:
    sys.excepthook(*sys.exc_info())
    sys.exit(1)
"""


class ScriptTest(msgspec.Struct, frozen=True, kw_only=True):
    """A script, and when it passes."""

    source: str
    stdin: str = ""
    expected: str | None = None
    """None where exit code 0 is enough."""


def as_file(program: str, name: str) -> ScriptTest:
    """A program that is run as a file of this name, as an interpreter of its own would run it.

    It comes by standard input, so that no frame above it holds its text.
    """
    return ScriptTest(source=_FILE.format(name=name), stdin=program)


def first_failure(trials: Iterable[Trial], count: int, *, marks: tuple[str, ...] = ()) -> Judgement:
    """Run tests until one fails; what is reported is the sum over those that were run."""
    cpu_s = wall_s = 0.0
    time_sensitive = False
    failure: Failure = Reason.PASSED, f"{count} tests"
    for number, (outcome, wrong) in enumerate(trials, 1):
        cpu_s += outcome.cpu_s
        wall_s += outcome.wall_s
        time_sensitive |= outcome.time_sensitive
        if wrong is not None:
            failure = wrong[0], f"test {number} of {count}: {wrong[1]}"
            break
    return Judgement(
        reason=failure[0], detail=failure[1], cpu_s=cpu_s, wall_s=wall_s, time_sensitive=time_sensitive,
        marks=marks,
    )  # fmt: skip


def passed_of(trials: Iterable[Trial], *, late_loses_all: bool = False) -> TestCount | None:
    """How many tests pass, of all that are run.

    Args:
        trials: the tests.
        late_loses_all: whether one that is out of time takes the others with it.

    Returns:
        None where there is none.
    """
    failures = [wrong for _, wrong in trials]
    if not failures:
        return None
    late = late_loses_all and any(wrong is not None and wrong[0] is Reason.TIME_LIMIT for wrong in failures)
    return TestCount(0 if late else failures.count(None), len(failures))


def script_trials(
    tests: Sequence[ScriptTest], same: Callable[[str, str], bool], executor: Executor, *, cpu_s: float
) -> Iterator[Trial]:
    """Run each script: exit code 0, and what it printed is the same as what is expected.

    Args:
        tests: the scripts.
        same: whether two outputs are the same, the printed one first; a module's function.
        executor: runs them.
        cpu_s: CPU seconds of each, and of wall time a little more.
    """
    for test in tests:
        outcome = executor.script(test.source, test.stdin, cpu_s=cpu_s, wall_s=cpu_s + _START_S)
        yield outcome, _wrong(outcome, test, same, executor)


def _wrong(
    outcome: Outcome, test: ScriptTest, same: Callable[[str, str], bool], executor: Executor
) -> Failure | None:
    if outcome.status != Reason.PASSED:
        return Reason(outcome.status), outcome.detail
    if test.expected is None:
        return None
    try:
        if executor.decide(same, outcome.stdout, test.expected):
            return None
    except ValueError as error:
        return Reason.OUTPUT_LIMIT, f"printed {error}"
    words = f"printed {shortened(outcome.stdout)!r}, expected {shortened(test.expected)!r}"
    return Reason.WRONG_ANSWER, words


# ------- A suite of tests run by pytest as a project runs it: tests and program in one folder and one process.
# What pytest prints is what a person, or a model between two tries, would read. The process is judged by its exit
# code, so a program that leaves early with 0 passes: only for harnesses that do so.

PACKAGES = ("pytest",)
"""What the jail must let the program import (`truegrade.sandbox.Limits.packages`)."""
_OUTSIDE_CPU_S = 10.0
"""CPU seconds of a function's tests outside its process, where the task has no limit of its own."""

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
        program: source of that module, behind the task's prefix.
        executor: its limits must let the program import `PACKAGES`.
        folder: name of the folder.
        cpu_s: CPU seconds of the whole run.
        wall_s: wall seconds of the whole run.

    Raises:
        UserError: pytest is not installed, or the task names no module.
        SandboxError: the machinery failed.
    """
    require("pytest", "the run of these tests")
    if not task.module:
        raise UserError("these tests do not import the program by a name, so pytest cannot run them in a folder")
    files = {f"{task.module}.py": program, **task.files, f"{task.module}_test.py": task.tests}
    if task.prefix:  # which makes importable what the tests import
        whole = assemble(task.prefix, Answer(value=program, found="given", form="program"))
        files |= {f"{task.module}.py": whole, "conftest.py": f"import {task.module}\n"}
    source = _RUN.format(files=files, folder=folder)
    outcome = executor.script(source, cpu_s=cpu_s, wall_s=wall_s)
    path, _, written = outcome.stdout.partition("\n")
    written += outcome.stderr
    output = written.replace(path, folder) if path else written
    return PytestRun(outcome=outcome, output=output or outcome.detail)


def run_outside(task: FunctionTask, program: str, executor: Executor) -> PytestRun:
    """Run a function's tests outside its process; what there is to read is the first failure.

    Args:
        task: with its tests.
        program: source of the function, behind the task's prefix.
        executor: runs it.

    Raises:
        SandboxError: the machinery failed.
    """
    whole = assemble(task.prefix, Answer(value=program, found="given", form="program"))
    judged = grade_by_tests(msgspec.structs.replace(task, cpu_s=task.cpu_s or _OUTSIDE_CPU_S), whole, executor)
    code, cpu_s, wall_s = int(not judged.passed), judged.cpu_s or 0.0, judged.wall_s or 0.0
    ended = Outcome(status=judged.reason, detail=judged.detail, cpu_s=cpu_s, wall_s=wall_s, exit_code=code)
    return PytestRun(outcome=ended, output=judged.detail)


# ----------------------------------------------------------------------------------------------------------------
# A call of a function as a script: arguments on standard input, a JSON value a line, and the result printed.
# verl-project/verl@1dda039 ``verl/utils/reward_score/sandbox_fusion/utils.py`` ``_process_single_case``. A
# failing call prints nothing and still ends with exit code 0. Global names are the original's: a program shares
# them.

_PREAMBLE = "\nimport traceback\n" + import_string.removesuffix("sys.setrecursionlimit(50000)\n")
_TAIL = """
_SANDBOX_FN_NAME = "{name}"

def _execute_user_function():
    _raw_input_str = sys.stdin.read()
    _args = []
    if _raw_input_str.strip():
        try:
            _args = [json.loads(line) for line in _raw_input_str.split("\\n")]
        except json.JSONDecodeError:
            return None, True
    try:
        _target_callable = None
        if _SANDBOX_FN_NAME in globals():
            _target_callable = globals()[_SANDBOX_FN_NAME]
        elif "Solution" in globals():
            _Solution_class = globals()["Solution"]
            _solution_instance = _Solution_class()
            _target_callable = getattr(_solution_instance, _SANDBOX_FN_NAME)
        if not _target_callable:
            return None, True
        return _target_callable(*_args), False
    except Exception:
        return None, True

if __name__ == "__main__":
    _result, _error_occurred = _execute_user_function()
    if not _error_occurred:
        if isinstance(_result, (dict, list, tuple)) or _result is None or isinstance(_result, bool):
            print(json.dumps(_result))
        else:
            print(str(_result))
"""


def wrapped(code: str, name: str) -> str:
    """The script of a program that defines this function, or a class Solution with a method of that name."""
    return f"{_PREAMBLE}\n{code}\n{_TAIL.format(name=name)}"
