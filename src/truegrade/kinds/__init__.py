"""One file a kind of problem: how it is worded, answered, judged, counted and shown.

What a harness does otherwise with a task stands in its profile. What else still decides by a task's type, such as
the reading of calls out of tests, is listed in ``tests/house/test_kinds.py``.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

from truegrade.kinds.base import CallClaim, Context, Kept, Kind, TaskT
from truegrade.records import Task
from truegrade.registry import Registry

__all__ = [
    "KINDS",
    "CallClaim",
    "Context",
    "Kept",
    "Kind",
    "asked_value",
    "built_in_kinds",
    "kind_names",
    "kind_of",
    "problem_kind",
    "register",
]

KINDS = Registry[Kind[Any]](
    "kind",
    {
        "function": "truegrade.kinds.function:KIND",
        "oracle": "truegrade.kinds.oracle:KIND",
        "cases": "truegrade.kinds.repair:KIND",
        "output_prediction": "truegrade.kinds.output_prediction:KIND",
        "input_prediction": "truegrade.kinds.input_prediction:KIND",
        "execution_choice": "truegrade.kinds.execution_choice:KIND",
        "contest": "truegrade.kinds.contest:KIND",
        "suite": "truegrade.kinds.suite:KIND",
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


def kind_of(task: Task) -> Kind[Any]:
    """The kind of a problem's task."""
    known = _REGISTERED.get(type(task))
    return _by_tag(str(task.__struct_config__.tag)) if known is None else known


@cache
def _by_tag(tag: str) -> Kind[Any]:
    return KINDS.known(tag).value


def built_in_kinds() -> Iterator[Kind[Any]]:
    """Every kind of the table."""
    return map(_by_tag, KINDS.built_in)


def kind_names() -> tuple[str, ...]:
    """What a profile may cover: the names of every kind of the table, and of those that a file registered."""
    return tuple(dict.fromkeys(name for kind in (*built_in_kinds(), *_REGISTERED.values()) for name in kind.names))


def asked_value(task: Task) -> str | None:
    """The right answer where a value is asked for, as a literal; of a choice about its first program."""
    return next(iter(kind_of(task).outputs(task)), None)


def problem_kind(task: Task) -> str:
    """What a problem asks: a name that profiles cover."""
    return kind_of(task).name(task)
