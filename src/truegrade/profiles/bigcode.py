"""`bigcode`, `bigcode-instruct` and `humanevalpack`: bigcode-project/bigcode-evaluation-harness @8fc5bae6."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import ClassVar

from truegrade import prompts
from truegrade.errors import UnknownName, UserError
from truegrade.grading.executor import Executor
from truegrade.grading.functions import expected_outputs
from truegrade.grading.joined_tests import with_joined
from truegrade.grading.judgement import Judgement
from truegrade.kinds import Context
from truegrade.profiles.base import NO_EXAMPLES, Profile, Way, check_variant, covered_task
from truegrade.profiles.function_scope import IMPORT_HELPER, needed_imports
from truegrade.profiles.harness_runs import FunctionProfile, grade_guarded, with_tests
from truegrade.prompts.making import HUMANEVALPACK_STOP, RenderPrompt, base, before_stop, continuation
from truegrade.records import Answer, Completion, FunctionTask, OracleTask, Problem, Prompt
from truegrade.sandbox import Limits

# ----------------------------------------------------------------------------------------------------------------
# `bigcode` and `bigcode-instruct`: HumanEval and MBPP of bigcode-project/bigcode-evaluation-harness @8fc5bae6.


HUMANEVAL_STOP = ("\nclass", "\ndef", "\n#", "\n@", "\nprint", "\nif", "\n```", "<file_sep>")
MBPP_STOP = ("\nclass", "\nassert", '\n"""', "\nprint", "\nif", "\n<|/", "\n```")
INSTRUCT_STOP = ("if __name__", "\nprint", "\nclass")

_FENCE = "```"
_LANGUAGE = "python"
_RETURN = "  return "
_LINE = re.compile(r"[^\n]+")

PLUS_CPU_S = {"humanevalplus": 20.0, "mbppplus": 10.0}
"""Limits of the plus sets (``humanevalplus.py``, ``mbppplus.py``)."""

_LIMITS = Limits(cpu_s=3.0)


def _humaneval_prompts(problem: Problem, task: FunctionTask | OracleTask, _: object) -> dict[str, RenderPrompt]:
    """The harness' text for a base model, whose ends it strips unless ``unstripped`` is asked for."""
    source = "openai_humaneval, field prompt, as stored"
    values = {"prompt_stripped": task.prompt.strip()}
    return {
        "default": lambda: base("bigcode.humaneval.prompt", values, stop=HUMANEVAL_STOP),
        "unstripped": lambda: continuation(task.prompt, source=source, stop=HUMANEVAL_STOP),
    }


def _mbpp_prompts(problem: Problem, task: FunctionTask, _: object) -> dict[str, RenderPrompt]:
    return dict.fromkeys(_STYLES, lambda: base("mbpp.bigcode.prompt", _mbpp_values(task), stop=MBPP_STOP))


def _plus_prompts(problem: Problem, task: OracleTask, examples: object) -> dict[str, RenderPrompt]:
    """HumanEval+'s as HumanEval's.

    Raises:
        UserError: the benchmark is MBPP+, whose file lacks the words that the harness sends.
    """
    if problem.benchmark == "mbppplus":
        raise UserError(
            "profile 'bigcode' cannot ask mbppplus: 18 prompts of the hub's copy differ from MBPP+'s file;"
            " generate under evalplus and grade with `profile` bigcode"
        )
    return _humaneval_prompts(problem, task, examples)


def _extract_humaneval(problem: Problem, task: FunctionTask | OracleTask, completion: Completion) -> Answer:
    """The prompt and the text up to a stop word."""
    stripped = completion.prompt_sha256 == _humaneval_prompts(problem, task, None)["default"]().sha256
    return _behind(task.prompt.strip() if stripped else task.prompt, completion, HUMANEVAL_STOP)


def _extract_mbpp(problem: Problem, task: FunctionTask, completion: Completion) -> Answer:
    return _behind(prompts.render("mbpp.bigcode.prompt", **_mbpp_values(task)), completion, MBPP_STOP)


def _extract_plus(problem: Problem, task: OracleTask, completion: Completion) -> Answer:
    """MBPP+'s prompt is in this form already."""
    if task.prefix:
        return _extract_humaneval(problem, task, completion)
    return _behind(task.prompt, completion, MBPP_STOP)


def _behind(asked: str, completion: Completion, stops: tuple[str, ...]) -> Answer:
    text = completion.text or ""
    if completion.form == "program":
        return Answer(value=text, found="as given: a whole program")
    return Answer(value=asked + before_stop(text, stops), found="prompt + text up to a stop word")


def _judge(problem: Problem, task: FunctionTask | OracleTask, answer: Answer, context: Context) -> Judgement:
    """Execute generation and tests as one program."""
    cpu_s = context.cpu_s(PLUS_CPU_S.get(problem.benchmark))
    # Every task but MBPP puts a newline of its own in front of the tests.
    between = "\n" if problem.benchmark == "mbpp" else "\n\n"

    def grade(tests: str) -> Judgement:
        source = f"{answer.value or ''}{between}{tests}"
        return with_joined(grade_guarded(source, context.executor, cpu_s=cpu_s), source, tests)

    return with_tests(problem, context.kept(expected_outputs), context.executor, grade)


