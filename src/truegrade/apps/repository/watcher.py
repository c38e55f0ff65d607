"""Calls an answer, or variants of it one after the other, and tells what each call gave.

The text of this file is sent into the jail behind prefix and answer, in a namespace of its own, since a repository
may give another meaning to any built-in name; nothing here is called in our own process.
"""

from __future__ import annotations

import copy
import signal
from collections.abc import Sequence
from itertools import islice
from typing import Any

MOST_ITEMS = 1000
"""Items taken from an iterator; one with more is endless."""


class OutOfTime(BaseException):
    """A variant takes more CPU time than it may."""


def observe_call(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[str, Any, bool]:
    """What a call gives: a kind, the value, items or the name of the exception, and whether arguments changed."""
    given = (args, kwargs)
    before = copy.deepcopy(given)
    try:
        value, kind = function(*args, **kwargs), "value"
        if hasattr(type(value), "__next__"):
            value, kind = list(islice(value, MOST_ITEMS + 1)), "items"
    except Exception as error:
        return "raised", type(error).__name__, given != before
    if kind == "items" and len(value) > MOST_ITEMS:
        return "endless", None, False
    return kind, value, given != before


def observe_variant(
    namespace: dict[str, Any], name: str, source: str, calls: Sequence[tuple[Any, ...]], seconds: float
) -> list[tuple[str, Any]] | None:
    """What the calls of a variant give, up to where its time is up; None where it cannot be defined.

    Args:
        namespace: of the program, in which the variant takes the place of the one before.
        name: of the function.
        source: defines it.
        calls: arguments and keyword arguments.
        seconds: of CPU time for all of them.
    """
    signal.signal(signal.SIGPROF, _out_of_time)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    seen: list[tuple[str, Any]] = []
    try:
        exec(compile(source, "<variant>", "exec", dont_inherit=True), namespace)
        for args, kwargs in copy.deepcopy(calls):
            seen.append(observe_call(namespace[name], args, kwargs)[:2])
    except OutOfTime:
        pass
    except Exception:
        return None
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return seen


def _out_of_time(number: int, frame: object) -> None:
    raise OutOfTime
