"""Commands of ours in processes of their own: signalled as soon as something holds, and never left behind."""

import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

PATIENCE_S = 300.0
"""How long a command may take to come to something on a machine with other work."""


def signalled(command: Sequence[object], when: Callable[[], bool], number: int, **streams: Any) -> int:
    """Start a command, send it a signal as soon as something holds, and wait for its end; its exit code.

    Args:
        command: words behind ``truegrade``.
        when: whether it is time.
        number: of the signal.
        streams: for `subprocess.Popen`; what is not named goes to nowhere.
    """
    streams = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, **streams}
    process = subprocess.Popen([sys.executable, "-m", "truegrade", *map(str, command)], **streams)
    try:
        deadline = time.monotonic() + PATIENCE_S
        while not when():
            assert time.monotonic() < deadline and process.poll() is None
            time.sleep(0.005)
        process.send_signal(number)
        return process.wait(PATIENCE_S)
    finally:
        process.kill()
        process.wait()
