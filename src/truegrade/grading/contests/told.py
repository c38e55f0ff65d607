"""What a function returned, as text that the one outside can compare as the published graders compare the value.

The text of this file is sent to the sandbox and run beside a program, where no expected value is.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any


def as_told(value: Any) -> str:
    """JSON of a value; nothing, which is no JSON, of one that equals no such value.

    A number or collection of a library is told as the plain value that it equals; an array of numpy, or a number
    that only numpy compares as it does, as ``{"numpy": values, "type": name}``.
    """
    try:
        return json.dumps(_in_json(value), ensure_ascii=False)
    except Exception:
        return ""


def _in_json(value: Any) -> Any:
    """The value in types of JSON.

    Raises:
        TypeError: it equals nothing in JSON: a tuple in a list, a set, a key that is no text.
    """
    if type(value).__module__ == "numpy":
        return _of_numpy(value)
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Mapping):
        if not all(isinstance(key, str) for key in value):
            raise TypeError
        return {key: _in_json(item) for key, item in value.items()}
    if isinstance(value, Sequence):
        items = list(value)
        if not value == items:
            raise TypeError
        return [_in_json(item) for item in items]
    for kind in (int, float):
        number = kind(getattr(value, "real", value))  # of a complex number, which is none of both
        if value == number:
            return number
    raise TypeError


def _of_numpy(value: Any) -> Any:
    if type(value).__name__ != "ndarray" and (value.dtype.kind in "biuU" or value.dtype.name == "float64"):
        return value.item()
    return {"numpy": value.tolist(), "type": value.dtype.name}
