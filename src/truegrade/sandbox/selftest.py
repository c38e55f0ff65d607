"""The proof of a protection level: a program that tries to get out, run before any that is not ours."""

from __future__ import annotations

import secrets
import socket
import tempfile
import threading
from typing import Any

from truegrade.errors import SandboxError
from truegrade.sandbox import modes
from truegrade.sandbox.limits import Limits
from truegrade.sandbox.outcome import CallResult, Stop
from truegrade.sandbox.protection import NAMESPACES, Protection
from truegrade.sandbox.supervisor import Supervisor
from truegrade.sandbox.worker import Worker

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


def self_test(protection: Protection) -> str | None:
    """Why this protection does not hold on this machine; None if it does."""
    limits = Limits(cpu_s=5, wall_s=30)
    worker = Worker(protection, limits)
    results: list[CallResult] = []
    try:
        with tempfile.NamedTemporaryFile("w") as secret, socket.create_server(("127.0.0.1", 0)) as server:
            secret.write(secrets.token_hex())
            secret.flush()
            arguments = (secret.name, server.getsockname()[1], __file__)
            stop = _run(worker, limits, arguments, results)
    except SandboxError as error:
        return str(error)
    except OSError as error:
        return f"the self-test cannot run: {error}"
    finally:
        worker.close()
    if stop.status != "passed" or not results or results[0].error:
        return f"the self-test ended in {stop.status}: {results[0].error if results else stop.detail}"
    got_out, host = results[0].value
    if got_out:
        return f"the self-test's program {', '.join(map(str, got_out))}"
    if protection.level == NAMESPACES and host == socket.gethostname():
        return "the self-test's program sees the name of this machine"
    return None


def _run(worker: Worker, limits: Limits, arguments: tuple[Any, ...], results: list[CallResult]) -> Stop:
    def keep(index: int, result: CallResult) -> bool:
        results.append(result)
        return True

    with Supervisor(limits, threading.Event(), worker) as run:
        try:
            return modes.make_calls(run, PROGRAM, "f", [arguments], keep)
        except Stop as stop:
            return stop
