"""The alarm of the published graders, and how it is made to count the program's time and not the machine's.

Theirs is one SIGALRM after so many seconds of wall time, whose handler raises; a program can catch the exception,
cancel the alarm or ignore the signal. Ours is the same, but time in which a runnable thread of the program waited
for a core does not count: when the alarm goes off too early by that measure, it is set again for the rest.
"""

import os
import signal
import time
from collections.abc import Callable
from types import FrameType

_SHORTEST_S = 0.01
_NANOSECOND = 1e-9


class TimeoutException(Exception):
    """Time is up. Its name is how graders recognise it, and a program may catch it."""


class Alarm:
    """Sets the alarm, handles it, and remembers the longest time between a setting and the next.

    Args:
        whole_seconds: set it with ``signal.alarm``, which cuts fractions, rather than ``signal.setitimer``.
        announced: print a line, into whatever is standard output, when it goes off.
        deadly: end the process when it goes off, as where no handler was set.
    """

    def __init__(self, *, whole_seconds: bool, announced: bool, deadly: bool = False) -> None:
        self._whole_seconds, self._announced, self._deadly = whole_seconds, announced, deadly
        self._limit_s = self._started = self._waited = self._due = 0.0
        self._born = _now()
        self.longest_s = 0.0
        self.fired = False

    def set(self, seconds: float) -> None:
        """Let it go off after so many seconds; 0 cancels it."""
        if self._limit_s:
            self.longest_s = max(self.longest_s, self._used_s())
        self._limit_s = seconds
        if seconds:
            self._started, self._waited, self._due = _now(), _waited_s(), _now() + seconds
        if self._whole_seconds:
            signal.alarm(int(seconds))
        else:
            signal.setitimer(signal.ITIMER_REAL, seconds)

    def handle(self, number: int, frame: FrameType | None) -> None:
        """Raise TimeoutException, unless the program has spent part of the time waiting for a core."""
        left_s = self._limit_s - self._used_s()
        # One that comes before it is due was set by the program itself.
        if _now() >= self._due - _SHORTEST_S and left_s > _SHORTEST_S:
            self._due = _now() + left_s
            _set_timer(_REAL, left_s)
            return
        self.fired = True
        if self._deadly:
            _set_handler(number, _DEFAULT)
            _raise(number)
        if self._announced:
            print("timeout occured: alarm went off")  # part of what the program printed
        raise TimeoutException

    @property
    def total_s(self) -> float:
        """Seconds since the beginning."""
        return _now() - self._born - _waited_s()

    def _used_s(self) -> float:
        return _now() - self._started - max(0.0, _waited_s() - self._waited)


def _waited_s() -> float:
    """Seconds for which threads of this process have been runnable without running; 0 where nobody counts."""
    waited = 0
    try:
        for task in _list("/proc/self/task"):
            fd = _open(f"/proc/self/task/{task}/schedstat", os.O_RDONLY)
            try:
                waited += int(_read(fd, 100).split()[1])
            finally:
                _close(fd)
    except (OSError, ValueError, LookupError):
        return 0.0
    return waited * _NANOSECOND


# Bound now: a program may replace them where they come from, and must not move its own clock by it.
_now: Callable[[], float] = time.monotonic
_list, _open, _read, _close = os.listdir, os.open, os.read, os.close
_set_timer, _REAL = signal.setitimer, signal.ITIMER_REAL
_set_handler, _raise, _DEFAULT = signal.signal, signal.raise_signal, signal.SIG_DFL
