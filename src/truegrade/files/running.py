"""A line every ten seconds while something runs that cannot say how far it is."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

EVERY_S = 10.0


@contextmanager
def telling(told: Callable[[str], None], what: str, at_most: str) -> Iterator[None]:
    """Say how long something has been running, as long as it does.

    Args:
        told: is given each sentence, in another thread.
        what: runs, as a subject in the plural: ``the tests``.
        at_most: when it ends at the latest: ``300 CPU seconds``.
    """
    ended, began = threading.Event(), time.monotonic()

    def tell() -> None:
        while not ended.wait(EVERY_S):
            told(f"{what} have been running for {time.monotonic() - began:.0f} s, of at most {at_most}")

    thread = threading.Thread(target=tell, name="telling", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
