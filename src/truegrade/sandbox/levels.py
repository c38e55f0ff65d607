"""Which protection this machine offers, found out once a process and proved by a program that tries to get out."""

from __future__ import annotations

import errno
import logging
import os
import secrets
import shutil
import socket
import sys
import tempfile
import threading
from collections.abc import Callable
from typing import Any

from truegrade.errors import SandboxError
from truegrade.sandbox import confine, modes
from truegrade.sandbox.bubblewrap import VARIABLE as GROUP_VARIABLE
from truegrade.sandbox.limits import LIMITS_ONLY, NAMESPACES, Limits, Protection
from truegrade.sandbox.outcome import CallResult, Stop
from truegrade.sandbox.seccomp import MACHINES
from truegrade.sandbox.supervisor import Supervisor
from truegrade.sandbox.worker import Worker

# ---------- The proof of a protection level: a program that tries to get out, run before any that is not ours.

PROGRAM = """
import ctypes, os, socket

def f(secret_path, port, own_path):
    with open("scratch", "w") as file:
        file.write("an honest program may do this")
    got_out = []
    def attempt(name, action):
        try:
            if action() is not False:
                got_out.append(name)
        except OSError:
            pass
    libc = ctypes.CDLL(None, use_errno=True)
    attempt("reads the caller's files", lambda: open(secret_path).read())
    attempt("reads the grader's own files", lambda: open(own_path).read())
    attempt("writes where it may read", lambda: open(os.path.join(os.path.dirname(os.__file__), "note"), "w"))
    attempt("changes the caller's files", lambda: changes(secret_path))
    attempt("opens network connections", lambda: socket.create_connection(("127.0.0.1", port), 1))
    attempt("makes sockets", lambda: socket.socket(socket.AF_UNIX))
    attempt("starts processes", fork)
    attempt("signals other processes", lambda: os.kill(os.getppid(), 0))
    attempt("makes namespaces", lambda: libc.unshare(0x10000000) == 0)
    attempt("makes memory files to execute", lambda: os.memfd_create("x"))
    attempt("becomes another user", lambda: os.setuid(1234))
    return got_out, os.uname().nodename

def changes(path):
    before = os.stat(path).st_mode
    os.chmod(path, 0o640)
    return os.stat(path).st_mode != before

def fork():
    if os.fork() == 0:
        os._exit(0)
"""


TESTED = Limits(cpu_s=5, wall_s=30)
"""Limits of the self-test."""


def self_test(protection: Protection, given: Worker | None = None) -> str | None:
    """Why this protection does not hold on this machine; None if it does.

    Args:
        protection: what is to hold.
        given: a worker of this protection and limits like `TESTED`, still open afterwards; by default one for the
            test alone.
    """
    worker = given or Worker(protection, TESTED)
    results: list[CallResult] = []
    try:
        with tempfile.NamedTemporaryFile("w") as secret, socket.create_server(("127.0.0.1", 0)) as server:
            secret.write(secrets.token_hex())
            secret.flush()
            arguments = (secret.name, server.getsockname()[1], __file__)
            stop = _run(worker, arguments, results)
    except SandboxError as error:
        return str(error)
    except OSError as error:
        return f"the self-test cannot run: {error}"
    finally:
        if given is None:
            worker.close()
    if stop.status != "passed" or not results or results[0].error:
        return f"the self-test ended in {stop.status}: {results[0].error if results else stop.detail}"
    got_out, host = results[0].value
    if got_out:
        return f"the self-test's program {', '.join(map(str, got_out))}"
    if protection.level == NAMESPACES and host == socket.gethostname():
        return "the self-test's program sees the name of this machine"
    return None


def _run(worker: Worker, arguments: tuple[Any, ...], results: list[CallResult]) -> Stop:
    def keep(index: int, result: CallResult) -> bool:
        results.append(result)
        return True

    with Supervisor(TESTED, threading.Event(), worker) as run:
        try:
            return modes.make_calls(run, PROGRAM, "f", [arguments], keep)
        except Stop as stop:
            return stop


# ------- Which protection this machine offers, found out once per process and proved before it is relied upon.

_log = logging.getLogger(__name__)

NO_NAMESPACES = "a filter of system calls around this process, such as a container's, forbids namespaces"
INVALID_FLAG = 1
"""The kernel's `unshare` refuses it with EINVAL; EPERM means that a filter answered first."""
GET_BUBBLEWRAP = "install bubblewrap (`apt install bubblewrap`, `dnf install bubblewrap`)"


_found: dict[int, Protection] = {}
_finding = threading.Lock()


def detect(max_level: int = NAMESPACES, prove: Callable[[Protection], str | None] | None = None) -> Protection:
    """The highest protection that passes its self-test, at most ``max_level``; found out once a process.

    Args:
        max_level: level not to go above.
        prove: runs the self-test, where it has to be run; `self_test` by default.
    """
    with _finding:  # of threads that begin together one runs the test
        if max_level not in _found:
            found = _found[max_level] = _proved(max_level, prove or self_test)
            _log.info("programs run at protection level %d: %s", found.level, found.why)
        return _found[max_level]


def forget() -> None:
    """Find out anew what this machine offers: something about it has changed."""
    with _finding:
        _found.clear()


def _proved(max_level: int, prove: Callable[[Protection], str | None]) -> Protection:
    reasons: list[str] = []
    for level in range(min(max_level, NAMESPACES), LIMITS_ONLY, -1):
        bubblewrap = shutil.which("bwrap") if level == NAMESPACES else None
        why_not = _missing(level, bubblewrap)
        if why_not is None:
            protection = Protection(level=level, why="; ".join([_parts(level), *reasons]), bubblewrap=bubblewrap)
            why_not = prove(protection)
            if why_not is None:
                return protection
            if level == NAMESPACES and _namespaces_forbidden():
                why_not = NO_NAMESPACES
        reasons.append(f"not level {level}: {why_not}")
    why = "; ".join(["resource limits only", *reasons])
    return Protection(level=LIMITS_ONLY, why=why)


def _missing(level: int, bubblewrap: str | None) -> str | None:
    """What the machine lacks for a level."""
    if sys.platform != "linux":
        return "this is not Linux"
    machine = os.uname().machine
    if machine not in MACHINES:
        return f"there is no filter of system calls for {machine}"
    if sys.maxsize < 1 << 32:
        return "the interpreter is a 32-bit program"
    if confine.version() == 0:
        return "the kernel offers no Landlock, or a container's filter of system calls forbids it"
    if level == NAMESPACES and bubblewrap is None:
        return NO_NAMESPACES if _namespaces_forbidden() else f"bubblewrap is not there; {GET_BUBBLEWRAP}"
    return None


def _namespaces_forbidden() -> bool:
    """Whether a filter around this process refuses to make namespaces: it answers before the kernel looks."""
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    return libc.unshare(INVALID_FLAG) != 0 and ctypes.get_errno() == errno.EPERM


def _parts(level: int) -> str:
    walls = "namespaces by bubblewrap, " if level == NAMESPACES else ""
    group = ", a control group for memory" if os.environ.get(GROUP_VARIABLE) else ""
    return f"{walls}Landlock (version {confine.version()}) and a filter of system calls{group}"
