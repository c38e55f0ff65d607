"""`lm-eval`, `lm-eval-instruct`: EleutherAI/lm-evaluation-harness @4e7e0d47f; `lm-eval-fork`: a fork of it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from truegrade import prompts
from truegrade.extraction.contest_programs import first_pair
from truegrade.files import syntax
from truegrade.grading.contests.harness import Harness
from truegrade.grading.executor import Executor
from truegrade.grading.functions import expected_outputs
from truegrade.grading.joined_tests import with_joined
from truegrade.grading.judgement import Judgement
from truegrade.kinds import Context
from truegrade.kinds.contest import question
from truegrade.profiles.base import BY_SANITIZED_MBPP, NO_EXAMPLES, Profile, Way
from truegrade.profiles.contest_profile import OFFICIAL_RULES, ContestProfile, no_metadata
from truegrade.profiles.cruxeval import INPUTS, OUTPUTS
from truegrade.profiles.harness_runs import grade_guarded, with_tests
from truegrade.prompts.making import RenderPrompt, answered_prompt, base, continuation, origin
from truegrade.records import (
    Answer,
    Completion,
    ContestTask,
    FunctionTask,
    InputTask,
    Message,
    OracleTask,
    OutputTask,
    Problem,
    Prompt,
    Reason,
)
from truegrade.sandbox import Limits
from truegrade.statistics.tally import PERCENT

# ------ CRUXEval as EleutherAI/lm-evaluation-harness @4e7e0d47f has it: the part of `lm-eval` for predictions.
# Its tasks ``cruxeval_output``, ``cruxeval_input`` and the two with ``_cot`` behind their names (added in
# fbbadbb9f) have prompts and an extraction of their own; the truth in their own format scores about 53 % on
# outputs.


_UNTIL = ("[/ANSWER]", "</seed:think>[ANSWER]")

CRUXEVAL_VARIANTS = ("default", "cot")


def _output_prompts(
    problem: Problem, task: OutputTask, examples: Mapping[str, Problem]
) -> dict[str, RenderPrompt]:
    return _cruxeval_prompts("output", {"code": task.program, "input": task.arguments})


def _input_prompts(problem: Problem, task: InputTask, examples: Mapping[str, Problem]) -> dict[str, RenderPrompt]:
    return _cruxeval_prompts("input", {"code": task.program, "output": task.expected})


def _cruxeval_prompts(kind: str, values: Mapping[str, str]) -> dict[str, RenderPrompt]:
    """The prompts of two of the four tasks, for a base model."""
    return {
        "default": lambda: base(f"cruxeval.lm_eval.{kind}", values, stop=_UNTIL),
        "cot": lambda: base(f"cruxeval.{kind}.cot", values, stop=_UNTIL),
    }


def _extract_output(problem: Problem, task: OutputTask, completion: Completion) -> Answer:
    return _filtered(completion, _output_prompts(problem, task, NO_EXAMPLES), _predicted_output)


def _extract_input(problem: Problem, task: InputTask, completion: Completion) -> Answer:
    return _filtered(completion, _input_prompts(problem, task, NO_EXAMPLES), _predicted_input)


def _filtered(
    completion: Completion, worded: Mapping[str, RenderPrompt], predicted: Callable[[str], str]
) -> Answer:
    """What the harness' filter pastes into its assertion; text that is already extracted stays as it is."""
    text = completion.text or ""
    if completion.form == "answer":
        return Answer(value=text, found="as given", form="answer")
    for stop in _UNTIL:
        text = text.split(stop, maxsplit=1)[0]
    if answered_prompt(completion, worded, CRUXEVAL_VARIANTS) != "default" and "[ANSWER]" in text:
        text = text.split("[ANSWER]")[1].strip()
    value = predicted(text).split("\n")[0].split("#")[0].strip()
    return Answer(value=value, found="CRUXEval's filter", form="answer")


def _judge_output(problem: Problem, task: OutputTask, answer: Answer, context: Context) -> Judgement:
    """Run the program and the assertion that the reply completes."""
    assertion = f"assert f({task.arguments})=={answer.value or ''}"
    return grade_guarded(f"{task.program}\n{assertion}", context.executor)


def _judge_input(problem: Problem, task: InputTask, answer: Answer, context: Context) -> Judgement:
    assertion = f"assert f({answer.value or ''})=={task.expected}"
    return grade_guarded(f"{task.program}\n{assertion}", context.executor)


def _predicted_output(text: str) -> str:
    value = text.split("==")[1] if "==" in text else text
    return value.strip().strip("\"'")


