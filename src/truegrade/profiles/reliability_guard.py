"""The guard that OpenAI's grader sets up before it executes a program, and that other harnesses copied.

openai/human-eval@6d43fb9 ``human_eval/execution.py`` ``reliability_guard``. The same names are in Hugging Face's
metric ``code_eval`` (read in its copy, bigcode-project/bigcode-evaluation-harness@8fc5bae6
``bigcode_eval/tasks/custom_metrics/execute.py``) and in modelscope/evalscope@fde259d2
``evalscope/benchmarks/humaneval/utils.py``.
"""

from __future__ import annotations

from truegrade.grading.executor import Executor, loaded_before
from truegrade.grading.functions import TESTS_INSIDE
from truegrade.grading.judgement import Judgement, from_outcome

RELIABILITY_GUARD = (
    *("builtins.exit", "builtins.quit", "builtins.help"),
    *("os.kill", "os.system", "os.putenv", "os.remove", "os.removedirs", "os.rmdir", "os.fchdir", "os.setuid"),
    *("os.fork", "os.forkpty", "os.killpg", "os.rename", "os.renames", "os.truncate", "os.replace", "os.unlink"),
    *("os.fchmod", "os.fchown", "os.chmod", "os.chown", "os.chroot", "os.lchflags", "os.lchmod", "os.lchown"),
    *("os.getcwd", "os.chdir", "shutil.rmtree", "shutil.move", "shutil.chown", "subprocess.Popen"),
    *("sys.modules:ipdb", "sys.modules:joblib", "sys.modules:resource", "sys.modules:psutil"),
    "sys.modules:tkinter",
)
"""Names that are None while the program runs."""


def grade_guarded(
    source: str, executor: Executor, *, cpu_s: float | None = None, preload: tuple[str, ...] = ()
) -> Judgement:
    """Execute program and tests under the guard; ending without an exception is passing.

    Some modules are imported before the guard is set up, because these harnesses have imported them before they
    fork, and under the guard that cannot be done. They replace the streams (``swallow_io``).

    Args:
        source: program and tests.
        executor: bound to the profile's limits.
        cpu_s: CPU limit, instead of the executor's own.
        preload: other modules that the harness has imported before.
    """
    preload = (*loaded_before(source), *preload)
    outcome = executor.inside(source, disabled=RELIABILITY_GUARD, preload=preload, swallow=True, cpu_s=cpu_s)
    return from_outcome(outcome, marks=(TESTS_INSIDE,))
