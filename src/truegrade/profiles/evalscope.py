"""`evalscope`: HumanEval, MBPP and LiveCodeBench of modelscope/evalscope @fde259d2."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import ClassVar

from truegrade import prompts
from truegrade.grading.contests.harness import Harness
from truegrade.grading.executor import Executor
from truegrade.grading.functions import TESTS_INSIDE, References
from truegrade.grading.judgement import Judgement, from_outcome
from truegrade.profiles import evalscope_contests
from truegrade.profiles.base import NO_EXAMPLES, Profile, Rule
from truegrade.profiles.contest_profile import contest_task, grade_contest, timed
from truegrade.profiles.evalscope_extraction import first_fence, freeform_code, without_main
from truegrade.profiles.plus_sets import PLUS_DEFECTS, PLUS_RULE, with_tests
from truegrade.profiles.prompt_building import chat, origin
from truegrade.profiles.refusals import check_variant, code_task, refuse_mbppplus
from truegrade.profiles.reliability_guard import grade_guarded
from truegrade.records import (
    Answer,
    Completion,
    ContestTask,
    FunctionTask,
    Message,
    OracleTask,
    Problem,
    Prompt,
    Reason,
)
from truegrade.records.kinds import Kind
from truegrade.sandbox import Limits
from truegrade.statistics.contest_metrics import PERCENT, Scale

_REPO = "modelscope/evalscope@fde259d2 evalscope"
_HUMANEVAL = f"{_REPO}/benchmarks/humaneval/humaneval_adapter.py"
_MBPP = f"{_REPO}/benchmarks/mbpp/mbpp_adapter.py"
_PLUS = f"{_REPO}/benchmarks/mbppplus/mbppplus_adapter.py"
_HUMANEVAL_PLUS = f"{_REPO}/benchmarks/humanevalplus/humanevalplus_adapter.py"
_EXIT_CODE = "modelscope/ms-enclave@61ce09f ms_enclave/sandbox/tools/sandbox_tools/python_executor.py"

_SHOTS = ("MBPP/2", "MBPP/3", "MBPP/4")
HUMANEVAL_CPU_S = 4.0
PLUS_CPU_S = 300.0
"""``review_timeout`` of humaneval and humaneval_plus; that of mbpp is in `Evalscope.limits`."""


class Evalscope(Profile):
    """Tasks ``humaneval``, ``humaneval_plus``, ``mbpp``, on sanitized MBPP ``mbpp_plus``, ``live_code_bench``."""

    name: ClassVar[str] = "evalscope"
    version: ClassVar[str] = "fde259d2"
    summary: ClassVar[str] = "EvalScope: humaneval in process (4 s), mbpp and mbpp_plus by exit code (20 s)"
    covers: ClassVar[tuple[Kind, ...]] = ("function", "description", "oracle", "contest")
    only: ClassVar[Mapping[str, tuple[str, ...]]] = MappingProxyType(
        {"function": ("humaneval",), "description": ("mbpp", "mbpp-sanitized"), "oracle": ("humanevalplus",)}
    )
    variants: ClassVar[tuple[str, ...]] = ("default", "zero-shot")
    contest_scale: ClassVar[Scale | None] = PERCENT
    harness: ClassVar[Harness] = evalscope_contests.LOCAL
    """Of contest problems."""
    rules: ClassVar[tuple[Rule, ...]] = (
        Rule("prompt", "HumanEval: simple-evals' sentence and the data set's prompt", _HUMANEVAL),
        Rule("prompt", "MBPP: tasks 2, 3, 4 as shots (few_shot_num 3), or zero-shot; all tests shown", _MBPP),
        Rule("prompt", "mbpp-sanitized is asked and graded as mbpp_plus is: zero-shot, tests of test_list", _PLUS),
        Rule("extraction", "HumanEval: the first complete fence, else the reply as it is", _HUMANEVAL),
        Rule("extraction", "MBPP: up to [DONE]; first complete fence, else unclosed fence, else first definition;"
             " carriage returns dropped; cut at a main block, '# Example usage', \\nassert and a docstring",
             f"{_REPO}/utils/code_utils.py; {_MBPP}"),
        Rule("program", "HumanEval: prompt + answer + newline + test + newline + check(entry_point)",
             f"{_REPO}/benchmarks/humaneval/utils.py"),
        Rule("program", "MBPP: test_setup_code, then the answer, cut at 'if __name__ ==', then every test", _MBPP),
        Rule("program", "mbpp_plus: the same without any setup", _PLUS),
        Rule("comparison", "HumanEval: as openai/human-eval, in a spawned process under its guard",
             f"{_REPO}/benchmarks/humaneval/utils.py"),
        Rule("comparison", "MBPP, humaneval_plus: a script of its own; passed if its exit code is 0", _EXIT_CODE),
        PLUS_RULE,
        Rule("limits", "HumanEval 4 s, MBPP 20 s, humaneval_plus 300 s of wall time; here CPU time, with three"
             " times that and 5 s in wall time", f"{_REPO}; {_HUMANEVAL_PLUS}"),
        Rule("aggregation", "mean and unbiased pass@k", f"{_REPO}/metrics"),
        *evalscope_contests.LOCAL_RULES,
    )  # fmt: skip
    defects: ClassVar[tuple[str, ...]] = (
        PLUS_DEFECTS[0],
        "MBPP, humaneval_plus: the exit code decides, so sys.exit(0) or os._exit(0) in the answer passes",
        "tests share the candidate's process: an object equal to everything passes (mark tests-inside)",
        "the setup of MBPP 367 and 927 runs before the class it needs: their own solutions fail",
        "mbpp_plus loads the plus tests and never runs them; its test_imports are left out as well",
        "an answer that calls its own asserts loses everything behind the first of them",
        "a docstring that starts at the beginning of a line cuts the program there",
        "HumanEval: an unclosed fence or one with an info string of two words is executed as it stands",
        *evalscope_contests.LOCAL_DEFECTS,
    )
    limits: ClassVar[Limits] = Limits(cpu_s=20.0)

    def __init__(self) -> None:
        self._references = References()

    def render_prompt(
        self, problem: Problem, variant: str | None = None, examples: Mapping[str, Problem] = NO_EXAMPLES
    ) -> Prompt:
        """One user message; MBPP's holds three worked examples unless ``zero-shot`` is asked for."""
        style = check_variant(self, variant)
        if isinstance(problem.task, ContestTask):
            return evalscope_contests.render_contest(contest_task(self, problem))
        task = self._task(problem)
        if task.prefix:
            return chat("humaneval.simple_evals.user", {"prompt": task.prompt})
        values = {"text": task.prompt, "tests": "\n".join(task.shown_tests)}
        if style == "zero-shot" or problem.benchmark != "mbpp":
            return chat("mbpp.evalscope.zero_shot", values)
        message = Message(role="user", content=prompts.render("mbpp.evalscope.few_shot", **values))
        return Prompt(messages=(message,), source=origin("mbpp.evalscope.few_shot"), shots=_SHOTS)

    def extract(self, problem: Problem, completion: Completion) -> Answer:
        """HumanEval: the code to put behind the prompt. MBPP: the program, setup in front. Contests: as cut."""
        if isinstance(problem.task, ContestTask):
            return evalscope_contests.cut(completion)
        task = self._task(problem)
        text = completion.text or ""
        if task.prefix:
            if completion.form == "program":
                return Answer(value=text, found="as given: a whole program")
            code, found = first_fence(text)
            return Answer(value=code, found=found, form="completion")
        code, found = (text, "as given") if completion.form == "program" else freeform_code(text)
        if not code:
            return Answer(value=None, found=found, reason=Reason.NO_CODE)
        return Answer(value=without_main(_with_setup(problem, task, code)), found=found)

    def judgement(self, problem: Problem, answer: Answer, executor: Executor) -> Judgement:
        """HumanEval: execute under the guard. MBPP: look at a script's exit code. Contests: the local path."""
        if isinstance(problem.task, ContestTask):
            harness = timed(self.harness, self)
            return grade_contest(harness, contest_task(self, problem), answer.value or "", executor)
        task = self._task(problem)
        code = answer.value or ""
        if task.prefix:
            start = task.prefix if answer.form == "completion" else ""
            return with_tests(
                problem, self._references, executor,
                lambda tests: self._grade_humaneval(problem, f"{start}{code}\n{tests}", executor),
            )  # fmt: skip
        program = code + "".join(f"\n{test}\n" for test in task.shown_tests)
        return from_outcome(executor.script(program), marks=(TESTS_INSIDE,))

    def _grade_humaneval(self, problem: Problem, source: str, executor: Executor) -> Judgement:
        """``humaneval`` runs under the guard in a process of EvalScope's, ``humaneval_plus`` in its sandbox."""
        if problem.benchmark == "humaneval":
            return grade_guarded(source, executor, cpu_s=self.cpu_s(HUMANEVAL_CPU_S))
        return from_outcome(executor.script(source, cpu_s=self.cpu_s(PLUS_CPU_S)), marks=(TESTS_INSIDE,))

    def _task(self, problem: Problem) -> FunctionTask | OracleTask:
        refuse_mbppplus(self, problem)
        return code_task(self, problem)


def _with_setup(problem: Problem, task: FunctionTask | OracleTask, code: str) -> str:
    """``mbpp`` puts the setup in front of the code, on a line of its own even if empty; ``mbpp_plus`` has none."""
    if problem.benchmark == "mbpp" and isinstance(task, FunctionTask):
        return f"{task.setup}\n{code}"
    return code
