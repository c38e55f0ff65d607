"""What MBPP+'s JSON inputs stand for: tuples, sets and complex numbers, by task.

The facts are those of evalplus/evalplus@26d6d00 evalplus/data/mbpp.py, mbpp_deserialize_inputs: a table of
how the first argument of a task is rebuilt and how every other one is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

Convert = Callable[[Any], Any]


def rebuild(number: int, inputs: Sequence[Sequence[Any]]) -> tuple[tuple[Any, ...], ...]:
    """Argument tuples of one task, with the types that its function takes.

    Args:
        number: the task's number.
        inputs: argument lists as the file stores them.
    """
    first, others = _RULES.get(number, (_as_stored, _as_stored))
    return tuple((*map(first, values[:1]), *map(others, values[1:])) for values in inputs)


def _as_stored(value: Any) -> Any:
    return value


def _list_of_tuples(value: Any) -> list[Any]:
    return [tuple(item) for item in value]


def _tuple_of_tuples(value: Any) -> tuple[Any, ...]:
    """A tuple whose lists became tuples, one level deep."""
    return tuple(tuple(item) if isinstance(item, list) else item for item in value)


def _tuples_all_through(value: Any) -> Any:
    return tuple(map(_tuples_all_through, value)) if isinstance(value, list) else value


def _list_of_sets(value: Any) -> list[Any]:
    """Sets, but an empty dict for what is empty or no list: so evalplus has it."""
    return [set(item) if isinstance(item, list) and item else {} for item in value]


def _tuple_values(value: Any) -> dict[Any, Any]:
    return {key: tuple(item) for key, item in value.items()}


_TUPLE = (
    2,
    116,
    132,
    143,
    222,
    261,
    273,
    394,
    399,
    421,
    424,
    429,
    470,
    560,
    579,
    596,
    616,
    630,
    726,
    740,
    744,
    809,
)
_LIST_OF_TUPLES = (63, 64, 70, 94, 120, 237, 272, 299, 400, 409, 417, 438, 473, 614, 780)

_RULES: dict[int, tuple[Convert, Convert]] = {
    **dict.fromkeys(_TUPLE, (tuple, tuple)),
    **dict.fromkeys(_LIST_OF_TUPLES, (_list_of_tuples, _list_of_tuples)),
    **dict.fromkeys((75, 413, 444, 753), (_list_of_tuples, _as_stored)),
    **dict.fromkeys((106, 750), (_as_stored, tuple)),
    **dict.fromkeys((250, 307, 405, 446, 617, 720, 763, 808), (tuple, _as_stored)),
    **dict.fromkeys((259, 278, 401, 445), (_tuple_of_tuples, _tuple_of_tuples)),
    **dict.fromkeys((580, 615, 791), (_tuples_all_through, _tuples_all_through)),
    115: (_list_of_sets, _as_stored),
    124: (float, complex),
    252: (complex, _as_stored),
    722: (_tuple_values, _as_stored),
}
"""Task number to the conversions of its first argument and of all others."""
