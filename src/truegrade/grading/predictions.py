"""Grading a predicted output, a predicted input and a choice."""

from __future__ import annotations

import msgspec

from truegrade.extraction.assertions import computed_arguments, of_another_call, parse_arguments
from truegrade.extraction.choices import Choice
from truegrade.extraction.parsing import NotLiteral, parse_literal
from truegrade.grading import marks
from truegrade.grading.executor import Executor
from truegrade.grading.judgement import Judgement, from_outcome, shortened, shown
from truegrade.grading.literals import compare
from truegrade.records import Answer, ChoiceTask, InputTask, OutputTask, Reason
from truegrade.sandbox.outcome import CallResult

# ------------------- Grading a predicted output (nothing runs) and a predicted input (the program runs on it).


def grade_output(task: OutputTask, answer: Answer) -> Judgement:
    """Compare a predicted literal with the true one, and with what the other program of the pair returns."""
    judgement = judge_value(answer.value or "", task.expected, task.pairing.other if task.pairing else None)
    return marked_call(judgement, answer)


def marked_call(judgement: Judgement, answer: Answer) -> Judgement:
    """The judgement, marked where the value was stated of another call."""
    if not of_another_call(answer):
        return judgement
    return msgspec.structs.replace(judgement, marks=(*judgement.marks, marks.OTHER_CALL))


def judge_value(got: str, expected: str, other: str | None) -> Judgement:
    """``python_eq`` decides; marks say where another policy would decide otherwise, and what else it equals.

    Args:
        got: the predicted literal.
        expected: what the program returns.
        other: what the other program of a pair returns. `marks.REVERTED` says that the prediction equals it, right
            or wrong: whether it may count as a reversion is for statistics, which see both values.
    """
    comparison = compare(expected, got)
    found = []
    if other is not None and compare(other, got).python_eq:
        found.append(marks.REVERTED)
    if not comparison.python_eq:
        detail = f"answered {shortened(got)}, expected {shortened(expected)}"
        return Judgement(reason=Reason.WRONG_ANSWER, detail=detail, marks=tuple(found))
    if not comparison.strict_typed:
        found.append(marks.TYPES_DIFFER)
    if not comparison.repr_exact:
        found.append(marks.TEXT_DIFFERS)
    return Judgement(reason=Reason.PASSED, detail=comparison.why, marks=tuple(found))


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


# ----------------- Grading a choice: is the predicted value that of the program the reply chose? Nothing runs.


def grade_choice(task: ChoiceTask, answer: Answer) -> Judgement:
    """Compare the predicted literal with what the chosen program returns, and mark what was chosen.

    Args:
        task: the pair.
        answer: its ``value`` is the canonical JSON of `truegrade.extraction.choices`. A choice without a value is
            wrong for the reason that the answer gives, and counts as the choice that it is.
    """
    choice = msgspec.json.decode(answer.value or "", type=Choice)
    own, other = task.expected if choice.chosen_program == "A" else task.expected[::-1]
    chosen = (
        marks.CHOSE_A if choice.chosen_program == "A" else marks.CHOSE_B,
        marks.CHOSE_ORIGINAL if choice.chosen_program == task.original else marks.CHOSE_MUTANT,
    )
    if choice.value is None:
        return Judgement(reason=answer.reason or Reason.NO_ANSWER, detail=answer.found, marks=chosen)
    judgement = marked_call(judge_value(choice.value, own, other), answer)
    return msgspec.structs.replace(judgement, marks=(*chosen, *judgement.marks))
