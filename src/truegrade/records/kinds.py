"""Kinds of problem: what a profile has rules for, whatever the data set."""

from __future__ import annotations

from typing import Literal, get_args

from truegrade.records import (
    CasesTask,
    ChoiceTask,
    ContestTask,
    FunctionTask,
    InputTask,
    OracleTask,
    OutputTask,
    SuiteTask,
    Task,
)

Kind = Literal[
    "function",
    "description",
    "oracle",
    "repair",
    "output_prediction",
    "test_output_prediction",
    "state_prediction",
    "input_prediction",
    "execution_choice",
    "contest",
    "suite",
]
"""Kinds of problem: complete a function from its head (HumanEval); write one from a description (MBPP); either,
compared with a reference on inputs (the plus sets); repair a program;
predict an output, of a program or of a described function; predict a value inside a call; predict an input; choose
between two programs; solve a contest problem; write what a suite of unit tests is about (BigCodeBench)."""
KINDS: tuple[Kind, ...] = get_args(Kind)
_KIND_OF: dict[type, Kind] = {
    OracleTask: "oracle",
    CasesTask: "repair",
    InputTask: "input_prediction",
    ChoiceTask: "execution_choice",
    ContestTask: "contest",
    SuiteTask: "suite",
}


def problem_kind(task: Task) -> Kind:
    """What a problem asks."""
    if isinstance(task, FunctionTask | CasesTask) and task.buggy:
        return "repair"
    if isinstance(task, FunctionTask):
        return "function" if task.prefix else "description"
    if isinstance(task, OutputTask):
        if task.state:
            return "state_prediction"
        return "test_output_prediction" if task.question else "output_prediction"
    return _KIND_OF[type(task)]


def asked_value(task: Task) -> str | None:
    """The right answer where a value is asked for, as a literal; of a choice about its first program."""
    match task:
        case OutputTask(expected=expected) | ChoiceTask(expected=(expected, _)):
            return expected
    return None
