"""`rllm-humanevalplus`: rewards of data source ``humanevalplus`` in rllm-org/rllm @9beb6e0."""

from __future__ import annotations

import ast
import re
from operator import eq
from typing import ClassVar

from truegrade.extraction.blocks import spans
from truegrade.grading.executor import Executor
from truegrade.grading.functions import TESTS_INSIDE, References
from truegrade.grading.judgement import Judgement
from truegrade.grading.programs import base_imports, statements, without_main_block
from truegrade.grading.tests_forms import CannotPut, calls_of
from truegrade.grading.trials import as_file, first_failure, script_trials
from truegrade.profiles.base import Rule
from truegrade.profiles.plus_sets import PLUS_DEFECTS, PLUS_RULE, with_tests
from truegrade.profiles.refusals import covered_task
from truegrade.profiles.rewards.strict_worded import STRICT_WORDS, StrictWorded
from truegrade.records import Answer, FunctionTask, OracleTask, Problem, Reason
from truegrade.records.kinds import Kind
from truegrade.sandbox import Limits

_REWARD = "rllm-org/rllm@9beb6e0 rllm/rewards/code_reward.py"
_RUN = "rllm-org/rllm@9beb6e0 rllm/rewards/code_utils/humanevalplus.py"
PER_TEST_S = 1.0
_OPENING = re.compile(r"```(?:\w+)?\n")
CUT = Rule(
    "extraction", "the last complete fence opened by ``` with or without a word and a newline, stripped; none: no"
    " code", f"{_REWARD} extract_code_from_model",
)  # fmt: skip
CLEANED = Rule(
    "program", "main blocks are taken out, up to the next line that is not indented",
    f"{_REWARD} clean_code_main_block",
)  # fmt: skip
IMPORTS = Rule(
    "program", "its imports in front, numpy and pandas among them, which are imported here only where the"
    " program or its tests have their names", "rllm-org/rllm@9beb6e0 rllm/rewards/code_utils/utils.py",
)  # fmt: skip


class RllmHumanevalplus(StrictWorded):
    """Program and tests in one script, judged by its exit code."""

    name: ClassVar[str] = "rllm-humanevalplus"
    version: ClassVar[str] = "9beb6e0"
    summary: ClassVar[str] = "rLLM's HumanEval+ reward: last fence, one script, exit code 0, 1 s a test"
    covers: ClassVar[tuple[Kind, ...]] = ("function", "description", "oracle")
    rules: ClassVar[tuple[Rule, ...]] = (
        STRICT_WORDS,
        CUT,
        CLEANED,
        IMPORTS,
        Rule("program", "imports, program and the field test, as a file", f"{_RUN} run_test"),
        PLUS_RULE,
        Rule("program", "other functions: their calls as the same loop over inputs and results; tests that are"
             " more than calls with plain values cannot be put", "ours"),
        Rule("comparison", "exit code 0", f"{_RUN} run_test"),
        Rule("limits", "1 s of wall time for each of the test's inputs, all imports included; here as many seconds"
             " of CPU and one more of wall time", f"{_REWARD} humanevalplus_check_correctness"),
        Rule("aggregation", "1 or 0", _REWARD),
    )  # fmt: skip
    defects: ClassVar[tuple[str, ...]] = (
        "a program that leaves with exit code 0 passes; tests share its process (mark tests-inside)",
        "there the imports of numpy and pandas are part of a second a test: a task with one input may be lost",
        "a test without a list of inputs has no time limit that the code accepts, and every program fails",
        *PLUS_DEFECTS,
    )
    limits: ClassVar[Limits] = Limits(cpu_s=60.0, processes=16, packages=("numpy", "pandas"))

    def __init__(self) -> None:
        self._references = References()

    def cut(self, reply: str) -> str | None:
        """The last fence."""
        return last_block(reply)

    def judgement(self, problem: Problem, answer: Answer, executor: Executor) -> Judgement:
        """One script; its time is that of its tests."""
        task = covered_task(self, problem, FunctionTask, OracleTask)

        def grade(tests: str) -> Judgement:
            return self._run(answer.value or "", tests, executor)

        if isinstance(task, OracleTask):
            return with_tests(problem, self._references, executor, grade)
        try:
            return grade(_looped(problem, task))
        except CannotPut as why:
            return Judgement(reason=Reason.GRADER_ERROR, detail=f"{problem.id}: {why}")

    def _run(self, code: str, tests: str, executor: Executor) -> Judgement:
        count = _inputs(tests)
        if not count:
            return Judgement(reason=Reason.TIME_LIMIT, detail="no list of inputs, and so no time", cpu_s=0.0)
        source = f"{without_main_block(code)}\n\n{tests}\n\n"
        script = as_file(f"\n{base_imports(source)}\n\n{source}", "solution.py")
        limit_s = self.cpu_s(PER_TEST_S * count)
        return first_failure(script_trials([script], eq, executor, cpu_s=limit_s), 1, marks=(TESTS_INSIDE,))


def last_block(reply: str) -> str | None:
    """What rLLM takes for the program, or None."""
    found = spans(reply, _OPENING, "```")
    return found[-1].strip() if found else None


def _looped(problem: Problem, task: FunctionTask) -> str:
    """A function's calls as a HumanEval+ row has its own.

    Raises:
        CannotPut: its tests are more than that.
    """
    cases = calls_of(problem, None)
    inputs, results = [list(case.arguments) for case in cases], [case.expected for case in cases]
    return (
        "def assertion(out, exp, atol):\n    assert out == exp\n\ndef check(candidate):\n"
        f"    inputs = {inputs!r}\n    results = {results!r}\n"
        "    for i, (inp, exp) in enumerate(zip(inputs, results)):\n"
        f"        assertion(candidate(*inp), exp, 0)\n\ncheck({task.entry_point})\n"
    )


def _inputs(tests: str) -> int:
    """Length of the last list that a test program assigns to ``inputs``; 0 where there is none."""
    found = [
        node.value
        for node in ast.walk(ast.Module(statements(tests), []))
        if isinstance(node, ast.Assign)
        and any(isinstance(target, ast.Name) and target.id == "inputs" for target in node.targets)
    ]
    return len(found[-1].elts) if found and isinstance(found[-1], ast.List) else 0
