"""One file a kind of problem: how it is worded, answered, judged, counted and shown.

What a harness does otherwise with a task stands in its profile. What else still decides by a task's type, such as
the reading of calls out of tests, is listed in ``tests/house/test_kinds.py``.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from functools import cache
from typing import Any

from truegrade.errors import TruegradeError, UnknownName, UserError, raised
from truegrade.kinds.base import CallClaim, Context, Kept, Kind, TaskT
from truegrade.records import BuiltInTask, Problem, Task
from truegrade.registry import Registry

__all__ = [
    "KINDS",
    "CallClaim",
    "Context",
    "Kept",
    "Kind",
    "asked_value",
    "built_in_kinds",
    "kind_at_fault",
    "kind_names",
    "kind_of",
    "problem_kind",
    "register",
]

_NEEDED = ("prompts", "extract", "judge")
"""What no kind is without."""


def _fault(thing: Any) -> str | None:
    """What keeps an object from being a kind."""
    if not isinstance(thing, Kind):
        return f"is no {'object of a class' if isinstance(thing, type) else 'object'} made of truegrade.kinds.Kind"
    task, names = getattr(thing, "task", None), getattr(thing, "names", None)
    if not (isinstance(task, type) and issubclass(task, Task) and isinstance(task.__struct_config__.tag, str)):
        return 'needs a task: a class made of truegrade.records.Task, `class Mine(Task, tag="mine", frozen=True)`'
    if not (isinstance(names, tuple) and names and all(isinstance(name, str) and name for name in names)):
        return 'needs names: a tuple of texts, `names = ("mine",)`'
    own = {name for each in type(thing).__mro__ if not issubclass(Kind, each) for name in vars(each)}
    known = ["task", "names", *(name for name in dir(Kind) if not name.startswith("_"))]
    for name in sorted(name for name in own - {*known} if not name.startswith("_")):
        if near := get_close_matches(name, known, n=1, cutoff=0.85):
            return f"has {name}, which nothing calls; did you mean {near[0]}?"
    inherited = {name for name in known if getattr(type(thing), name, None) is getattr(Kind, name, thing)}
    # Whoever reads its tests may change them, too.
    needed = _NEEDED if "tests" in inherited else (*_NEEDED, "with_tests")
    missing = [name for name in needed if name in inherited]
    return f"lacks {', '.join(missing)}: write {'it' if len(missing) == 1 else 'them'}" if missing else None


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
    _fault,
    named=lambda kind: kind.names[0],
)
"""By the tag of the task."""


_REGISTERED: dict[type, Kind[Any]] = {}
"""Kinds of tasks that are not built in: whoever made a problem has imported the file of its kind."""


def register(kind: Kind[TaskT]) -> Kind[TaskT]:
    """Make a kind known; the last line of a file that holds one.

    Raises:
        UserError: it lacks what every kind has, or has a tag or name of a built-in one.
    """
    fault = _fault(kind)
    if fault is None:
        taken = {*KINDS.built_in, *(name for one in built_in_kinds() for name in one.names)}
        if both := sorted(taken & {str(kind.task.__struct_config__.tag), *kind.names}):
            fault = f"takes over {', '.join(both)}, which a built-in kind has; choose another tag and name"
    if fault is not None:
        named = kind if isinstance(kind, type) else type(kind)
        raise UserError(f"{named.__name__} {fault} (docs/extend.md, a kind of problem)")
    _REGISTERED[kind.task] = kind
    return kind


def kind_of(task: Task) -> Kind[Any]:
    """The kind of a problem's task.

    Raises:
        UserError: none has tasks of this class.
    """
    known = _REGISTERED.get(type(task))
    return _of_class(type(task)) if known is None else known


@cache
def _of_class(task: type[Task]) -> Kind[Any]:
    tag = getattr(getattr(task, "__struct_config__", None), "tag", None)
    try:
        kind = _by_tag(str(tag))
    except UnknownName:
        kind = None
    if kind is None or kind.task is not task:
        said = "end the file that defines it with `register(...)` (docs/extend.md, a kind of problem)"
        raise UserError(f"no kind of problem has tasks of class {task.__name__}; {said}")
    return kind


@cache
def _by_tag(tag: str) -> Kind[Any]:
    return KINDS.known(tag).value


@contextmanager
def kind_at_fault(problem: Problem) -> Iterator[None]:
    """Around what a kind says of a problem: where one from outside fails, the error is a line.

    Raises:
        UserError: that line. Of a built-in kind any other error is a bug, and passes as it is.
    """
    try:
        yield
    except Exception as error:
        if isinstance(error, TruegradeError) or isinstance(problem.task, BuiltInTask):
            raise
        raise UserError(f"{problem.id}: its kind of problem is at fault: {raised(error)}") from error


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
    """What a problem asks: a name that profiles cover.

    Raises:
        UserError: its kind gives a name that is not among its `names`.
    """
    kind = kind_of(task)
    name = kind.name(task)
    if name not in kind.names:
        raise UserError(f"{type(kind).__name__}.name gives {name!r}, which is not among its names: {kind.names}")
    return name
