"""`lm-eval` and `lm-eval-instruct`: HumanEval and MBPP of EleutherAI/lm-evaluation-harness @4e7e0d47f.

Its CRUXEval is in `truegrade.profiles.lm_eval_cruxeval`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import ClassVar

from truegrade import prompts
from truegrade.errors import UnknownName
from truegrade.grading.executor import Executor
from truegrade.grading.functions import References
from truegrade.grading.judgement import Judgement
from truegrade.profiles import lm_eval_cruxeval
from truegrade.profiles.base import NO_EXAMPLES, Profile, Rule, Takes
from truegrade.profiles.plus_sets import PLUS_DEFECTS, PLUS_RULE, with_tests
from truegrade.profiles.prompt_building import continuation, origin
from truegrade.profiles.refusals import check_variant, code_task, covered_task, refuse_mbppplus
from truegrade.profiles.reliability_guard import grade_guarded
from truegrade.records import (
    Answer,
    Completion,
    FunctionTask,
    InputTask,
    Message,
    OracleTask,
    OutputTask,
    Problem,
    Prompt,
    Reason,
)
from truegrade.records.kinds import Kind
from truegrade.sandbox import Limits

_REPO = "EleutherAI/lm-evaluation-harness@4e7e0d47f"
_HUMANEVAL = f"{_REPO} lm_eval/tasks/humaneval"
_MBPP = f"{_REPO} lm_eval/tasks/mbpp"
_METRIC = (
    "bigcode-project/bigcode-evaluation-harness@8fc5bae6 bigcode_eval/tasks/custom_metrics/code_eval.py"
    " (a copy of the metric code_eval of Hugging Face evaluate)"
)

UNTIL = ("\nclass", "\ndef", "\n#", "\nif", "\nprint")
"""HumanEval's stop strings (``humaneval.yaml``), inherited by the instruct task."""
_DONE = "[DONE]"
_SHOTS = ("MBPP/2", "MBPP/3", "MBPP/4")
_SHOWN = 3
"""Tests of an MBPP task that are printed and graded."""
_AFTER_FENCE = re.compile(r"\w*\n?")
_FENCE = "```"
_OPENING = "\n```python\n"

_GRADING_RULES = (
    Rule("comparison", "code_eval: passed if execution ends without an exception; SystemExit fails", _METRIC),
    Rule("limits", "3 s, no memory limit; here 3 s of CPU, 4 s of wall time and 4 GiB", _METRIC),
    Rule("aggregation", "unbiased pass@k, mean over tasks (MBPP: pass@1)", f"{_HUMANEVAL}/utils.py"),
)
_GRADING_DEFECTS = (
    "tests share the candidate's process: an object equal to everything passes most tasks (mark tests-inside)",
    "MBPP: test_setup_code is left out: task 367 cannot be solved",
    "sanitized MBPP: test_imports are left out: ten tasks need an answer that imports what the tests use",
    "OpenAI back ends send the first four stop strings only; the fifth is cut after its tokens are paid for",
    "the metric is fetched from the hub when the task is loaded: without network nothing can be graded",
)
_LIMITS = Limits(cpu_s=3.0, wall_s=4.0)


