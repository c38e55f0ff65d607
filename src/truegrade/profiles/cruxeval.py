"""`cruxeval`: the evaluator of facebookresearch/cruxeval @190faf1."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from truegrade.extraction.parsing import MAX_SOURCE_CHARS, quietly
from truegrade.files import syntax
from truegrade.grading.executor import Executor
from truegrade.grading.judgement import Judgement, shortened
from truegrade.kinds import Context
from truegrade.kinds.input_prediction import cruxeval_input_prompts
from truegrade.kinds.output_prediction import cruxeval_output_prompts
from truegrade.profiles.base import Profile, Way
from truegrade.profiles.harness_runs import grade_guarded
from truegrade.prompts.making import RenderPrompt, answered_prompt
from truegrade.records import Answer, Completion, InputTask, OutputTask, Problem, Reason
from truegrade.sandbox import Limits

# -------------- Grading a prediction by executing an assertion behind the program, as several harnesses do it.
# What both sides write as literals compares the same whatever program stands before it, so nothing needs to run;
# everything else runs in the jail, under the guard that these harnesses share.


SKIPPED = "skipped"
"""Mark of a generation that a harness drops before it runs anything."""


def grade_assertion(
    program: str, assertion: str, executor: Executor, *, preload: tuple[str, ...] = ()
) -> Judgement:
    """Whether the program, trusted and known to end, and then the assertion run without an exception.

    Args:
        program: what stands before the assertion, the newline between them left out.
        assertion: an ``assert`` statement, or whatever a generation makes of it.
        executor: bound to the profile's limits.
        preload: modules that the harness has imported before its guard is set up.
    """
    verdict = literal_verdict(assertion)
    if verdict is None:
        return grade_guarded(f"{program}\n{assertion}", executor, preload=preload)
    if verdict:
        return Judgement(reason=Reason.PASSED)
    return Judgement(reason=Reason.WRONG_ANSWER, detail=f"{shortened(assertion)} is false")


def skipped(why: str) -> Judgement:
    """The verdict on a generation that the harness never runs."""
    return Judgement(reason=Reason.NO_ANSWER, detail=why, marks=(SKIPPED,))


def literal_verdict(assertion: str) -> bool | None:
    """The truth of ``assert <literal> == <literal>`` without running it; None if it is anything else.

    Text that holds a name is anything else, ``set()`` included: a program may have bound it.
    """
    if len(assertion) > MAX_SOURCE_CHARS:
        return None
    try:
        with quietly():
            (statement,) = syntax.parse(assertion).body
            if not isinstance(statement, ast.Assert) or not isinstance(statement.test, ast.Compare):
                return None
            test = statement.test
            if len(test.ops) != 1 or not isinstance(test.ops[0], ast.Eq):
                return None
            if any(isinstance(node, ast.Name) for node in ast.walk(test)):
                return None
            return bool(syntax.literal_eval(test.left) == syntax.literal_eval(test.comparators[0]))
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return None


_STOPS = {"cruxeval": ("[/ANSWER]",), "cruxeval-cot": ("[/ANSWER]",), "cruxeval-phind": ("# done",)}
"""Stop strings of its runs, by the name of the prompt."""

EVALUATOR_LIMITS = Limits(cpu_s=3.0, wall_s=4.0)


def published_prompts(problem: Problem, task: Any, examples: Mapping[str, Problem]) -> dict[str, RenderPrompt]:
    """CRUXEval's own prompts of its runs: ``default`` (direct), ``cot``, and of outputs ``phind``."""
    worded = _worded(task)
    names = {"default": "cruxeval", "cot": "cruxeval-cot", "phind": "cruxeval-phind"}
    return {name: worded[id_] for name, id_ in names.items() if id_ in worded}


def _worded(task: OutputTask | InputTask) -> dict[str, RenderPrompt]:
    return cruxeval_output_prompts(task) if isinstance(task, OutputTask) else cruxeval_input_prompts(task)


def _extract(problem: Problem, task: OutputTask | InputTask, completion: Completion) -> Answer:
    """The published post-processing of replies; what is already extracted stays as it is."""
    text = completion.text or ""
    if completion.form == "answer":
        return Answer(value=text, found="as given", form="answer")
    prompt = answered_prompt(completion, _worded(task), _STOPS)
    for stop in ("[/ANSWER]", "# done") if prompt is None else _STOPS[prompt]:
        text = text.split(stop, maxsplit=1)[0]
    if prompt in (None, "cruxeval-cot") and "[ANSWER]" in text:
        text = text.split("[ANSWER]")[1].strip()
    return beside_equals(task, text)


