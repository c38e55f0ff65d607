"""What an agent may know of a problem: what it is asked, and nothing that says what is right."""

from __future__ import annotations

import msgspec

from truegrade.records import ContestTask, FunctionTask, OracleTask, Problem, SuiteTask


class VisibleProblem(msgspec.Struct, frozen=True, kw_only=True):
    """A problem without its reference, its tests and its inputs; all that an agent sees of it."""

    id: str
    benchmark: str
    kind: str
    """Which kind of task: the tag of its class in `truegrade.records`."""
    text: str = ""
    """The task as the data set words it; empty for kinds that no agent works on."""
    entry_point: str = ""
    """The function to write; empty where there is none."""
    prefix: str = ""
    """Code that stands before a body-only completion."""


def visible_problem(problem: Problem) -> VisibleProblem:
    """The part of a problem that an agent is given."""
    kind = str(problem.task.__struct_config__.tag)
    match problem.task:
        case FunctionTask() | OracleTask() | SuiteTask() as task:
            shown = {"text": task.prompt, "entry_point": task.entry_point, "prefix": task.prefix}
        case ContestTask(question=question):
            shown = {"text": question}
        case _:
            shown = {}
    return VisibleProblem(id=problem.id, benchmark=problem.benchmark, kind=kind, **shown)


def prompt_tests(problem: Problem) -> tuple[str, ...]:
    """The tests that the data set means a prompt to show (MBPP); none for most."""
    return problem.task.shown_tests if isinstance(problem.task, FunctionTask | OracleTask) else ()