class LmEval(Profile):
    """Tasks ``humaneval``, ``humaneval_plus``, ``mbpp``, on sanitized MBPP ``mbpp_plus``, and ``cruxeval_*``."""

    name: ClassVar[str] = "lm-eval"
    version: ClassVar[str] = "4e7e0d47f"
    summary: ClassVar[str] = "lm-evaluation-harness: humaneval, mbpp, cruxeval for base models, stop strings, 3 s"
    covers: ClassVar[tuple[Kind, ...]] = (
        "function",
        "description",
        "oracle",
        "output_prediction",
        "input_prediction",
    )
    takes: ClassVar[Takes] = "continuation"
    only: ClassVar[Mapping[str, tuple[str, ...]]] = MappingProxyType(
        {
            "description": ("mbpp", "mbpp-sanitized"),
            "oracle": ("humanevalplus",),
            "output_prediction": ("cruxeval-output",),
            "input_prediction": ("cruxeval-input",),
        }
    )
    variants: ClassVar[tuple[str, ...]] = lm_eval_cruxeval.VARIANTS
    rules: ClassVar[tuple[Rule, ...]] = (
        Rule("prompt", "HumanEval: the data set's prompt as stored, 1024 tokens, greedy",
             f"{_HUMANEVAL}/humaneval.yaml"),
        Rule("prompt", "MBPP: the paper's prompt, tasks 2, 3, 4 as shots, three tests", f"{_MBPP}/mbpp.yaml"),
        Rule("prompt", "mbpp-sanitized is asked and graded as mbpp_plus is: field prompt, tests of test_list",
             f"{_MBPP}/mbpp_plus.yaml"),
        Rule("extraction", r"HumanEval: the reply up to \nclass \ndef \n# \nif \nprint; MBPP: up to [DONE]",
             f"{_REPO} lm_eval/models/utils.py postprocess_generated_text"),
        Rule("program", "HumanEval: prompt + reply + newline + test + newline + check(entry_point)",
             f"{_HUMANEVAL}/utils.py build_predictions"),
        Rule("program", "MBPP: reply + newline + first three tests", f"{_MBPP}/mbpp.yaml"),
        *_GRADING_RULES,
        PLUS_RULE,
        *lm_eval_cruxeval.RULES,
    )  # fmt: skip
    defects: ClassVar[tuple[str, ...]] = (
        *_GRADING_DEFECTS,
        PLUS_DEFECTS[0],
        "humaneval_plus has 3 s for all inputs of a task, where EvalPlus has up to 60",
        "mbpp_plus grades the first three asserts; the plus tests of its data set are never used (issue 4212)",
        "mbpp_plus scores tasks 2, 3 and 4, whose solutions its prompt shows; so does this profile",
        "stop strings written for base models cut a chat answer at its second top-level statement",
        *lm_eval_cruxeval.DEFECTS,
    )
    limits: ClassVar[Limits] = _LIMITS

    def __init__(self) -> None:
        self._references = References()

    def render_prompt(
        self, problem: Problem, variant: str | None = None, examples: Mapping[str, Problem] = NO_EXAMPLES
    ) -> Prompt:
        """The harness' own text for a base model; ``cot`` is a text of CRUXEval's tasks."""
        name = check_variant(self, variant)
        prediction = self._prediction(problem)
        if prediction is not None:
            return lm_eval_cruxeval.renderers(prediction)[name]()
        if name != "default":
            raise UnknownName("prompt variant", name, ("default",), f"for {problem.benchmark} under {self.name}")
        task = self._task(problem)
        if task.prefix:
            return continuation(task.prompt, source="the data set's prompt, as stored", stop=UNTIL)
        # mbpp_plus scores its shots, see `defects`.
        shots = _SHOTS if problem.benchmark == "mbpp" else ()
        return continuation(
            _few_shot("mbpp.lm_eval", task), source=origin("mbpp.lm_eval"), stop=(_DONE,), shots=shots
        )

    def extract(self, problem: Problem, completion: Completion) -> Answer:
        """Cut the reply at the first stop string; take a prediction as its filter does."""
        prediction = self._prediction(problem)
        if prediction is not None:
            return lm_eval_cruxeval.extract(prediction, completion)
        task = self._task(problem)
        if completion.form == "program":
            return Answer(value=completion.text or "", found="as given: a whole program")
        value = cut(completion.text or "", UNTIL if task.prefix else (_DONE,))
        return Answer(value=value, found="up to a stop string", form="completion")

    def judgement(self, problem: Problem, answer: Answer, executor: Executor) -> Judgement:
        """Execute the program and the tests as one source."""
        prediction = self._prediction(problem)
        if prediction is not None:
            return lm_eval_cruxeval.judgement(prediction, answer, executor)
        task = self._task(problem)
        if not task.prefix:
            return _grade("", answer, "\n".join(task.shown_tests[:_SHOWN]), executor)
        return with_tests(
            problem, self._references, executor, lambda tests: _grade(task.prefix, answer, tests, executor)
        )

    def _prediction(self, problem: Problem) -> OutputTask | InputTask | None:
        """CRUXEval's task, where the problem is one of CRUXEval's."""
        if not isinstance(problem.task, OutputTask | InputTask):
            return None
        return covered_task(self, problem, OutputTask, InputTask)

    def _task(self, problem: Problem) -> FunctionTask | OracleTask:
        refuse_mbppplus(self, problem)
        return code_task(self, problem)


