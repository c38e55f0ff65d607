"""What stands, outside a program, for values of the program that cannot be rebuilt there."""

from __future__ import annotations

import struct
from marshal import dumps

try:
    from _sha2 import sha256  # type: ignore[import-not-found,unused-ignore]  # Python 3.12 and later
except ImportError:
    from _sha256 import sha256  # type: ignore[import-not-found,unused-ignore]  # `hashlib` loads OpenSSL: 3 ms

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

    def __repr__(self) -> str:
        return "<an iterator>"


class Digest:
    """What is kept of a value too large to carry: the sha256 of ``marshal.dumps(value, 2)``.

    Equal to the digest of the same value and to nothing else; to produce it, one must know the value. Not covered:
    values that are equal but written differently, such as 1 and 1.0.

    Args:
        sha256: 32 bytes.
    """

    __slots__ = ("sha256",)

    def __init__(self, sha256: bytes) -> None:
        self.sha256 = sha256

    @classmethod
    def of(cls, value: Any) -> Self:
        """The digest of a value.

        Raises:
            ValueError: it holds something other than plain built-in values, or is nested too deeply.
        """
        if type(value) is not list and type(value) is not tuple:
            return cls(sha256(dumps(value, 2)).digest())
        # Piece by piece: of a value this large there is no room for a copy. Version 2 of the format writes items
        # one after the other, without references between them.
        opening = b"[" if type(value) is list else b"("
        held = sha256(opening + _COUNT.pack(len(value)))
        for start in range(0, len(value), _PIECE):
            held.update(dumps(value[start : start + _PIECE], 2)[1 + _COUNT.size :])
        return cls(held.digest())

    def __eq__(self, other: object) -> bool:
        return type(other) is Digest and self.sha256 == other.sha256

    def __hash__(self) -> int:
        return hash(self.sha256)

    def __repr__(self) -> str:
        return f"<value of sha256 {self.sha256.hex()[:16]}>"


_COUNT = struct.Struct("<i")
_PIECE = 1 << 16