_STYLES = ("default", "unstripped")


class Bigcode(Profile):
    """Tasks ``humaneval``, ``mbpp`` and their plus sets: texts for a base model to continue."""

    name = "bigcode"
    version = "8fc5bae6"
    ways: ClassVar[Mapping[str, Way]] = {
        "function": Way(prompts=_humaneval_prompts, extract=_extract_humaneval, judge=_judge),
        "description": Way(prompts=_mbpp_prompts, extract=_extract_mbpp, judge=_judge, only=("mbpp",)),
        "oracle": Way(
            prompts=_plus_prompts, extract=_extract_plus, judge=_judge, only=("humanevalplus", "mbppplus")
        ),
    }
    takes = "continuation"
    variants = _STYLES
    limits = _LIMITS


class BigcodeInstruct(FunctionProfile):
    """Tasks ``instruct-humaneval`` and ``instruct-humaneval-nocontext``."""

    name, version = "bigcode-instruct", "8fc5bae6"
    takes = "program"
    limits = _LIMITS

    def ask(self, task: FunctionTask, problem: Problem, examples: Mapping[str, Problem]) -> Prompt:
        """Refuse: the words are in a data set that Truegrade does not carry.

        Raises:
            UserError: always.
        """
        raise UserError(
            "profile 'bigcode-instruct' cannot ask: its instructions are in codeparrot/instructhumaneval, which"
            " truegrade does not carry; generate under another profile and grade with `profile` bigcode-instruct"
        )

    def extract(self, problem: Problem, completion: Completion) -> Answer:
        """The function as the harness cuts it out."""
        if completion.form != "completion":
            return super().extract(problem, completion)
        task = covered_task(self, problem, FunctionTask)
        text = task.prefix + (completion.text or "")
        return Answer(value=with_context(text, task.entry_point), found="with context")

    def read(self, task: FunctionTask, reply: str) -> Answer:
        """The function out of a reply that is not behind the prompt."""
        return Answer(value=without_context(reply, task.prompt, task.entry_point), found="without context")

    def program(self, task: FunctionTask, answer: Answer) -> str:
        """Generation and tests; HumanEval's reference begins with a newline of its own."""
        between = "\n\n" if task.prefix else "\n"
        return f"{answer.value or ''}{between}{task.tests}"


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


# ----------------------------------------------------------------------------------------------------------------
# `humanevalpack`: HumanEvalFix and HumanEvalSynthesize of bigcode-project/bigcode-evaluation-harness @8fc5bae6.
# The metric ``Muennighoff/code_eval_octopack``, which the harness loads from the Hub, was read in its copy,
# infi-coder/infibench-evaluator@96cb098 ``code_eval_octopack/``.


_TASKS = "bigcode-project/bigcode-evaluation-harness@8fc5bae6 bigcode_eval/tasks/humanevalpack.py"

STOP = HUMANEVALPACK_STOP


class HumanEvalPack(FunctionProfile):
    """Texts for a model to continue: an instruction, and the head of the function."""

    name, version = "humanevalpack", "8fc5bae6"
    covers = ("function", "repair")
    takes = "continuation"
    only = MappingProxyType({"function": ("humanevalsynthesize", "humanevalexplain"), "repair": ("humanevalfix",)})
    variants = ("default", "continue")
    limits = Limits(cpu_s=10.0)

    def render_prompt(
        self, problem: Problem, variant: str | None = None, examples: Mapping[str, Problem] = NO_EXAMPLES
    ) -> Prompt:
        """The harness' text for a model to continue.

        Raises:
            UnknownName: there is no such variant, or not for a program to repair.
        """
        style = check_variant(self, variant)
        task = covered_task(self, problem, FunctionTask)
        if style == "continue" and task.buggy:
            raise UnknownName("prompt variant", style, ("default",), f"for {problem.benchmark} under {self.name}")
        content = task.prefix.strip() if style == "continue" else _asked(task)
        return continuation(content, source=_TASKS, stop=STOP)

    def read(self, task: FunctionTask, reply: str) -> Answer:
        """The head and the text up to the first line that is not indented."""
        return Answer(value=_head(task).rstrip() + first_function(reply), found="head + first function")

    def judgement(self, problem: Problem, answer: Answer, executor: Executor) -> Judgement:
        """Execute imports, generation and tests as one program."""
        program, tests = answer.value or "", f"\n{covered_task(self, problem, FunctionTask).tests}"
        imports = needed_imports(IMPORT_HELPER, program + tests)
        preload = ("numpy",) if "numpy" in imports else ()
        source = f"{imports}\n{program}".strip() + f"\n{tests}"
        judged = grade_guarded(source, executor, cpu_s=self.cpu_s(self.limits.cpu_s), preload=preload)
        return with_joined(judged, source, tests)


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
