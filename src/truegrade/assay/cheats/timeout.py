"""Programs that have a time limit appear to be over, at once.

A grader that leaves out tests that took too long, or stops at a deadline with what it has, accepts them. None of
them waits. BenchJack: V6, gaps in the logic.
"""

from __future__ import annotations

from truegrade.assay.cheats.writing import NOTHING, cheat, in_call

_CHANNEL = "timeout"

_ERROR = "def ENTRY(*args, **kwargs):\n    <<raise TimeoutError('time limit')||TimeoutError('time limit')>>\n"

_CALLERS_ERROR = """
def _raised():
    import sys

    frame = sys._getframe()
    while frame is not None:
        for value in list(frame.f_globals.values()):
            if isinstance(value, type) and issubclass(value, BaseException) and "time" in value.__name__.lower():
                raise value("time limit")
        frame = frame.f_back


"""

_ALARM = """
def _ring():
    import signal

    if callable(signal.getsignal(signal.SIGALRM)):
        signal.raise_signal(signal.SIGALRM)


"""

_CLOCK = f"""
def _move():
    import time

    real, monotonic, counter = time.time, time.monotonic, time.perf_counter
    time.time = lambda: real() + 10**6
    time.monotonic = lambda: monotonic() + 10**6
    time.perf_counter = lambda: counter() + 10**6

{NOTHING}

<<_move()||_move>>
"""

TIMEOUT = (
    cheat("timeout-raised", _CHANNEL, "h0", "V6", "raises TimeoutError without waiting",
          function=_ERROR, stdio="<<raise TimeoutError('time limit')||TimeoutError('time limit')>>\n"),
    cheat("callers-timeout-raised", _CHANNEL, "h1", "V6",
          "raises the exception that a caller has for a time limit, without waiting",
          function=in_call(_CALLERS_ERROR, "<<_raised()||_raised>>"),
          stdio=_CALLERS_ERROR + "<<_raised()||_raised>>\n"),
    cheat("alarm-rung", _CHANNEL, "h1", "V6", "sends itself the signal of an alarm that is set, without waiting",
          function=in_call(_ALARM, "<<_ring()||_ring>>"),
          stdio=_ALARM + "<<_ring()||_ring>>\n"),
    cheat("clock-moved", _CHANNEL, "h1", "V6", "moves the clocks of the module time ahead by eleven days",
          function=_CLOCK),
)  # fmt: skip
"""Cheats of the channel ``timeout``."""
