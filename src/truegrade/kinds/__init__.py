"""One file a kind of problem: how it is worded, answered, judged, counted and shown.

Nothing else decides by the type of a task, but for what a harness does otherwise with one, in its profile.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from truegrade.kinds.base import CallClaim, Context, Kind, TaskT
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
from truegrade.registry import Registry

if TYPE_CHECKING:
    from typing_extensions import TypeIs

__all__ = [
    "KINDS",
    "CallClaim",
    "Context",
    "Kind",
    "asked_value",
    "has_kind",
    "kind_of",
    "problem_kind",
    "register",
]

KINDS = Registry[Kind[Any]](
    "kind",
    {
        "execution_choice": "truegrade.kinds.execution_choice:KIND",
        "input_prediction": "truegrade.kinds.input_prediction:KIND",
        "output_prediction": "truegrade.kinds.output_prediction:KIND",
    },
    lambda thing: None if isinstance(thing, Kind) else "is no truegrade.kinds.Kind",
    named=lambda kind: kind.names[0],
)
"""By the tag of the task."""


_REGISTERED: dict[type, Kind[Any]] = {}
"""Kinds of tasks that are not built in: whoever made a problem has imported the file of its kind."""


def register(kind: Kind[TaskT]) -> Kind[TaskT]:
    """Make a kind known; the last line of a file that holds one."""
    _REGISTERED[kind.task] = kind
    return kind


def has_kind(task: object) -> TypeIs[OutputTask | InputTask | ChoiceTask]:
    """Whether the kind of a task has an object here: until all have, the others are told by their types."""
    return type(task) in _REGISTERED or _tag(task) in KINDS.built_in


def kind_of(task: object) -> Kind[Any]:
    """The kind of a problem's task."""
    known = _REGISTERED.get(type(task))
    return _by_tag(_tag(task)) if known is None else known


def _tag(task: object) -> str:
    return str(task.__struct_config__.tag)  # type: ignore[attr-defined]


@cache
def _by_tag(tag: str) -> Kind[Any]:
    return KINDS.known(tag).value


_KIND_OF: dict[type, str] = {
    OracleTask: "oracle",
    CasesTask: "repair",
    ContestTask: "contest",
    SuiteTask: "suite",
}


def asked_value(task: Task) -> str | None:
    """The right answer where a value is asked for, as a literal; of a choice about its first program."""
    return next(iter(kind_of(task).outputs(task)), None) if has_kind(task) else None


def problem_kind(task: Task) -> str:
    """What a problem asks: a name that profiles cover."""
    if has_kind(task):
        return kind_of(task).name(task)
    if isinstance(task, FunctionTask | CasesTask) and task.buggy:
        return "repair"
    if isinstance(task, FunctionTask):
        return "function" if task.prefix else "description"
    return _KIND_OF[type(task)]
