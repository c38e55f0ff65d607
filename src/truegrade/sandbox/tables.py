"""Frames, series, indexes and scalars of pandas, taken apart into plain values and arrays and made of those again.

Taken apart where user code has run, made again where verdicts are made: there only pandas' own constructors see
the parts, with types out of `_TYPES`, and whatever they refuse is a `WireError`.

Not covered, so opaque: subclasses, as geopandas has them; periods, intervals, sparse columns and others whose
type is none of `_TYPES`; ``attrs`` and flags.
"""

from __future__ import annotations

import re

from truegrade.sandbox.wire import WireError

TYPE_CHECKING = False  # `typing` costs a spawned interpreter 8 ms
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_TYPES = re.compile(
    r"object|str|string|boolean|U?Int(8|16|32|64)|Float(32|64)|datetime64\[(s|ms|us|ns), [\w/+:-]{1,60}\]"
)
"""Types of columns that are no numpy's, by name."""
_ZONE = re.compile(r"[\w/+:-]{1,60}")
NOT_TABLE = ("", ())
"""What is made of a value that does not travel."""


class _NoColumn(Exception):
    """Values of a type that does not travel."""


def _column(values: Any) -> tuple[Any, ...]:
    """Values of a series or an index: numpy's array, the name of a type and a list, or codes and categories."""
    kind = values.dtype
    if hasattr(kind, "categories") and hasattr(kind, "ordered"):
        codes = values.codes if hasattr(values, "codes") else values.cat.codes
        return (
            "codes",
            codes.to_numpy() if hasattr(codes, "to_numpy") else codes,
            _index_that_travels(kind.categories),
            bool(kind.ordered),
        )
    if type(kind).__module__.startswith("numpy") and kind.kind in "biufcmM":
        return ("array", values.to_numpy())
    if _TYPES.fullmatch(str(kind)) is None:
        raise _NoColumn
    return ("list", str(kind), list(values))


def _zone(zone: Any) -> str | None:
    if zone is not None and _ZONE.fullmatch(str(zone)) is None:
        raise _NoColumn
    return None if zone is None else str(zone)


def _index_that_travels(value: Any) -> Any:
    """The index; raises `_NoColumn` where it is opaque, so that what holds it is."""
    name = type(value).__qualname__
    if name not in _INDEXES:
        raise _NoColumn
    if name == "MultiIndex":
        for level in value.levels:
            _index_that_travels(level)
    elif name == "CategoricalIndex":
        _index_that_travels(value.categories)
    elif not type(value.dtype).__module__.startswith("numpy") and _TYPES.fullmatch(str(value.dtype)) is None:
        raise _NoColumn
    return value


def _index(value: Any) -> tuple[str, tuple[Any, ...]]:
    return "index", (_column(value), value.name)


_TAKEN: dict[str, Callable[[Any], tuple[str, tuple[Any, ...]]]] = {
    "DataFrame": lambda v: (
        "frame", (
            *(_index_that_travels(v.columns), _index_that_travels(v.index)),
            [_column(v.iloc[:, place]) for place in range(v.shape[1])],
        ),
    ),
    "Series": lambda v: ("series", (_index_that_travels(v.index), _column(v), v.name)),
    "Index": _index,
    "CategoricalIndex": _index,
    "DatetimeIndex": lambda v: (
        "times", (_column(v), v.name, None if type(v.freq).__name__.startswith("Custom") else v.freqstr)
    ),
    "TimedeltaIndex": _index,
    "RangeIndex": lambda v: ("range", (v.start, v.stop, v.step, v.name)),
    "MultiIndex": lambda v: ("levels", (list(_index_that_travels(v)), list(v.names))),
    "Categorical": lambda v: ("categorical", (_column(v),)),
    "Timestamp": lambda v: (
        "time", (int(v.value), _zone(v.tzinfo))
    ),
    "Timedelta": lambda v: ("delta", (int(v.value),)),
    "NAType": lambda v: ("NA", ()),
    "NaTType": lambda v: ("NaT", ()),
}  # fmt: skip
"""By the name of the type; pandas 3 keeps them in other modules than pandas 2."""
_INDEXES = frozenset(name for name in _TAKEN if name.endswith("Index"))


def take_apart(value: Any) -> tuple[str, tuple[Any, ...]]:
    """What a value of pandas is, and its parts; `NOT_TABLE` for one that does not travel."""
    taken = _TAKEN.get(type(value).__qualname__)
    try:
        return NOT_TABLE if taken is None else taken(value)
    except (_NoColumn, OverflowError):  # the latter of a time that no nanoseconds reach
        return NOT_TABLE


