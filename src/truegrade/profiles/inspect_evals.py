"""`inspect-evals`: HumanEval and MBPP as they entered inspect_evals, UKGovernmentBEIS/inspect_ai @27a087b.

Read in October 2024's source only; later versions of inspect_evals are not covered.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import ClassVar

import msgspec

from truegrade.grading.executor import Executor
from truegrade.grading.functions import TESTS_INSIDE
from truegrade.grading.judgement import Judgement, from_outcome
from truegrade.profiles.base import NO_EXAMPLES, Profile, Rule, Takes
from truegrade.profiles.prompt_building import chat
from truegrade.profiles.refusals import check_variant, function_task
from truegrade.records import Answer, Completion, FunctionTask, Problem, Prompt
from truegrade.records.kinds import Kind
from truegrade.sandbox import Limits

_HUMANEVAL = "UKGovernmentBEIS/inspect_ai@27a087b src/inspect_evals/humaneval/humaneval.py"
_MBPP = "UKGovernmentBEIS/inspect_ai@27a087b src/inspect_evals/mbpp/mbpp.py"

_SHOTS = ("MBPP/2", "MBPP/3", "MBPP/4")
"""Not in the test split, which is the one it scores."""
_PYTHON_FENCE = re.compile(r"```python\n(.*?)```", re.DOTALL)
_BARE_FENCE = re.compile(r"```\n(.*?)```", re.DOTALL)


class InspectEvals(Profile):
    """Tasks ``humaneval`` and ``mbpp``, the latter on sanitized MBPP; the exit code decides."""

    name: ClassVar[str] = "inspect-evals"
    version: ClassVar[str] = "27a087b"
    summary: ClassVar[str] = "inspect_evals of October 2024: first fence, signature cut off, `python -c`, 30 s"
    current: ClassVar[bool] = False
    covers: ClassVar[tuple[Kind, ...]] = ("function", "description")
    takes: ClassVar[Takes] = "program"
    only: ClassVar[Mapping[str, tuple[str, ...]]] = MappingProxyType({"description": ("mbpp-sanitized",)})
    rules: ClassVar[tuple[Rule, ...]] = (
        Rule("prompt", "HumanEval: simple-evals' sentence over three lines, then the task's prompt", _HUMANEVAL),
        Rule("prompt", "MBPP: AgentCoder's layout, tasks 2, 3, 4 as shots; temperature 0.5; test split", _MBPP),
        Rule("extraction", "HumanEval: first ```python fence, else first bare fence, else the whole reply; then"
             " everything up to the first colon that ends a line before four blanks is dropped", _HUMANEVAL),
        Rule("extraction", "MBPP: first ```python fence, else the whole reply", _MBPP),
        Rule("program", "HumanEval: prompt + answer + newline + test + newline + check(entry_point)", _HUMANEVAL),
        Rule("program", "MBPP: answer directly followed by each assert with its own text as message", _MBPP),
        Rule("comparison", "python -c: passed if the exit code is 0", f"{_HUMANEVAL}; {_MBPP}"),
        Rule("limits", "30 s of wall time; here 30 s of CPU and 31 s of wall time", f"{_HUMANEVAL}; {_MBPP}"),
        Rule("aggregation", "5 epochs; mean and unbiased pass@1, 2, 5", f"{_HUMANEVAL}; {_MBPP}"),
    )  # fmt: skip
    defects: ClassVar[tuple[str, ...]] = (
        "the exit code decides: sys.exit(0), os._exit(0) or raise SystemExit(0) in the answer passes",
        "tests share the candidate's process: an object equal to everything passes (mark tests-inside)",
        "HumanEval: helpers and imports before the first indented body are dropped",
        "HumanEval: where no line ends in a colon before four blanks, the answer loses its first character",
        "HumanEval: of a body-only answer, the part up to its first compound statement is dropped",
        "MBPP: test_imports are left out, so ten tasks need an answer that imports what the tests use",
        "MBPP: an answer without a final newline runs into the first assert and is a syntax error",
        "main blocks of answers run, since the program is __main__",
        "the container's Python has no numpy; here it may be there",
    )
    ks: ClassVar[tuple[int, ...]] = (1, 2, 5)
    limits: ClassVar[Limits] = Limits(cpu_s=30.0, wall_s=31.0)

    def render_prompt(
        self, problem: Problem, variant: str | None = None, examples: Mapping[str, Problem] = NO_EXAMPLES
    ) -> Prompt:
        """One user message."""
        check_variant(self, variant)
        task = function_task(self, problem)
        if task.prefix:
            return chat("humaneval.inspect.user", {"prompt": task.prompt})
        prompt = chat("mbpp.inspect.user", {"prompt": task.prompt, "tests": "\n".join(task.shown_tests)})
        return msgspec.structs.replace(prompt, shots=_SHOTS)

    def extract(self, problem: Problem, completion: Completion) -> Answer:
        """Take the first fence; of a HumanEval answer, cut the signature off."""
        task = function_task(self, problem)
        text = completion.text or ""
        if completion.form == "program":
            return Answer(value=text, found="as given: a whole program")
        if not task.prefix:
            code, found = _first_fence(text, _PYTHON_FENCE)
            return Answer(value=code, found=found)
        code, found = _first_fence(text, _PYTHON_FENCE, _BARE_FENCE)
        return Answer(value=without_signature(code), found=f"{found}, signature cut off", form="completion")

    def judgement(self, problem: Problem, answer: Answer, executor: Executor) -> Judgement:
        """Run the program as ``python -c`` does and look at the exit code."""
        task = function_task(self, problem)
        code = answer.value or ""
        program = _humaneval_program(task, answer.form, code) if task.prefix else code + _asserts(task)
        return from_outcome(executor.script(program), marks=(TESTS_INSIDE,))


def without_signature(code: str) -> str:
    """The code from the end of the line that the first four-blank body follows; see `InspectEvals.defects`."""
    # Where there is none, find gives -1 and the code loses its first character.
    return code[code.find(":\n    ") + 2 :]


def _first_fence(text: str, *patterns: re.Pattern[str]) -> tuple[str, str]:
    for pattern in patterns:
        if match := pattern.search(text):
            return match[1], "first python fence" if pattern is _PYTHON_FENCE else "first bare fence"
    return text, "no fence: the whole reply"


def _humaneval_program(task: FunctionTask, form: str, code: str) -> str:
    return f"{task.prefix if form == 'completion' else ''}{code}\n{task.tests}"


def _asserts(task: FunctionTask) -> str:
    """Each test with what stands behind its ``assert`` as the message."""
    return "".join(f"{test}, {test[len('assert ') :]!r}\n" for test in task.shown_tests)