def _judge_output(problem: Problem, task: OutputTask, answer: Answer, context: Context) -> Judgement:
    """Run program and assertion, unless the official evaluator skips the generation."""
    return _judge(task, answer, context, skips=f"{task.function}({task.arguments})" in (answer.value or ""))


def _judge_input(problem: Problem, task: InputTask, answer: Answer, context: Context) -> Judgement:
    """As of outputs; a generation without a call is skipped."""
    return _judge(task, answer, context, skips="f(" not in (answer.value or ""))


def _judge(task: OutputTask | InputTask, answer: Answer, context: Context, *, skips: bool) -> Judgement:
    if skips:
        return skipped("the official evaluator skips this generation")
    return grade_assertion(task.program, f"assert {task.expected} == {answer.value or ''}", context.executor)


OUTPUTS, INPUTS = ("cruxeval-output",), ("cruxeval-input",)
"""The data sets that the harnesses of CRUXEval know."""


class Cruxeval(Profile):
    """Meta's evaluator: ``assert <output> == <generation>`` executed behind the program."""

    name = "cruxeval"
    version = "190faf1"
    ways: ClassVar[Mapping[str, Way]] = {
        "output_prediction": Way(prompts=published_prompts, extract=_extract, judge=_judge_output, only=OUTPUTS),
        "input_prediction": Way(prompts=published_prompts, extract=_extract, judge=_judge_input, only=INPUTS),
    }
    variants: tuple[str, ...] = ("default", "cot", "phind")
    limits = EVALUATOR_LIMITS

    def tally(self, outcomes: Sequence[tuple[bool, tuple[str, ...]]]) -> tuple[int, int]:
        """Skipped generations leave the denominator of an item that has a right one."""
        passed = sum(right for right, _ in outcomes)
        dropped = sum(SKIPPED in marks for _, marks in outcomes)
        return len(outcomes) - (dropped if passed else 0), passed


def beside_equals(task: OutputTask | InputTask, text: str) -> Answer:
    """What a text says that ``f`` returns, or which call of it."""
    if isinstance(task, OutputTask):
        return Answer(value=after_equals(text), found="after the first ==", form="answer")
    return Answer(value=call_of_f(text), found="the call of f", form="answer")


def after_equals(text: str) -> str:
    """The text between the first ``==`` and the next; all of it where there is none."""
    return text.split("==")[1].strip() if "==" in text else text.strip()


def call_of_f(text: str) -> str:
    """The text before the first ``==``, from the first ``assert f`` on without its ``assert``."""
    text = text.split("==", maxsplit=1)[0].strip() if "==" in text else text
    return "f" + text.split("assert f")[1].strip() if "assert f" in text else text.strip()


# ---------- `cruxeval-openai`: the OpenAI runs of facebookresearch/cruxeval @190faf1, graded by its evaluator.


_DIRECT, _COT = "cruxeval-openai", "cruxeval-openai-cot"


def _openai_prompts(problem: Problem, task: Any, examples: Mapping[str, Problem]) -> dict[str, RenderPrompt]:
    """CRUXEval's words behind its system message: ``default`` (direct) or ``cot``."""
    worded = _worded(task)
    return {"default": worded[_DIRECT], "cot": worded[_COT]}


def _extract_openai(problem: Problem, task: OutputTask | InputTask, completion: Completion) -> Answer:
    """The extraction of the OpenAI runs; what is already extracted stays as it is."""
    text = completion.text or ""
    if completion.form == "answer":
        return Answer(value=text, found="as given", form="answer")
    prompt = answered_prompt(completion, _worded(task), (_DIRECT, _COT))
    text = text.split("[/ANSWER]", maxsplit=1)[0]
    if prompt != _DIRECT:
        if "[ANSWER]" not in text:
            return Answer(value=text.split("\n")[-1].strip(), found="the last line", form="answer")
        text = text.split("[ANSWER]")[1].strip()
    return beside_equals(task, text)


class CruxevalOpenai(Cruxeval):
    """A system message, a chat reply, and extraction of its own; the evaluator is the same."""

    name = "cruxeval-openai"
    current = False
    ways: ClassVar[Mapping[str, Way]] = {
        kind: replace(way, prompts=_openai_prompts, extract=_extract_openai) for kind, way in Cruxeval.ways.items()
    }
    variants = ("default", "cot")
