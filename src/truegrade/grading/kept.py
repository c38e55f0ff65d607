"""What is computed once and kept for the problems graded last."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class LastKept(Generic[T]):
    """The last few things that were made, by key; safe to use from several threads.

    Args:
        most: how many stay in memory.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: OrderedDict[str, T] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, key: str, make: Callable[[], T]) -> T:
        """What is kept under a key, made if there is nothing; raises what making it raises."""
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
        # Outside the lock, which would have every other problem wait: at worst two threads find out the same.
        made = make()
        self.keep(key, made)
        return made

    def keep(self, key: str, made: T) -> None:
        """Keep this under a key, in place of what was."""
        with self._lock:
            self._kept[key] = made
            self._kept.move_to_end(key)
            while len(self._kept) > self._most:
                self._kept.popitem(last=False)
