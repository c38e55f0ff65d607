"""`bigcode` and `bigcode-instruct`: HumanEval and MBPP of bigcode-project/bigcode-evaluation-harness @8fc5bae6."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import ClassVar

from truegrade import prompts
from truegrade.errors import UserError
from truegrade.grading.executor import Executor
from truegrade.grading.functions import References
from truegrade.grading.judgement import Judgement
from truegrade.profiles.base import NO_EXAMPLES, Profile, Rule, Takes
from truegrade.profiles.plus_sets import PLUS_DEFECTS, PLUS_RULE, with_tests
from truegrade.profiles.prompt_building import base, before_stop, continuation
from truegrade.profiles.refusals import check_variant, code_task, function_task
from truegrade.profiles.reliability_guard import grade_guarded
from truegrade.records import Answer, Completion, FunctionTask, OracleTask, Problem, Prompt
from truegrade.records.kinds import Kind
from truegrade.sandbox import Limits

_REPO = "bigcode-project/bigcode-evaluation-harness@8fc5bae6"
_HUMANEVAL = f"{_REPO} bigcode_eval/tasks/humaneval.py"
_MBPP = f"{_REPO} bigcode_eval/tasks/mbpp.py"
_INSTRUCT = f"{_REPO} bigcode_eval/tasks/instruct_humaneval.py"
_METRIC = f"{_REPO} bigcode_eval/tasks/custom_metrics"

HUMANEVAL_STOP = ("\nclass", "\ndef", "\n#", "\n@", "\nprint", "\nif", "\n```", "<file_sep>")
MBPP_STOP = ("\nclass", "\nassert", '\n"""', "\nprint", "\nif", "\n<|/", "\n```")
INSTRUCT_STOP = ("if __name__", "\nprint", "\nclass")

_FENCE = "```"
_LANGUAGE = "python"
_RETURN = "  return "
_LINE = re.compile(r"[^\n]+")

PLUS_CPU_S = {"humanevalplus": 20.0, "mbppplus": 10.0}
"""Limits of the plus sets (``humanevalplus.py``, ``mbppplus.py``)."""

_GRADING_RULES = (
    Rule("program", "human-eval's guard; __name__ is 'builtins'", f"{_METRIC}/execute.py"),
    Rule("comparison", "passed if execution ends without an exception; SystemExit fails", f"{_METRIC}/execute.py"),
    Rule(
        "limits", "3 s, no memory limit; here 3 s of CPU, 14 s of wall time and 4 GiB", f"{_METRIC}/code_eval.py"
    ),
    Rule("aggregation", "unbiased pass@1, 10, 100, mean over tasks", f"{_METRIC}/code_eval.py"),
)
_SHARED_DEFECT = (
    "tests share the candidate's process: an object equal to everything passes most tasks (mark tests-inside)"
)
_LIMITS = Limits(cpu_s=3.0)


