"""`rllm-kodcode`: rewards of data source ``kodcode`` in rllm-org/rllm @9beb6e0."""

from __future__ import annotations

from importlib.util import find_spec
from operator import eq
from typing import ClassVar

from truegrade.errors import UserError
from truegrade.grading.executor import Executor
from truegrade.grading.functions import TESTS_INSIDE
from truegrade.grading.judgement import Judgement
from truegrade.grading.programs import base_imports, without_main_block
from truegrade.grading.tests_forms import tests_of
from truegrade.grading.trials import ScriptTest, first_failure, script_trials
from truegrade.profiles.base import Rule
from truegrade.profiles.refusals import function_task
from truegrade.profiles.rewards.rllm_humanevalplus import CLEANED, CUT, IMPORTS, last_block
from truegrade.profiles.rewards.strict_worded import STRICT_WORDS, StrictWorded
from truegrade.records import Answer, Completion, Problem, Reason
from truegrade.records.kinds import Kind
from truegrade.sandbox import Limits

_REWARD = "rllm-org/rllm@9beb6e0 rllm/rewards/code_reward.py kodcode_check_correctness"
_EXEC = "rllm-org/rllm@9beb6e0 rllm/rewards/code_utils/kodcode.py code_exec"
PER_TEST_S = 5.0
_RUNNER = """import os, sys
os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
with open("solution.py", "w", encoding="utf-8") as file:
    file.write(sys.stdin.read())
import pytest
sys.exit(pytest.main(["--maxfail=1", "--no-header", os.path.abspath("solution.py")]))
"""


class RllmKodcode(StrictWorded):
    """Program and tests in one module that pytest runs."""

    name: ClassVar[str] = "rllm-kodcode"
    version: ClassVar[str] = "9beb6e0"
    summary: ClassVar[str] = "rLLM's KodCode reward: last fence and tests in one module, pytest, 5 s a test"
    covers: ClassVar[tuple[Kind, ...]] = ("function", "description")
    rules: ClassVar[tuple[Rule, ...]] = (
        STRICT_WORDS,
        CUT,
        CLEANED,
        IMPORTS,
        Rule("program", "imports, import pytest, program and tests as solution.py; a program that has the word"
             " pytest is the whole file", _EXEC),
        Rule("program", "tests are a module of pytest that imports solution: here one made of the task's asserts"
             " or its check", "ours"),
        Rule("comparison", "exit code 0 of pytest --maxfail=1; no plugins but its own here", _EXEC),
        Rule("limits", "5 s of wall time for each 'def test' in the tests; here as many seconds of CPU and one"
             " more of wall time", _REWARD),
        Rule("aggregation", "1 or 0", _REWARD),
    )  # fmt: skip
    defects: ClassVar[tuple[str, ...]] = (
        "a program with the word pytest, in a comment too, is graded by its own tests alone",
        "a program that leaves with exit code 0 passes; tests share its process (mark tests-inside)",
        "a function of the program whose name begins with test is a test",
        "the guard that it defines is in force before another program replaces it, and so never",
        "there the program inherits the trainer's environment with its keys",
    )
    limits: ClassVar[Limits] = Limits(cpu_s=60.0, processes=16, packages=("numpy", "pandas", "pytest"))

    def cut(self, reply: str) -> str | None:
        """The last fence."""
        return last_block(reply)

    def extract(self, problem: Problem, completion: Completion) -> Answer:
        """The last fence; without pytest no reply can be graded, which is said before anything is asked."""
        if find_spec("pytest") is None:
            raise UserError(f"profile {self.name!r} runs its tests by pytest: pip install pytest")
        return super().extract(problem, completion)

    def judgement(self, problem: Problem, answer: Answer, executor: Executor) -> Judgement:
        """Run pytest on program and tests."""
        function_task(self, problem)
        put = tests_of(problem, "pytest")
        if put.why_not:
            return Judgement(reason=Reason.GRADER_ERROR, detail=put.why_not)
        tests = put.tests
        module = code = without_main_block(answer.value or "")
        if "pytest" not in code:
            body = f"import pytest\n\n{code}\n\n{tests}\n"
            module = f'\n{base_imports(body)}{body}\nif __name__ == "__main__":\n    pytest.main([__file__])\n'
        limit_s = self.cpu_s(PER_TEST_S * tests.count("def test"))
        script = ScriptTest(source=_RUNNER, stdin=module)
        return first_failure(script_trials([script], eq, executor, cpu_s=limit_s), 1, marks=(TESTS_INSIDE,))
