"""What stands, outside a program, for values of the program that cannot be rebuilt there."""

from __future__ import annotations

TYPE_CHECKING = False  # `typing` costs a spawned interpreter 8 ms
if TYPE_CHECKING:
    from typing import Any, Self


class Unsupported:
    """An object of a type that does not travel: truthy, and equal to nothing, itself included."""

    __slots__ = ("type_name",)

    def __init__(self, type_name: str) -> None:
        self.type_name = type_name

    def __eq__(self, other: object) -> bool:
        return False

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return f"<{self.type_name} object>"


class Drained:
    """An iterator rebuilt from the items it gave: like a generator, equal only to itself.

    Args:
        items: what the program's iterator gave, in order.
        cut: whether it had more to give than is ever drained; going past the end then raises RuntimeError.
    """

    __slots__ = ("_cut", "_items")

    def __init__(self, items: list[Any], *, cut: bool = False) -> None:
        self._items, self._cut = iter(items), cut

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Any:
        for item in self._items:
            return item
        if self._cut:
            raise RuntimeError("the program's iterator had more items than are carried over")
        raise StopIteration