class Bigcode(Profile):
    """Tasks ``humaneval``, ``mbpp`` and their plus sets: texts for a base model to continue."""

    name: ClassVar[str] = "bigcode"
    version: ClassVar[str] = "8fc5bae6"
    summary: ClassVar[str] = "bigcode-evaluation-harness: prompt + continuation cut at a stop word, 3 s"
    covers: ClassVar[tuple[Kind, ...]] = ("function", "description", "oracle")
    takes: ClassVar[Takes] = "continuation"
    only: ClassVar[Mapping[str, tuple[str, ...]]] = MappingProxyType(
        {"description": ("mbpp",), "oracle": ("humanevalplus", "mbppplus")}
    )
    variants: ClassVar[tuple[str, ...]] = ("default", "unstripped")
    rules: ClassVar[tuple[Rule, ...]] = (
        Rule("prompt", "HumanEval: the prompt stripped; unstripped: as stored", _HUMANEVAL),
        Rule("prompt", "MBPP: a docstring of the description and the first test; no shots", _MBPP),
        Rule("extraction", r"HumanEval: up to \nclass \ndef \n# \n@ \nprint \nif \n``` <file_sep>; the"
             " harness adds the tokenizer's end of text, which services take away themselves", _HUMANEVAL),
        Rule("extraction", r'MBPP: up to \nclass \nassert \n""" \nprint \nif \n<|/ \n```', _MBPP),
        Rule("extraction", "the prompt that was sent is put back; without a record of it, the prompt as stored",
             f"{_REPO} bigcode_eval/utils.py update_code_gens"),
        Rule("extraction", "a given whole program is graded as it is", f"{_REPO} main.py --load_generations_path"),
        Rule("program", "HumanEval: generation + two newlines + test + newline + check(entry_point)", _HUMANEVAL),
        Rule("program", "MBPP: generation + newline + the three tests", _MBPP),
        *_GRADING_RULES,
        PLUS_RULE,
        Rule("limits", "humanevalplus 20 s, mbppplus 10 s; here CPU time, with three times that and 5 s in wall"
             " time", f"{_REPO} bigcode_eval/tasks/humanevalplus.py, mbppplus.py"),
    )  # fmt: skip
    defects: ClassVar[tuple[str, ...]] = (
        _SHARED_DEFECT,
        *PLUS_DEFECTS,
        "MBPP: test_setup_code is left out: task 367 cannot be solved",
        "MBPP: anything but the 500 tasks of the test split stops the harness (assert); here any split is graded",
        "stop words written for base models cut a chat answer at its second top-level statement",
        "HumanEval: a stripped prompt ends behind its docstring: text that begins with code breaks the line",
        "n_copies becomes 2 without a word where tasks are no multiple of devices: more samples than asked for",
        "mbppplus: 18 of the hub's prompts hold a web link that MBPP+'s file lacks: it is not asked here",
    )
    limits: ClassVar[Limits] = _LIMITS

    def __init__(self) -> None:
        self._references = References()

    def render_prompt(
        self, problem: Problem, variant: str | None = None, examples: Mapping[str, Problem] = NO_EXAMPLES
    ) -> Prompt:
        """The harness' text for a base model; ``unstripped`` changes HumanEval's only.

        Raises:
            UserError: the benchmark is MBPP+, whose file lacks the words that the harness sends.
        """
        style = check_variant(self, variant)
        task = code_task(self, problem)
        if problem.benchmark == "mbppplus":
            raise UserError(
                "profile 'bigcode' cannot ask mbppplus: 18 prompts of the hub's copy differ from MBPP+'s file;"
                " generate under evalplus and grade with `profile` bigcode"
            )
        if not task.prefix:
            return base("mbpp.bigcode.prompt", _mbpp_values(task), stop=MBPP_STOP)
        if style == "unstripped":
            return continuation(
                task.prompt, source="openai_humaneval, field prompt, as stored", stop=HUMANEVAL_STOP
            )
        values = {"prompt_stripped": task.prompt.strip()}
        return base("bigcode.humaneval.prompt", values, stop=HUMANEVAL_STOP)

    def extract(self, problem: Problem, completion: Completion) -> Answer:
        """The prompt and the text up to a stop word."""
        task = code_task(self, problem)
        text = completion.text or ""
        if completion.form == "program":
            return Answer(value=text, found="as given: a whole program")
        found = "prompt + text up to a stop word"
        if not task.prefix:
            # MBPP+'s prompt is in this form already.
            mbpp = isinstance(task, FunctionTask)
            asked = prompts.render("mbpp.bigcode.prompt", **_mbpp_values(task)) if mbpp else task.prompt
            return Answer(value=asked + before_stop(text, MBPP_STOP), found=found)
        stripped = completion.prompt_sha256 == self.render_prompt(problem).sha256
        asked = task.prompt.strip() if stripped else task.prompt
        return Answer(value=asked + before_stop(text, HUMANEVAL_STOP), found=found)

    def judgement(self, problem: Problem, answer: Answer, executor: Executor) -> Judgement:
        """Execute generation and tests as one program."""
        code_task(self, problem)
        cpu_s = self.cpu_s(PLUS_CPU_S.get(problem.benchmark, self.limits.cpu_s))
        # Every task but MBPP puts a newline of its own in front of the tests.
        between = "\n" if problem.benchmark == "mbpp" else "\n\n"
        return with_tests(
            problem, self._references, executor,
            lambda tests: grade_guarded(f"{answer.value or ''}{between}{tests}", executor, cpu_s=cpu_s),
        )  # fmt: skip


