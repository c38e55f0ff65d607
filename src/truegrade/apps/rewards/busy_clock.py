"""How long the rewards of this process took: the share of a training step that waits for them."""

from __future__ import annotations

import os
import threading
import time


class BusyClock:
    """Wall seconds in which something was under way, however much of it at once; ``with`` it while it is."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open, self._since, self._spent = 0, 0.0, 0.0

    def __enter__(self) -> None:
        with self._lock:
            if not self._open:
                self._since = time.monotonic()
            self._open += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._open -= 1
            if not self._open:
                self._spent += time.monotonic() - self._since

    @property
    def seconds(self) -> float:
        """Since this process began."""
        with self._lock:
            return self._spent + (time.monotonic() - self._since if self._open else 0.0)


class StepTime:
    """The time since the last step, and how much of it went by while rewards were graded."""

    def __init__(self) -> None:
        self._began, self._busy = time.monotonic(), GRADING.seconds

    def lap(self) -> tuple[float, float]:
        """Seconds since the last call, or since this was made; of these, seconds of rewards."""
        now, busy = time.monotonic(), GRADING.seconds
        took = now - self._began, busy - self._busy
        self._began, self._busy = now, busy
        return took


GRADING = BusyClock()
"""Of all graders of rewards in this process."""
os.register_at_fork(after_in_child=GRADING.__init__)  # type: ignore[misc]