class LmEvalInstruct(Profile):
    """Tasks ``humaneval_instruct``, ``mbpp_instruct`` and ``mbpp_plus_instruct``."""

    name: ClassVar[str] = "lm-eval-instruct"
    version: ClassVar[str] = "4e7e0d47f"
    summary: ClassVar[str] = "lm-evaluation-harness, instruct tasks: the answer's fence is opened in the prompt"
    covers: ClassVar[tuple[Kind, ...]] = ("function", "description", "oracle")
    takes: ClassVar[Takes] = "continuation"
    only: ClassVar[Mapping[str, tuple[str, ...]]] = MappingProxyType(
        {"description": ("mbpp", "mbpp-sanitized"), "oracle": ("mbppplus",)}
    )
    variants: ClassVar[tuple[str, ...]] = ("default", "text")
    rules: ClassVar[tuple[Rule, ...]] = (
        Rule("prompt", "HumanEval: the task in a fence; the assistant's turn is opened with the task's own code",
             f"{_HUMANEVAL}/humaneval_instruct.yaml (version 4)"),
        Rule("prompt", "MBPP: three shots as turns, the assistant's turn opened with a fence, 256 tokens",
             f"{_MBPP}/mbpp_instruct.yaml"),
        Rule("prompt", "MBPP+, and sanitized MBPP likewise: no shots, one test shown, 1024 tokens",
             f"{_MBPP}/mbpp_plus_instruct.yaml"),
        Rule("prompt", "variant text: without a chat template all turns are joined into one text to continue",
             f"{_REPO} lm_eval/api/task.py fewshot_context"),
        Rule("extraction", "HumanEval: up to a stop string of the base task, then up to the first fence",
             f"{_HUMANEVAL}/utils.py build_predictions_instruct"),
        Rule("extraction", "MBPP: first match of a fence pattern in three back-ticks + reply",
             f"{_MBPP}/utils.py extract_code_blocks"),
        Rule("program", "HumanEval: prompt + answer + newline + test + newline + check(entry_point)",
             f"{_HUMANEVAL}/utils.py"),
        Rule("program", "MBPP: answer + newline + first three tests; MBPP+ and sanitized: + the one test shown",
             f"{_MBPP}/mbpp_instruct.yaml, mbpp_plus_instruct.yaml"),
        *_GRADING_RULES,
    )  # fmt: skip
    defects: ClassVar[tuple[str, ...]] = (
        *_GRADING_DEFECTS,
        "MBPP: the pattern takes the answer's first word for a language: `def f(x)` becomes ` f(x)`",
        "MBPP: an answer without a closing fence, or with a fence of its own, becomes empty or a scrap",
        "HumanEval: the base task's stop strings are inherited: an answer with imports ends before its def",
        "mbpp_plus_instruct grades only the assert that its prompt shows (issue 4212)",
        "mbpp_plus_instruct: 18 prompts of the hub's copy hold a web link that MBPP+'s file lacks",
        "without a chat template the assert and 'Here is a solution' stand on one line, nothing between them",
    )
    limits: ClassVar[Limits] = _LIMITS

    def render_prompt(
        self, problem: Problem, variant: str | None = None, examples: Mapping[str, Problem] = NO_EXAMPLES
    ) -> Prompt:
        """Turns for a chat model, the last one begun for it; ``text``: the same as one text to continue."""
        style = check_variant(self, variant)
        task = code_task(self, problem)
        if task.prefix:
            turns, source = _humaneval_turns(task), "humaneval.lm_eval_instruct.user"
        elif problem.benchmark == "mbpp" and isinstance(task, FunctionTask):
            source = "mbpp.lm_eval_instruct"
            if style == "text":
                return continuation(_few_shot(source, task), source=origin(source), shots=_SHOTS)
            return Prompt(messages=_mbpp_turns(task), source=origin(source), shots=_SHOTS)
        else:
            turns, source = _one_test_turns(task), "mbpp_plus.lm_eval_instruct.user"
        stop = UNTIL if task.prefix else ()
        if style == "text":
            return continuation("".join(turn.content for turn in turns), source=origin(source), stop=stop)
        return Prompt(messages=turns, source=origin(source), stop=stop)

    def extract(self, problem: Problem, completion: Completion) -> Answer:
        """Take what the harness' filter takes."""
        text = completion.text or ""
        if completion.form == "program":
            return Answer(value=text, found="as given: a whole program")
        if code_task(self, problem).prefix:
            value = cut(text, UNTIL).partition(_FENCE)[0]
            return Answer(value=value, found="up to a stop string or fence", form="completion")
        code = first_fence_of_opened(text)
        if not code:
            return Answer(value=None, found="the fence pattern matched nothing", reason=Reason.NO_CODE)
        return Answer(value=code, found="first match of the fence pattern")

    def judgement(self, problem: Problem, answer: Answer, executor: Executor) -> Judgement:
        """Execute the program and the tests as one source."""
        task = code_task(self, problem)
        if isinstance(task, FunctionTask) and task.prefix:
            return _grade(task.prefix, answer, task.tests, executor)
        shown = _SHOWN if problem.benchmark == "mbpp" else 1
        return _grade("", answer, "\n".join(task.shown_tests[:shown]), executor)


