"""`agentcoder`: prompt, fence cutter and report of huangd1999/AgentCoder @dddd1b9, for HumanEval.

The agents themselves are no grading rule. AgentCoder's MBPP report calls a submodule that is not in its
repository and fails as released, so MBPP is not covered.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import ClassVar

from truegrade import prompts
from truegrade.grading.executor import Executor
from truegrade.grading.judgement import Judgement
from truegrade.profiles.agentcoder_extraction import cut_fence
from truegrade.profiles.agentcoder_imports import IMPORT_HELPER
from truegrade.profiles.base import NO_EXAMPLES, Profile, Rule
from truegrade.profiles.function_scope import grade_in_function_scope, needed_imports
from truegrade.profiles.prompt_building import origin
from truegrade.profiles.refusals import check_variant, function_task
from truegrade.records import Answer, Completion, Message, Problem, Prompt
from truegrade.records.kinds import Kind
from truegrade.sandbox import Limits

_PROGRAMMER = "huangd1999/AgentCoder@dddd1b9 src/programmer_humaneval.py"
_EXECUTOR = "huangd1999/AgentCoder@dddd1b9 src/test_executor_humaneval.py"

SCRIPT_IMPORTS = (
    *("import random", "import json", "import ast", "import doctest", "import inspect", "import numpy as np"),
    *("import sys", "import contextlib", "import faulthandler", "import io", "import os", "import signal"),
    *("import multiprocessing", "import platform", "import tempfile", "import concurrent.futures"),
    *("from typing import Optional", "from typing import Callable", "from typing import Dict"),
    "from concurrent.futures import ThreadPoolExecutor",
    "from concurrent.futures import as_completed",
)
"""What functions of a completion find without importing it, because the report's script has imported it."""


class Agentcoder(Profile):
    """The report on completions, executed in function scope without the task's prompt."""

    name: ClassVar[str] = "agentcoder"
    version: ClassVar[str] = "dddd1b9"
    summary: ClassVar[str] = "AgentCoder's report: imports + completion + test, no prompt, function scope, 2 s"
    current: ClassVar[bool] = False
    covers: ClassVar[tuple[Kind, ...]] = ("function",)
    only: ClassVar[Mapping[str, tuple[str, ...]]] = MappingProxyType({"function": ("humaneval",)})
    rules: ClassVar[tuple[Rule, ...]] = (
        Rule("prompt", "the programmer's: role, chain of thought, HumanEval/0 and 1 as shots; system message",
             f"{_PROGRAMMER}, prompts/humaneval_prompt_update.txt"),
        Rule("extraction", "from the first ```python to the next ```; without one the whole reply", _PROGRAMMER),
        Rule("program", "IMPORT_HELPER + completion + newline + test + newline + check(entry_point); no prompt",
             f"{_EXECUTOR} test_report"),
        Rule("program", "exec inside a function: functions see the script's globals, not the completion's names",
             f"{_EXECUTOR} test_report"),
        Rule("program", "modules are imported only where the program mentions them: the script has loaded them"
             " before its clock starts", "ours"),
        Rule("comparison", "passed if execution ends without an exception", f"{_EXECUTOR} test_report"),
        Rule("limits", "2 s; here 2 s of CPU and 3 s of wall time", f"{_EXECUTOR} test_report"),
        Rule("aggregation", "passed completions in percent of all tasks, one completion a task", _EXECUTOR),
    )  # fmt: skip
    defects: ClassVar[tuple[str, ...]] = (
        "the prompt is left out: a body-only answer, which the shots teach, is a syntax error",
        "the prompt is left out: tests of 32, 38 and 50 miss the helper that it defines, so no answer passes them",
        "function scope: recursion, helpers and imports of the completion are invisible inside its functions",
        "a fence that never closes loses its last character",
        "the first fence is taken, though the prompt asks for pseudocode first",
        "SystemExit ends the report instead of failing the task; here it fails",
        "tests share the candidate's process: an object equal to everything passes (mark tests-inside)",
        "HumanEval/0 and 1 are shown solved in the prompt and scored all the same; so does this profile",
        "an empty reply is asked for again without end; not reproduced",
        "before Python 3.13 one completion's names stay visible at the top level of the next; not reproduced",
    )
    limits: ClassVar[Limits] = Limits(cpu_s=2.0, wall_s=3.0)
    scores_shots: ClassVar[tuple[str, ...]] = ("humaneval",)

    def render_prompt(
        self, problem: Problem, variant: str | None = None, examples: Mapping[str, Problem] = NO_EXAMPLES
    ) -> Prompt:
        """The programmer's system and user message. Its shots are scored, see `defects`."""
        check_variant(self, variant)
        task = function_task(self, problem)
        prompt_id = "agentcoder.programmer.humaneval.user"
        system = Message(role="system", content=prompts.render("agentcoder.programmer.system"))
        user = Message(role="user", content=prompts.render(prompt_id, prompt=task.prompt))
        return Prompt(messages=(system, user), source=origin(prompt_id), shots=("HumanEval/0", "HumanEval/1"))

    def extract(self, problem: Problem, completion: Completion) -> Answer:
        """Cut the first Python fence out; files of completions hold what was cut already."""
        function_task(self, problem)
        if completion.form == "program":
            return Answer(value=completion.text or "", found="as given: a whole program")
        code, found = cut_fence(completion.text or "")
        return Answer(value=code, found=found)

    def judgement(self, problem: Problem, answer: Answer, executor: Executor) -> Judgement:
        """Execute imports, completion and test in function scope."""
        tests = function_task(self, problem).tests
        rest = f"{answer.value or ''}\n{tests}"
        # In front of a completion even `from __future__` comes too late.
        imports = needed_imports(IMPORT_HELPER, rest) or "pass"
        return grade_in_function_scope(f"{imports}\n\n{rest}", SCRIPT_IMPORTS, executor, swallow=True)
