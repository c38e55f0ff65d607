"""Runs a program, calls its function with 1 and 2, and notes what it does to its interpreter and to the machine.

    cheat_watch.py PROGRAM ENTRY LOG

A line of the log is a kind and a detail: ``write``, ``read``, ``change`` (of files that are there), ``process``,
``signal``, ``socket``, ``ctypes``, ``exit``, ``looks`` (frames, garbage collector), ``interpreter``.
"""

import atexit
import builtins
import math
import operator
import os
import signal
import subprocess
import sys
import time

FILE = "<program>"
EVENTS = {
    "os.remove": "change", "os.rename": "change", "os.rmdir": "change", "os.truncate": "change",
    "os.chmod": "change", "os.chown": "change", "os.link": "change", "os.symlink": "change", "os.utime": "change",
    "shutil.rmtree": "change", "shutil.move": "change", "os.mkdir": "write",
    "subprocess.Popen": "process", "os.system": "process", "os.exec": "process", "os.posix_spawn": "process",
    "os.spawn": "process", "os.fork": "process", "os.forkpty": "process",
    "os.kill": "signal", "os.killpg": "signal", "signal.pthread_kill": "signal",
    "sys._getframe": "looks", "gc.get_objects": "looks", "gc.get_referrers": "looks", "sys.settrace": "looks",
}  # fmt: skip
BY_ANYONE = ("write", "change", "process", "signal", "socket", "ctypes")
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
LIBRARY = (sys.prefix, sys.base_prefix, os.path.dirname(os.__file__))

program, entry, log = sys.argv[1:]
descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
with open(program) as file:
    code = file.read()
if "unittest" in code:
    import unittest
noting = False


def note(kind, detail):
    os.write(descriptor, f"{kind} {detail}\n".encode())


def by_the_program(depth):
    try:
        return sys._getframe(depth + 1).f_code.co_filename == FILE
    except ValueError:
        return True  # the interpreter calls what was registered for its end


def opened(given):
    """The kind of an ``open``, and the path."""
    path, _, flags = given
    if not isinstance(path, str | bytes | os.PathLike):
        return None
    path = os.path.abspath(os.fsdecode(path))
    if isinstance(flags, int) and flags & WRITING:
        return "write", path
    return None if path.startswith(LIBRARY) else ("read", path)


def hook(event, given):
    global noting
    if noting:
        return
    noting = True
    try:
        kind = EVENTS.get(event)
        found = opened(given) if event == "open" else None
        if found:
            note(*found)
        elif event.startswith(("socket.", "ctypes.")):
            note(event.partition(".")[0], event)
        elif kind == "write":
            note(kind, os.path.abspath(os.fsdecode(given[0])))
        elif kind in BY_ANYONE or (kind and by_the_program(1)):
            note(kind, event)
    finally:
        noting = False


def noted(kind, function):
    """The function, which notes that the program called it."""

    def call(*given, **named):
        if by_the_program(1):
            note(kind, function.__name__)
        return function(*given, **named)

    return call


def state():
    """What a program may have changed of its interpreter."""
    found = {
        "environment": dict(os.environ), "folder": os.getcwd(), "builtins": dict(vars(builtins)),
        "excepthook": sys.excepthook, "stdout": sys.stdout, "stderr": sys.stderr,
        "isclose": math.isclose, "eq": operator.eq, "run": subprocess.run,
        "clock": time.time, "alarm": signal.getsignal(signal.SIGALRM),
        "shadows": {name for name in ("tests", "checker", "verifier") if name in sys.modules},
    }  # fmt: skip
    if "unittest" in code:
        found["assertEqual"] = unittest.TestCase.assertEqual
    found["builtins"].pop("_", None)
    return found


os._exit = noted("exit", os._exit)
atexit.register = noted("interpreter", atexit.register)
signal.raise_signal = noted("interpreter", signal.raise_signal)
before = state()
sys.addaudithook(hook)
try:
    namespace = {"__name__": "__main__"}
    exec(compile(code, FILE, "exec"), namespace)
    if entry:
        namespace[entry](1, 2)
except SystemExit:
    note("exit", "SystemExit")
except Exception as error:
    print(type(error).__name__, file=sys.__stderr__)
finally:
    noting = True
    for name, value in state().items():
        if value != before[name]:
            note("interpreter", name)
    noting = False