def make_again(name: str, parts: tuple[Any, ...], pandas: Any) -> Any:
    """The value of pandas that these parts were taken from.

    Args:
        name, parts: of `take_apart`, out of an untrusted process.
        pandas: the module.

    Raises:
        WireError: they can be of no such value.
    """
    made = _MADE.get(name)
    if made is None:
        raise WireError("a value of pandas of no known kind")
    try:
        return made(pandas, *parts)
    except WireError:
        raise
    except Exception as error:  # whatever its constructors raise
        raise WireError(f"parts of no {name} of pandas: {type(error).__name__}") from None


def _values(pandas: Any, column: Any) -> Any:
    """The array of a column's parts."""
    kind, *held = column
    if kind == "array" and type(held[0]).__name__ == "ndarray" and held[0].ndim == 1:
        return held[0]
    if kind == "codes":
        codes, categories, ordered = held
        _index_only(pandas, categories)
        return pandas.Categorical.from_codes(codes, categories=categories, ordered=bool(ordered))
    name, items = held
    if kind != "list" or type(items) is not list or _TYPES.fullmatch(name) is None:
        raise WireError("a column of no known type")
    if name != "object":
        return pandas.array(items, dtype=name)
    made = pandas.Series([None] * len(items), dtype=object).to_numpy(copy=True)
    for place, item in enumerate(items):  # one by one: lists are items, and no rows
        made[place] = item
    return made


def _of_its_type(make: Callable[..., Any], pandas: Any, column: Any, **more: Any) -> Any:
    """A series or index of a column's parts; pandas 3 makes texts of objects that are texts unless it is told."""
    values = _values(pandas, column)
    return make(values, **more, **({"dtype": object} if values.dtype == object else {}))


def _index_only(pandas: Any, value: Any) -> Any:
    if not isinstance(value, pandas.Index):
        raise WireError("an index was due")
    return value


def _frame(pandas: Any, columns: Any, index: Any, held: Any) -> Any:
    if len(_index_only(pandas, columns)) != len(held):
        raise WireError("a frame of as many columns as it has names was due")
    columns_held = {place: _of_its_type(pandas.Series, pandas, column) for place, column in enumerate(held)}
    if any(len(column) != len(index) for column in columns_held.values()):  # pandas spreads a single value
        raise WireError("columns of as many values as the index has were due")
    made = pandas.DataFrame(columns_held, index=pandas.RangeIndex(len(_index_only(pandas, index))))
    made.columns, made.index = columns, index
    return made


def _series(pandas: Any, index: Any, column: Any, name: Any) -> Any:
    return _of_its_type(pandas.Series, pandas, column, index=_index_only(pandas, index), name=name)


def _times(pandas: Any, column: Any, name: Any, frequency: Any) -> Any:
    made = pandas.DatetimeIndex(_values(pandas, column), name=name)
    if type(frequency) is str and len(frequency) <= 20:
        made.freq = frequency
    return made


def _levels(pandas: Any, items: Any, names: Any) -> Any:
    if not items:
        return pandas.MultiIndex(levels=[[] for _ in names], codes=[[] for _ in names], names=names)
    return pandas.MultiIndex.from_tuples(items, names=names)


def _time(pandas: Any, value: Any, zone: Any) -> Any:
    made = pandas.Timestamp(_whole(value), unit="ns", tz=None if zone is None else "UTC")
    if zone is None:
        return made
    if type(zone) is not str or _ZONE.fullmatch(zone) is None:
        raise WireError("a time zone of no known form")
    return made.tz_convert(zone)


def _whole(value: Any) -> int:
    if type(value) is not int:
        raise WireError("an int was due")
    return value


_MADE: dict[str, Callable[..., Any]] = {
    "frame": _frame,
    "series": _series,
    "index": lambda pandas, column, name: _of_its_type(pandas.Index, pandas, column, name=name),
    "times": _times,
    "range": lambda pandas, start, stop, step, name: pandas.RangeIndex(
        _whole(start), _whole(stop), _whole(step), name=name
    ),
    "levels": _levels,
    "categorical": _values,
    "time": _time,
    "delta": lambda pandas, value: pandas.Timedelta(_whole(value), unit="ns"),
    "NA": lambda pandas: pandas.NA,
    "NaT": lambda pandas: pandas.NaT,
}
