"""`inspect-evals`: HumanEval and MBPP as they entered inspect_evals, UKGovernmentBEIS/inspect_ai @27a087b.

Read in October 2024's source only; later versions of inspect_evals are not covered.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

import msgspec

from truegrade.grading.executor import Executor
from truegrade.grading.functions import TESTS_INSIDE
from truegrade.grading.judgement import Judgement, from_outcome
from truegrade.profiles.harness_runs import FunctionProfile
from truegrade.prompts.making import chat
from truegrade.records import Answer, FunctionTask, Problem, Prompt
from truegrade.sandbox import Limits

_SHOTS = ("MBPP/2", "MBPP/3", "MBPP/4")
"""Not in the test split, which is the one it scores."""
_PYTHON_FENCE = re.compile(r"```python\n(.*?)```", re.DOTALL)
_BARE_FENCE = re.compile(r"```\n(.*?)```", re.DOTALL)


class InspectEvals(FunctionProfile):
    """Tasks ``humaneval`` and ``mbpp``, the latter on sanitized MBPP; the exit code decides."""

    name, version = "inspect-evals", "27a087b"
    current = False
    covers = ("function", "description")
    takes = "program"
    only = MappingProxyType({"description": ("mbpp-sanitized",)})
    ks = (1, 2, 5)
    limits = Limits(cpu_s=30.0, wall_s=31.0)

    def ask(self, task: FunctionTask, problem: Problem, examples: Mapping[str, Problem]) -> Prompt:
        """One user message."""
        if task.prefix:
            return chat("humaneval.inspect.user", {"prompt": task.prompt})
        prompt = chat("mbpp.inspect.user", {"prompt": task.prompt, "tests": "\n".join(task.shown_tests)})
        return msgspec.structs.replace(prompt, shots=_SHOTS)

    def read(self, task: FunctionTask, reply: str) -> Answer:
        """The first fence; of a HumanEval answer, what follows its signature."""
        if not task.prefix:
            code, found = _first_fence(reply, _PYTHON_FENCE)
            return Answer(value=code, found=found)
        code, found = _first_fence(reply, _PYTHON_FENCE, _BARE_FENCE)
        return Answer(value=without_signature(code), found=f"{found}, signature cut off", form="completion")

    def program(self, task: FunctionTask, answer: Answer) -> str:
        """Of MBPP the answer and the tests directly behind it."""
        return super().program(task, answer) if task.prefix else (answer.value or "") + self.tests(task)

    def tests(self, task: FunctionTask) -> str:
        """Of MBPP each assert with its own text as message."""
        return super().tests(task) if task.prefix else _asserts(task)

    def run(self, source: str, executor: Executor) -> Judgement:
        """As ``python -c`` does: the exit code decides."""
        return from_outcome(executor.script(source), marks=(TESTS_INSIDE,))


def without_signature(code: str) -> str:
    """The code from the end of the line that the first four-blank body follows; see `InspectEvals.defects`."""
    # Where there is none, find gives -1 and the code loses its first character.
    return code[code.find(":\n    ") + 2 :]


def _first_fence(text: str, *patterns: re.Pattern[str]) -> tuple[str, str]:
    for pattern in patterns:
        if match := pattern.search(text):
            return match[1], "first python fence" if pattern is _PYTHON_FENCE else "first bare fence"
    return text, "no fence: the whole reply"


def _asserts(task: FunctionTask) -> str:
    """Each test with what stands behind its ``assert`` as the message."""
    return "".join(f"{test}, {test[len('assert ') :]!r}\n" for test in task.shown_tests)