def _predicted_input(text: str) -> str:
    if "assert f(" in text:
        return _inside_parentheses(text.partition("assert f(")[2]).strip()
    if "==" in text or "assert f" in text:
        return text.split("==", maxsplit=1)[0].replace("assert f", "").strip("()").strip()
    text = text.strip()
    return text[2:-1] if text.startswith("f(") and text.endswith(")") else text


def _inside_parentheses(text: str) -> str:
    """Up to the parenthesis that closes one opened before the text; strings are not known."""
    opened = 1
    for place, character in enumerate(text):
        opened += (character == "(") - (character == ")")
        if opened == 0:
            return text[:place]
    return text.split(")", maxsplit=1)[0]


# -------- `lm-eval` and `lm-eval-instruct`: HumanEval and MBPP of EleutherAI/lm-evaluation-harness @4e7e0d47f.
# Its CRUXEval is in `truegrade.profiles.lm_eval`.


UNTIL = ("\nclass", "\ndef", "\n#", "\nif", "\nprint")
"""HumanEval's stop strings (``humaneval.yaml``), inherited by the instruct task."""
_DONE = "[DONE]"
_SHOTS = ("MBPP/2", "MBPP/3", "MBPP/4")
_SHOWN = 3
"""Tests of an MBPP task that are printed and graded."""
_AFTER_FENCE = re.compile(r"\w*\n?")
_FENCE = "```"
_OPENING = "\n```python\n"

_LIMITS = Limits(cpu_s=3.0, wall_s=4.0)


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
    source = f"{start}{answer.value or ''}\n{tests}"
    return with_joined(grade_guarded(source, executor), source, tests)


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
    lines = str(syntax.literal_eval(task.prompt.strip())).strip().splitlines()
    return "\n".join(line for line in lines if line not in task.shown_tests)


def _continued(problem: Problem, task: FunctionTask | OracleTask, _: object) -> dict[str, RenderPrompt]:
    """HumanEval's own text."""
    return {"default": lambda: continuation(task.prompt, source="the data set's prompt, as stored", stop=UNTIL)}


def _mbpp_text(problem: Problem, task: FunctionTask, _: object) -> dict[str, RenderPrompt]:
    """MBPP's three worked examples; mbpp_plus scores its shots, see `defects`."""
    shots = _SHOTS if problem.benchmark == "mbpp" else ()
    source = origin("mbpp.lm_eval")
    return {
        "default": lambda: continuation(_few_shot("mbpp.lm_eval", task), source=source, stop=(_DONE,), shots=shots)
    }


def _up_to(*stops: str) -> Callable[[Problem, Any, Completion], Answer]:
    """Cuts the reply at the first of these strings."""

    def extract(problem: Problem, task: Any, completion: Completion) -> Answer:
        if completion.form == "program":
            return Answer(value=completion.text or "", found="as given: a whole program")
        return Answer(value=cut(completion.text or "", stops), found="up to a stop string", form="completion")

    return extract


def _judge_whole(problem: Problem, task: FunctionTask | OracleTask, answer: Answer, context: Context) -> Judgement:
    """Execute the program and the tests as one source."""
    executor, references = context.executor, context.kept(expected_outputs)
    return with_tests(problem, references, executor, lambda tests: _grade(task.prefix, answer, tests, executor))


def _judge_shown(problem: Problem, task: FunctionTask, answer: Answer, context: Context) -> Judgement:
    """The same with the tests that MBPP shows."""
    return _grade("", answer, "\n".join(task.shown_tests[:_SHOWN]), context.executor)


class LmEval(Profile):
    """Tasks ``humaneval``, ``humaneval_plus``, ``mbpp``, on sanitized MBPP ``mbpp_plus``, and ``cruxeval_*``."""

    name = "lm-eval"
    version = "4e7e0d47f"
    ways: ClassVar[Mapping[str, Way]] = {
        "function": Way(prompts=_continued, extract=_up_to(*UNTIL), judge=_judge_whole),
        "description": Way(
            prompts=_mbpp_text, extract=_up_to(_DONE), judge=_judge_shown, only=("mbpp", "mbpp-sanitized")
        ),
        "oracle": Way(prompts=_continued, extract=_up_to(*UNTIL), judge=_judge_whole, only=("humanevalplus",)),
        "output_prediction": Way(
            prompts=_output_prompts, extract=_extract_output, judge=_judge_output, only=OUTPUTS
        ),
        "input_prediction": Way(prompts=_input_prompts, extract=_extract_input, judge=_judge_input, only=INPUTS),
    }
    elsewhere = BY_SANITIZED_MBPP
    takes = "continuation"
    variants = CRUXEVAL_VARIANTS
    limits = _LIMITS


