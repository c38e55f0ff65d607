"""How what an answer returns is compared: with the text of these functions the tests of every problem begin."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def equals_exactly(got: Any, due: Any) -> bool:
    """Whether a value is the one that is due: of the same types, but for the last digits of floats.

    The order of sets and of the keys of dictionaries decides nothing.
    """
    import builtins as plain

    if plain.type(got) is not plain.type(due):
        return False
    if plain.isinstance(due, plain.list | plain.tuple):
        pairs = plain.zip(got, due, strict=False)
        return plain.len(got) == plain.len(due) and plain.all(equals_exactly(*pair) for pair in pairs)
    if plain.isinstance(due, plain.dict):
        return plain.len(got) == plain.len(due) and plain.all(
            key in got and equals_exactly(got[key], item) for key, item in due.items()
        )
    alike: bool = got == due
    if not alike and plain.isinstance(due, plain.float | plain.complex):
        alike = plain.abs(got - due) <= 1e-9 * plain.max(plain.abs(got), plain.abs(due), 1e-3)
    return alike


def type_raised(call: Callable[[], Any]) -> str:
    """The name of the exception that a call raises, or that its items raise; empty where it raises none."""
    import builtins as plain

    try:
        value = call()
        if plain.hasattr(value, "__next__"):
            plain.list(value)
    except plain.Exception as error:
        return plain.type(error).__name__
    return ""
