"""Functions of ours, applied to values that a program returned, in a process that has little to lose.

To compare a value, or to say what it is, can take memory and time out of all proportion to its size: a range of
ten billion numbers as a list, an array against a list of another shape. Small values are looked at where they are;
for all others there is a process with limits on memory and CPU time, which lives on for the next. It runs nothing
but code of ours, so it needs no jail.

    python -P -c "from truegrade.sandbox.apart import main; main()" FD      serves on that socket
"""

from __future__ import annotations

import gc
import os
import pickle
import resource
import socket
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from truegrade.errors import SandboxError
from truegrade.sandbox.outcome import CallResult
from truegrade.sandbox.rlimits import peak_bytes
from truegrade.sandbox.wire import ValueTooLarge

MEMORY_BYTES = 3 << 29
"""Address space of the process."""
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1"}
"""Numpy's library sets address space aside for each."""
CPU_S = 20
"""CPU seconds for one value."""
ANSWER_S = 120.0
"""Wall seconds after which it is given up, on the busiest of machines."""
KEPT_BYTES = 256 << 20
"""Memory by which the process may have grown and still serve another."""
TOO_MUCH = "a value that takes too much memory or time to compare"


class Apart:
    """Such a process, for one caller at a time.

    Raises:
        SandboxError: it cannot be started.
    """

    def __init__(self) -> None:
        self._socket, theirs = socket.socketpair()
        self._socket.settimeout(ANSWER_S)
        words = [sys.executable, "-P", "-c", f"from {__name__} import main; main()", str(theirs.fileno())]
        with theirs:
            try:
                self._popen = subprocess.Popen(
                    words, stdin=subprocess.DEVNULL, pass_fds=[theirs.fileno()], env={**os.environ, **ONE_THREAD}
                )
            except OSError as error:
                self._socket.close()
                raise SandboxError(f"no process can be started to compare values: {error}") from error
        self._stream = self._socket.makefile("rwb")
        self.open = True

    def apply(self, function: Callable[..., Any], *arguments: object) -> Any:
        """What a module's function returns of these arguments, `CallResult` standing for their values.

        Raises:
            ValueTooLarge: it took more than this process may.
            Exception: what the function raised.
        """
        try:
            pickle.dump((function, arguments), self._stream, protocol=5)
            self._stream.flush()
            fits, value, serves_on = pickle.load(self._stream)
        except (OSError, EOFError, pickle.UnpicklingError):
            self.close()
            raise ValueTooLarge(TOO_MUCH) from None
        if not serves_on:
            self.close()
        if not fits:
            raise value
        return value

    def close(self) -> None:
        """End it. May be called twice."""
        self.open = False
        with suppress(OSError):
            self._stream.close()
        self._socket.close()
        self._popen.kill()
        self._popen.wait()


def unwrapped(argument: object) -> object:
    """The value of a result, anything else as it is."""
    return argument.whole if isinstance(argument, CallResult) else argument


def _serve(stream: Any) -> None:
    began_with = peak_bytes()
    while True:
        try:
            function, arguments = pickle.load(stream)
        except EOFError:
            return
        _allow_cpu()
        try:
            answer = True, function(*map(unwrapped, arguments))
        except MemoryError:
            answer = False, ValueTooLarge(TOO_MUCH)
        except Exception as error:
            answer = False, error
        serves_on = peak_bytes() <= began_with + KEPT_BYTES
        pickle.dump((*answer, serves_on), stream, protocol=5)
        stream.flush()
        if not serves_on:
            return
        del function, arguments, answer


def _allow_cpu() -> None:
    """So many CPU seconds from now; the kernel ends the process that takes more."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    soft = int(used.ru_utime + used.ru_stime) + 1 + CPU_S
    resource.setrlimit(resource.RLIMIT_CPU, (soft, resource.getrlimit(resource.RLIMIT_CPU)[1]))


def main() -> None:
    """Serve on the socket of the number that is the first argument, within limits."""
    with suppress(ValueError, OSError):  # macOS refuses
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    gc.disable()  # which would go through millions of parts again and again; no value refers to itself
    with socket.socket(fileno=int(sys.argv[1])) as end, end.makefile("rwb") as stream:
        _serve(stream)
