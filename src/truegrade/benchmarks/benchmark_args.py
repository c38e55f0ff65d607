"""Task arguments (``-T k=v``): checked against what a benchmark takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from truegrade.errors import UnknownName, UserError
from truegrade.records import Problem
from truegrade.statistics.windows import FILTERS, check_window, inside

ALLOW_MODIFIED: Mapping[str, str] = MappingProxyType(
    {"allow_modified": "true: read a file whose rows or hash are not the pinned ones (default false)"}
)
"""The argument that every benchmark with a pinned file takes."""


def check_arguments(benchmark: str, args: Mapping[str, str], known: Mapping[str, str]) -> None:
    """Refuse arguments that the benchmark does not take.

    Raises:
        UnknownName: names the argument and the closest known ones.
    """
    for name in args:
        if name not in known:
            raise UnknownName(f"{benchmark} argument", name, known)


def in_window(path: Path, problems: Sequence[Problem], args: Mapping[str, str]) -> tuple[Problem, ...]:
    """The problems that lie in the window that the arguments ask for.

    Args:
        path: of the data, for messages.
        problems: all of them, with their tags.
        args: those of `truegrade.statistics.windows.FILTERS` are looked at.

    Raises:
        UserError: a date is none, or nothing is left.
    """
    window = {name: value for name, value in args.items() if name in FILTERS}
    check_window(window)
    kept = tuple([problem for problem in problems if inside(problem.tags, window)])
    if not kept:
        raise UserError(f"{path}: none of its {len(problems)} problems fits the arguments; widen the window")
    return kept


def flag(args: Mapping[str, str], name: str) -> bool:
    """A ``true`` or ``false`` argument, false if it is not given.

    Raises:
        UserError: it is neither.
    """
    return choice(args, name, ("false", "true")) == "true"


def choice(args: Mapping[str, str], name: str, choices: Sequence[str]) -> str:
    """An argument with a closed set of values; the first is the default.

    Raises:
        UserError: it is none of them.
    """
    value = args.get(name, choices[0])
    if value not in choices:
        raise UserError(f"`task_args` {name}={value}: must be one of {', '.join(choices)}")
    return value


def whole_number(args: Mapping[str, str], name: str, default: int, allowed: range) -> int:
    """An argument that is a whole number out of a range.

    Raises:
        UserError: it is none, or out of the range.
    """
    text = args.get(name)
    if text is None:
        return default
    if not text.isascii() or not text.isdigit() or int(text) not in allowed:
        raise UserError(
            f"`task_args` {name}={text}: must be a whole number from {allowed.start} to {allowed.stop - 1}"
        )
    return int(text)


def limit_of(text: int | str | None) -> int | tuple[int, int] | None:
    """A limit as `truegrade.pipeline.loading.select` takes it, from ``N`` or ``A-B``; None for none.

    Raises:
        ValueError: it is neither, or it is empty.
    """
    if text is None or isinstance(text, int):
        return text
    first, dash, last = text.partition("-")
    try:
        limit = (int(first), int(last)) if dash else int(first)
    except ValueError:
        raise ValueError(f"{text}: give a number (the first N) or a range A-B, 1-based.") from None
    start, end = limit if isinstance(limit, tuple) else (1, limit)
    if start < 1 or end < start:
        raise ValueError(f"{text}: problems are counted from 1, and the range must not be empty.")
    return limit