class BigcodeInstruct(Profile):
    """Tasks ``instruct-humaneval`` and ``instruct-humaneval-nocontext``."""

    name: ClassVar[str] = "bigcode-instruct"
    version: ClassVar[str] = "8fc5bae6"
    summary: ClassVar[str] = "bigcode-evaluation-harness, instruct-humaneval: cut behind the last return, 3 s"
    covers: ClassVar[tuple[Kind, ...]] = ("function",)
    takes: ClassVar[Takes] = "program"
    rules: ClassVar[tuple[Rule, ...]] = (
        Rule("prompt", "none here: its words are fields of codeparrot/instructhumaneval, which is not carried;"
             " grade completions that were made elsewhere or under another profile", _INSTRUCT),
        Rule("extraction", "text that continues code, by instruct-humaneval (with context), the prompt taken for"
             " the context: up to 'if __name__' \\nprint \\nclass; from the asked def on, up to the first line"
             " that is not indented", _INSTRUCT),
        Rule("extraction", "a reply, by instruct-humaneval-nocontext: what follows the first fence; up to a stop"
             " word; from the asked def to the end of the line of the last '  return ', or to a fence", _INSTRUCT),
        Rule("program", "nocontext: what the prompt holds before its def, stripped, is put before the answer;"
             " then two newlines, test, newline, check(entry_point)", _INSTRUCT),
        *_GRADING_RULES,
    )  # fmt: skip
    defects: ClassVar[tuple[str, ...]] = (
        _SHARED_DEFECT,
        "nocontext: helpers and imports before the asked def are dropped, and all behind the last '  return '",
        "nocontext: without '  return ' only the first line of the def is left",
        "nocontext: 'if __name__' and the other stop words also cut text and helpers before the answer",
        "nocontext: a language tag other than `python` becomes code, as prose does without a fence",
        "with context: without the asked def, everything but the last character is kept",
        "with context: the def ends at the first line that is not indented: a docstring or bracket may end it",
    )
    limits: ClassVar[Limits] = _LIMITS

    def render_prompt(
        self, problem: Problem, variant: str | None = None, examples: Mapping[str, Problem] = NO_EXAMPLES
    ) -> Prompt:
        """Refuse: the words are in a data set that Truegrade does not carry.

        Raises:
            UserError: always.
        """
        check_variant(self, variant)
        function_task(self, problem)
        raise UserError(
            "profile 'bigcode-instruct' cannot ask: its instructions are in codeparrot/instructhumaneval, which"
            " truegrade does not carry; generate under another profile and grade with `profile` bigcode-instruct"
        )

    def extract(self, problem: Problem, completion: Completion) -> Answer:
        """The function as the harness cuts it out."""
        task = function_task(self, problem)
        text = completion.text or ""
        if completion.form == "program":
            return Answer(value=text, found="as given: a whole program")
        if completion.form == "completion":
            return Answer(value=with_context(task.prefix + text, task.entry_point), found="with context")
        return Answer(value=without_context(text, task.prompt, task.entry_point), found="without context")

    def judgement(self, problem: Problem, answer: Answer, executor: Executor) -> Judgement:
        """Execute generation and tests as one program."""
        return _grade(function_task(self, problem), answer, executor)


def with_context(generation: str, entry_point: str) -> str:
    """Context and answer up to the end of the asked function, as ``InstructHumanEvalWithContext`` cuts them."""
    generation = before_stop(generation, INSTRUCT_STOP)
    at = generation.find(f"def {entry_point}")
    return generation[:at] + first_block(generation[at:])


def first_block(code: str) -> str:
    """The first line that is not empty and all indented or empty ones behind it (``remove_after_return``)."""
    lines = list(_LINE.finditer(code))
    ends = (line.start() for line in lines[1:] if not line[0][0].isspace())
    return code[: next(ends, len(code))]


def without_context(reply: str, prompt: str, entry_point: str) -> str:
    """The asked function out of a reply, as ``InstructHumanEvalWithoutContext`` cuts it.

    Args:
        reply: the whole reply.
        prompt: the task's code, whose lines before the asked def are put back.
        entry_point: the asked function.
    """
    opening = reply.find(_FENCE)
    if opening != -1:
        reply = reply[opening + len(_FENCE) :].removeprefix(_LANGUAGE)
    reply = before_stop(reply, INSTRUCT_STOP)
    start = max(reply.find(f"def {entry_point}"), 0)
    last_return = start + max(reply[start:].rfind(_RETURN), 0)
    ends = [at for at in (reply.find("\n", last_return), reply.find(_FENCE)) if at != -1]
    before = prompt[: prompt.find(f"def {entry_point}")].strip()
    return f"{before}\n{reply[start : min(ends, default=len(reply))]}"


def _mbpp_values(task: FunctionTask | OracleTask) -> dict[str, str]:
    return {"text": task.prompt, "test0": task.shown_tests[0]}


def _grade(task: FunctionTask, answer: Answer, executor: Executor) -> Judgement:
    # HumanEval's reference begins with a newline of its own.
    between = "\n\n" if task.prefix else "\n"
    return grade_guarded(f"{answer.value or ''}{between}{task.tests}", executor)
