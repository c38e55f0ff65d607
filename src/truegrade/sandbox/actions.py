"""What the tests may ask of an object of the program."""

from __future__ import annotations

TYPE_CHECKING = False  # `typing` costs a spawned interpreter 8 ms
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

INVOKE = "invoke"
"""Reads an attribute and calls it at once."""
ACTIONS: dict[str, Callable[..., Any]] = {
    "call": lambda target, /, *args, **kwargs: target(*args, **kwargs),
    "get": getattr,
    "set": setattr,
    "value": lambda target: target,
    "len": len,
    "list": list,
    "bool": bool,
    "item": lambda target, key: target[key],
    "put": lambda target, key, value: target.__setitem__(key, value),
    "drop": lambda target, key: target.__delitem__(key),
    "in": lambda target, value: value in target,
}
