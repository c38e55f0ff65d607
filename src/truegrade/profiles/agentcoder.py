"""`agentcoder`: prompt, fence cutter and report of huangd1999/AgentCoder @dddd1b9, for HumanEval.

The agents themselves are no grading rule. AgentCoder's MBPP report calls a submodule that is not in its
repository and fails as released, so MBPP is not covered.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from truegrade import prompts
from truegrade.grading.executor import Executor
from truegrade.grading.judgement import Judgement
from truegrade.profiles.function_scope import IMPORT_HELPER, cut_fence, grade_in_function_scope, needed_imports
from truegrade.profiles.harness_runs import FunctionProfile
from truegrade.prompts.making import origin
from truegrade.records import Answer, FunctionTask, Message, Problem, Prompt
from truegrade.sandbox import Limits

SCRIPT_IMPORTS = (
    *("import random", "import json", "import ast", "import doctest", "import inspect", "import numpy as np"),
    *("import sys", "import contextlib", "import faulthandler", "import io", "import os", "import signal"),
    *("import multiprocessing", "import platform", "import tempfile", "import concurrent.futures"),
    *("from typing import Optional", "from typing import Callable", "from typing import Dict"),
    "from concurrent.futures import ThreadPoolExecutor",
    "from concurrent.futures import as_completed",
)
"""What functions of a completion find without importing it, because the report's script has imported it."""


class Agentcoder(FunctionProfile):
    """The report on completions, executed in function scope without the task's prompt."""

    name, version = "agentcoder", "dddd1b9"
    current = False
    takes = "program"
    only = MappingProxyType({"function": ("humaneval",)})
    limits = Limits(cpu_s=2.0, wall_s=3.0)
    scores_shots = ("humaneval",)

    def ask(self, task: FunctionTask, problem: Problem, examples: Mapping[str, Problem]) -> Prompt:
        """The programmer's system and user message. Its shots are scored, see `defects`."""
        prompt_id = "agentcoder.programmer.humaneval.user"
        system = Message(role="system", content=prompts.render("agentcoder.programmer.system"))
        user = Message(role="user", content=prompts.render(prompt_id, prompt=task.prompt))
        return Prompt(messages=(system, user), source=origin(prompt_id), shots=("HumanEval/0", "HumanEval/1"))

    def read(self, task: FunctionTask, reply: str) -> Answer:
        """The first Python fence."""
        code, found = cut_fence(reply)
        return Answer(value=code, found=found)

    def program(self, task: FunctionTask, answer: Answer) -> str:
        """Imports, completion and test."""
        rest = f"{answer.value or ''}\n{task.tests}"
        # In front of a completion even `from __future__` comes too late.
        return f"{needed_imports(IMPORT_HELPER, rest) or 'pass'}\n\n{rest}"

    def run(self, source: str, executor: Executor) -> Judgement:
        """In function scope."""
        return grade_in_function_scope(source, SCRIPT_IMPORTS, executor, swallow=True)