def _as_turns(turns: tuple[Message, ...], prompt_id: str, stop: tuple[str, ...] = ()) -> dict[str, RenderPrompt]:
    """Turns for a chat model, the last one begun for it; ``text``: the same as one text to continue."""
    source, text = origin(prompt_id), "".join(turn.content for turn in turns)
    return {
        "default": lambda: Prompt(messages=turns, source=source, stop=stop),
        "text": lambda: continuation(text, source=source, stop=stop),
    }


def _humaneval_instruct(problem: Problem, task: FunctionTask, _: object) -> dict[str, RenderPrompt]:
    return _as_turns(_humaneval_turns(task), "humaneval.lm_eval_instruct.user", UNTIL)


def _mbpp_instruct(problem: Problem, task: FunctionTask, examples: object) -> dict[str, RenderPrompt]:
    """Three worked examples of MBPP; none of sanitized MBPP."""
    if problem.benchmark != "mbpp":
        return _plus_instruct(problem, task, examples)
    source = "mbpp.lm_eval_instruct"
    return {
        "default": lambda: Prompt(messages=_mbpp_turns(task), source=origin(source), shots=_SHOTS),
        "text": lambda: continuation(_few_shot(source, task), source=origin(source), shots=_SHOTS),
    }


def _plus_instruct(problem: Problem, task: FunctionTask | OracleTask, _: object) -> dict[str, RenderPrompt]:
    return _as_turns(_one_test_turns(task), "mbpp_plus.lm_eval_instruct.user")


def _extract_behind_prompt(problem: Problem, task: FunctionTask, completion: Completion) -> Answer:
    text = completion.text or ""
    if completion.form == "program":
        return Answer(value=text, found="as given: a whole program")
    value = cut(text, UNTIL).partition(_FENCE)[0]
    return Answer(value=value, found="up to a stop string or fence", form="completion")


def _extract_opened_fence(problem: Problem, task: FunctionTask | OracleTask, completion: Completion) -> Answer:
    text = completion.text or ""
    if completion.form == "program":
        return Answer(value=text, found="as given: a whole program")
    code = first_fence_of_opened(text)
    if not code:
        return Answer(value=None, found="the fence pattern matched nothing", reason=Reason.NO_CODE)
    return Answer(value=code, found="first match of the fence pattern")


def _judge_own(problem: Problem, task: FunctionTask, answer: Answer, context: Context) -> Judgement:
    return _grade(task.prefix, answer, task.tests, context.executor)


def _judge_first_shown(
    problem: Problem, task: FunctionTask | OracleTask, answer: Answer, context: Context
) -> Judgement:
    """The three tests that MBPP shows, or the first of them."""
    shown = _SHOWN if problem.benchmark == "mbpp" else 1
    return _grade("", answer, "\n".join(task.shown_tests[:shown]), context.executor)


class LmEvalInstruct(Profile):
    """Tasks ``humaneval_instruct``, ``mbpp_instruct`` and ``mbpp_plus_instruct``."""

    name = "lm-eval-instruct"
    version = "4e7e0d47f"
    ways: ClassVar[Mapping[str, Way]] = {
        "function": Way(prompts=_humaneval_instruct, extract=_extract_behind_prompt, judge=_judge_own),
        "description": Way(
            prompts=_mbpp_instruct, extract=_extract_opened_fence, judge=_judge_first_shown,
            only=("mbpp", "mbpp-sanitized"),
        ),
        "oracle": Way(
            prompts=_plus_instruct, extract=_extract_opened_fence, judge=_judge_first_shown, only=("mbppplus",)
        ),
    }  # fmt: skip
    takes = "continuation"
    variants = ("default", "text")
    limits = _LIMITS


# ---------- `lm-eval-fork`: the LiveCodeBench task of a fork of lm-evaluation-harness, @af0ac9f7 (2025-06-19).
# tstescoTT/lm-evaluation-harness, branch adam/livecodebench, ``lm_eval/tasks/livecodebench/``. Its grader is that
# of modelscope/evalscope@a2ecf3e8 but for header, logger and one unused flag; rules are cited from there.


_HARNESS = Harness(
    rules=OFFICIAL_RULES
    | {
        "world": "string",
        "announces_alarm": False,
        "int_digits": 4300,
        "faulthandler": False,
        "module": "lm_eval.tasks.livecodebench.testing_util",
    },
    added_s=0.0,
    runner_error=no_metadata,
)


class LmEvalFork(ContestProfile):
    """The fork whose alignment document calls it identical to EvalScope."""

    name = "lm-eval-fork"
    version = "af0ac9f7"
    harness = _HARNESS
    lenient = True
    contest_scale = PERCENT
    reported = ("first_sample",)

    def cut(self, reply: str) -> str:
        """The first two fences."""
        return first_pair(reply)

    def render_contest(self, task: ContestTask) -> Prompt:
        """The user message alone."""
        return question("lcb.evalscope.user", task)