def cut(text: str, stops: tuple[str, ...]) -> str:
    """The text before the first of the stop strings."""
    for stop in stops:
        text = text.partition(stop)[0]
    return text


def first_fence_of_opened(text: str) -> str:
    r"""Code of a reply that continues an opened fence; empty if it never closes. Eats the first word.

    What ``\`\`\`(?:\w+)?\n?(.*?)\n?\`\`\``` finds in three back-ticks and the reply, in linear time.
    """
    opened = _AFTER_FENCE.match(text)
    assert opened is not None  # it matches nothing, too
    start, end = opened.end(), text.find(_FENCE, opened.end())
    return text[start:end].removesuffix("\n") if end >= 0 else ""


def _grade(prefix: str, answer: Answer, tests: str, executor: Executor) -> Judgement:
    start = prefix if answer.form == "completion" else ""
    return grade_guarded(f"{start}{answer.value or ''}\n{tests}", executor)


def _few_shot(prompt_id: str, task: FunctionTask | OracleTask) -> str:
    tests = {f"test{index}": test for index, test in enumerate(task.shown_tests[:_SHOWN])}
    return prompts.render(prompt_id, text=task.prompt, **tests)


def _humaneval_turns(task: FunctionTask | OracleTask) -> tuple[Message, ...]:
    user = prompts.render("humaneval.lm_eval_instruct.user", prompt=task.prompt)
    opening = prompts.render("humaneval.lm_eval_instruct.gen_prefix", prompt=task.prompt)
    return Message(role="user", content=user), Message(role="assistant", content=opening)


def _mbpp_turns(task: FunctionTask) -> tuple[Message, ...]:
    """The few-shot text as turns: question, opened fence with the solution, and so on."""
    turns: list[Message] = []
    for part in _few_shot("mbpp.lm_eval_instruct", task).split(f"\n{_FENCE}\n\n", maxsplit=len(_SHOTS)):
        question, opening, code = part.partition(_OPENING)
        closing = f"\n{_FENCE}" if code else ""
        turns.append(Message(role="user", content=question))
        turns.append(Message(role="assistant", content=opening + code + closing))
    return tuple(turns)


def _one_test_turns(task: FunctionTask | OracleTask) -> tuple[Message, ...]:
    text = task.prompt if isinstance(task, FunctionTask) else _description(task)
    user = prompts.render("mbpp_plus.lm_eval_instruct.user", text=text, test0=task.shown_tests[0])
    opening = prompts.render("mbpp_plus.lm_eval_instruct.gen_prefix")
    return Message(role="user", content=user), Message(role="assistant", content=opening)


def _description(task: OracleTask) -> str:
    """The sentence inside an MBPP+ prompt, which is a string literal of it and the shown assert."""
    lines = str(ast.literal_eval(task.prompt.strip())).strip().splitlines()
    return "\n".join(line for line in lines if line not in task.shown_tests)
