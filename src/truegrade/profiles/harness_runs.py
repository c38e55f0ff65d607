"""How published harnesses run programs: under a guard, plus sets by the hub's copies."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping

from truegrade.grading.evalplus import plus_tests
from truegrade.grading.executor import Executor, loaded_before
from truegrade.grading.functions import TESTS_INSIDE, Expected, ReferenceFailed
from truegrade.grading.joined_tests import with_joined
from truegrade.grading.judgement import Judgement, from_outcome
from truegrade.grading.references import References
from truegrade.profiles.base import NO_EXAMPLES, Profile, check_variant, covered_task
from truegrade.prompts.making import chat
from truegrade.records import Answer, Completion, FunctionTask, OracleTask, Problem, Prompt, Reason

# ------- The guard that OpenAI's grader sets up before it executes a program, and that other harnesses copied.
# openai/human-eval@6d43fb9 ``human_eval/execution.py`` ``reliability_guard``. The same names are in Hugging
# Face's metric ``code_eval`` (read in its copy, bigcode-project/bigcode-evaluation-harness@8fc5bae6
# ``bigcode_eval/tasks/custom_metrics/execute.py``) and in modelscope/evalscope@fde259d2
# ``evalscope/benchmarks/humaneval/utils.py``.


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


# ---------- How harnesses other than EvalPlus grade HumanEval+ and MBPP+: by the programs of the hub's copies.


def with_tests(
    problem: Problem, references: References[Expected], executor: Executor, grade: Callable[[str], Judgement]
) -> Judgement:
    """Grade with a problem's test program; where it cannot be had the data set is to blame, not the answer.

    Args:
        problem: with test source, or one of a plus set.
        references: expected outputs, shared by the samples of a problem.
        executor: runs the reference of a plus set.
        grade: the grading, given the test program complete with its call.
    """
    task = problem.task
    if isinstance(task, OracleTask):
        try:
            return grade(plus_tests(f"{problem.dataset_sha256}/{problem.id}", task, references, executor))
        except ReferenceFailed as failure:
            return Judgement(reason=Reason.GRADER_ERROR, detail=str(failure))
    assert isinstance(task, FunctionTask)
    return grade(task.tests)


# ----------------------------------------------------------------------------------------------------------------
# What profiles of harnesses that ask for a function have in common: each says only what is its own.


class FunctionProfile(Profile):
    """A harness that asks for a function, and runs prompt, answer and tests as one program."""

    covers: tuple[str, ...] = ("function",)
    words: str
    """Text under ``prompts/`` that asks, `ask` apart; its only placeholder is ``prompt``."""

    def render_prompt(
        self, problem: Problem, variant: str | None = None, examples: Mapping[str, Problem] = NO_EXAMPLES
    ) -> Prompt:
        """The harness' prompt."""
        check_variant(self, variant)
        return self.ask(covered_task(self, problem, FunctionTask), problem, examples)

    def ask(self, task: FunctionTask, problem: Problem, examples: Mapping[str, Problem]) -> Prompt:
        """One user message, unless a profile says otherwise."""
        return chat(self.words, {"prompt": task.prompt})

    def extract(self, problem: Problem, completion: Completion) -> Answer:
        """What the harness reads; a given whole program as it is."""
        task = covered_task(self, problem, FunctionTask)
        if completion.form == "program":
            return Answer(value=completion.text or "", found="as given: a whole program")
        return self.read(task, completion.text or "")

    @abstractmethod
    def read(self, task: FunctionTask, reply: str) -> Answer:
        """What the harness takes out of a reply."""

    def judgement(self, problem: Problem, answer: Answer, executor: Executor) -> Judgement:
        """How one program of answer and tests ends."""
        task = covered_task(self, problem, FunctionTask)
        source = self.program(task, answer)
        return with_joined(self.run(source, executor), source, self.tests(task))

    def program(self, task: FunctionTask, answer: Answer) -> str:
        """Prompt, answer and tests; no prompt in front of a whole program."""
        prefix = task.prefix if answer.form == "completion" else ""
        return f"{prefix}{answer.value or ''}\n{self.tests(task)}"

    def tests(self, task: FunctionTask) -> str:
        """What stands behind the answer: the data set's tests, unless a profile says otherwise."""
        return task.tests

    def run(self, source: str, executor: Executor) -> Judgement:
        """Under human-eval's guard, unless a profile says otherwise."""
        return grade_guarded(source, executor)
