"""Find arguments for which a program returns a value: the program runs on what is predicted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from truegrade.extraction.assertions import (
    computed_arguments,
    extract_input,
    extract_input_answer,
    parse_arguments,
)
from truegrade.extraction.parsing import NotLiteral, parse_literal
from truegrade.grading.executor import Executor
from truegrade.grading.judgement import Judgement, from_outcome, shortened, shown
from truegrade.kinds.base import CallClaim, Context, Kind, UpstreamField
from truegrade.kinds.output_prediction import CRUXEVAL_OPENAI, STOP
from truegrade.prompts.making import RenderPrompt, base, chat
from truegrade.records import Answer, Completion, InputTask, Problem, Reason
from truegrade.sandbox.outcome import CallResult


class InputPrediction(Kind[InputTask]):
    """Read a program and a value, predict arguments that give it."""

    task = InputTask
    names = ("input_prediction",)
    gives = "value"
    variants = ("default", "cruxeval", "cruxeval-cot", "cruxeval-openai", "cruxeval-openai-cot")

    def prompts(self, task: InputTask, examples: Mapping[str, Problem]) -> Mapping[str, RenderPrompt]:
        """CRUXEval's; ``default`` is its direct one, as a chat message alone."""
        values = {"code": task.program, "output": task.expected}
        return {"default": lambda: chat("cruxeval.input.direct", values)} | cruxeval_input_prompts(task)

    def extract(self, task: InputTask, completion: Completion) -> Answer:
        """The arguments that a reply states, or text that somebody already extracted."""
        text = completion.text or ""
        if completion.form == "answer":
            return extract_input_answer(text, program=task.program)
        return extract_input(text, task.function, task.program)

    def reference(self, task: InputTask) -> CallClaim:
        """The arguments that are known to give the value."""
        return CallClaim(f"{task.function}({task.reference_arguments})", task.expected)

    def judge(self, problem: Problem, task: InputTask, answer: Answer, context: Context) -> Judgement:
        """Run the program on the predicted arguments and compare what it returns, outside its process."""
        return grade_input(task, answer, context.executor)

    def upstream(self, task: InputTask) -> Iterator[UpstreamField]:
        """The program."""
        yield "prompt", "code", task.program


def cruxeval_input_prompts(task: InputTask) -> dict[str, RenderPrompt]:
    """CRUXEval's own prompts for finding an input."""
    values = {"code": task.program, "output": task.expected}
    return {
        "cruxeval": lambda: base("cruxeval.input.direct", values, stop=STOP),
        "cruxeval-cot": lambda: base("cruxeval.input.cot", values, stop=STOP),
        "cruxeval-openai": lambda: chat("cruxeval.input.direct", values, system=CRUXEVAL_OPENAI, stop=STOP),
        "cruxeval-openai-cot": lambda: chat("cruxeval.input.cot", values, system=CRUXEVAL_OPENAI, stop=STOP),
    }


def grade_input(task: InputTask, answer: Answer, executor: Executor) -> Judgement:
    """Run the program on the predicted arguments and compare what it returns, outside its process."""
    text = answer.value or ""
    arguments = parse_arguments(text)
    if arguments is not None:
        positional, keywords = arguments
        program, function = _taking_keywords(task, keywords)
    # Such expressions are computed beside the program: the true output is compared outside all the same.
    elif (plain := computed_arguments(text, task.program)) is not None:
        positional, keywords = (), {}
        program, function = _computing(task, plain)
    else:
        return Judgement(reason=Reason.NOT_LITERAL, detail=f"arguments are no literals: {shortened(text)}")
    truth = parse_literal(task.expected)
    if isinstance(truth, NotLiteral):
        return Judgement(reason=Reason.GRADER_ERROR, detail=f"the expected value is no literal: {truth.why}")
    failures: list[tuple[Reason, str]] = []

    def check(_: int, result: CallResult) -> bool:
        call = f"{task.function}({shortened(text)})"
        if result.error is not None:
            failures.append((Reason.RUNTIME_ERROR, f"{call} raised {shortened(result.error)}"))
        elif (got := executor.decide(_other, result, truth.value)) is not None:
            words = f"{call} gave {got}, expected {shortened(task.expected)}"
            failures.append((Reason.WRONG_ANSWER, words))
        return not failures

    judgement = from_outcome(executor.call(program, function, [[*positional, *keywords.values()]], check))
    if failures and judgement.passed:
        reason, detail = failures[0]
        return msgspec.structs.replace(judgement, reason=reason, detail=detail)
    return judgement


def _other(got: object, expected: object) -> str | None:
    """What was returned, if it is another value."""
    try:
        return None if bool(got == expected) else shown(got)
    except (ValueError, RecursionError):  # of an array as a whole nothing is true or false
        return shown(got)


def _taking_keywords(task: InputTask, keywords: dict[str, object]) -> tuple[str, str]:
    """The program and the function to call, so that the last positional arguments reach their keywords."""
    if not keywords:
        return task.program, task.function
    # Arguments travel as values by position alone; the wrapper gives the last of them their names.
    names = ", ".join(f"{name}=_values[{index - len(keywords)}]" for index, name in enumerate(keywords))
    positional = f"*_values[:-{len(keywords)}]"
    wrapper = f"def _with_keywords(*_values):\n    return {task.function}({positional}, {names})\n"
    return f"{task.program}\n{wrapper}", "_with_keywords"


def _computing(task: InputTask, arguments: str) -> tuple[str, str]:
    """The program and the function to call where the arguments have to be computed beside it."""
    wrapper = f"def _with_computed():\n    return {task.function}({arguments})\n"
    return f"{task.program}\n{wrapper}", "_with_computed"


KIND = InputPrediction()
"""The object that everything asks."""
