"""The supervisor's side of a zygote: starts it, with what it has loaded; asks it for processes; ends it."""

from __future__ import annotations

import contextlib
import json
import os
import re
import select
import signal
import socket
import struct
import subprocess
import sys
import tempfile
from binascii import b2a_base64
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.machinery import SourceFileLoader
from marshal import dumps
from pathlib import Path
from typing import NoReturn

from truegrade.errors import SandboxError
from truegrade.sandbox import bubblewrap
from truegrade.sandbox.bubblewrap import spare_uid
from truegrade.sandbox.limits import FILTERS, LIMITS_ONLY, NAMESPACES, GraderNeeds, Limits, Protection
from truegrade.sandbox.rlimits import TASK_HEADROOM
from truegrade.sandbox.start import MODULES
from truegrade.sandbox.tree import DEVICES, Tree, tree
from truegrade.sandbox.zygote import END, NEXT, QUERY, READY, REPORT, empty

# ------------------------ Which modules a zygote has loaded before it forks: a kind for programs of each sort.

# What the LiveCodeBench runner imports ahead of every program (lcb_runner/evaluation/testing_util.py), by far the
# most imported by programs of the other benchmarks as well.
_CONTESTS = (
    *("string", "re", "datetime", "collections", "heapq", "bisect", "copy", "math", "random", "statistics"),
    *("itertools", "functools", "operator", "io", "sys", "json"),
)
CONTEST_IMPORTS = "".join(
    (
        *(f"from {name} import *\n" for name in (*_CONTESTS, "builtins", "typing")),
        *(f"import {name}\n" for name in _CONTESTS),
    )
)
"""With what every contest program begins; zygotes of kinds that have these modules run it once for all."""
# `truegrade.sandbox.child` prints a traceback for each script that fails; some run in a thread for its stack.
_STANDARD = (*_CONTESTS, "typing", "traceback", "threading")
# numpy loads the second when it is first used, in 15 ms, and `truegrade.sandbox.child.reseed` uses it.
_NUMPY = ("numpy", "numpy.random")
# What the guards of published harnesses take names from. Loaded in each child, they cost more than the program.
_GUARDED = (*_STANDARD, "shutil", "subprocess")
# What a published grader that runs beside each of its programs loads besides.
_GRADING = (*_GUARDED, "ast", "faulthandler", "importlib", "pickle", "signal")
# What the host of `truegrade assay` loads ahead of each grader under measurement.
_MEASURED = (*_GRADING, "importlib.util", "inspect", "pathlib", "tempfile", "types")
# Of a suite, `truegrade.sandbox.by_pytest`, and what pytest has loaded besides once it has run a test.
_PYTEST = ("suite_pytest", "_pytest.skipping", "_pytest.tracemalloc", "pdb")
# What suites of unit tests need (`truegrade.grading.suite_runs`).
_SUITE = (*_GRADING, "csv", "marshal", "shutil", "unittest", "unittest.mock")
PRELOADED = {
    "standard": _STANDARD, "guarded": _GUARDED, "grading": _GRADING, "numpy": (*_GRADING, *_NUMPY),
    "measured": _MEASURED, "suite": _SUITE, "suite with numpy": (*_SUITE, *_NUMPY),
    "pytest": (*_SUITE, *_PYTEST), "science": (*_SUITE, *_PYTEST),
}  # fmt: skip
LATER = {
    "science": (
        *("numpy", "pandas", "scipy.stats", "matplotlib.pyplot", "seaborn", "sklearn.linear_model"),
        *("sklearn.model_selection", "sklearn.preprocessing", "sklearn.metrics"),
    )
}
"""What is loaded once the zygote has its folder of temporary files, which matplotlib writes to. To load all of it
takes seconds."""
APART = frozenset({"suite", "suite with numpy", "pytest", "science"})
"""Whose programs share a process with their tests, so that one run must tell the next nothing
(`truegrade.sandbox.confine`)."""
_OF_SCRIPTS = ("standard", "numpy")
"""Whose programs may be scripts."""
_IMPORTS_NUMPY = re.compile(r"^[ \t]*(?:import|from)[ \t].*\b(?:numpy|pandas|scipy|sklearn)\b", re.MULTILINE)
_DATA = frozenset({"pandas", "matplotlib", "scipy", "sklearn", "seaborn"})
_IMPORTS_PYTEST = re.compile(r"^import pytest$", re.MULTILINE)
_IMPORTS_AS_GRADERS = re.compile(r"import .*\bfaulthandler\b")


def kind_of(*sources: str, guarded: bool = False, preload: Sequence[str] = ()) -> str:
    """The kind of zygote for these sources; a wrong guess costs time and nothing else.

    Args:
        sources: what will run.
        guarded: whether names of `shutil` and `subprocess` are disabled first.
        preload: modules that will be imported ahead.
    """
    of_suite = {"unittest", "pytest"}.intersection(preload)
    if of_suite and _DATA.intersection(preload):
        return "science"
    if "pytest" in preload or any(map(_IMPORTS_PYTEST.search, sources)):
        return "pytest"
    if of_suite:
        return "suite with numpy" if "numpy" in preload else "suite"
    if any(_IMPORTS_NUMPY.search(source) for source in sources):
        return "numpy"
    if any(_IMPORTS_AS_GRADERS.match(source) for source in sources):
        return "grading"
    return "guarded" if guarded else "standard"


# ---------------------------------- The directory programs run in where they have no file system of their own.


def make_scratch() -> Path:
    """A new empty directory that only this user can enter.

    Raises:
        SandboxError: no directory for temporary files can be written, as in a container with a read-only root.
    """
    try:
        return Path(tempfile.mkdtemp(prefix="truegrade-"))
    except OSError as error:
        raise SandboxError(
            f"programs have nowhere to write: {error.strerror}; set TMPDIR to a directory that can be written "
            "(in a read-only container: `docker run --tmpfs /tmp`)"
        ) from error


def remove_scratch(root: Path) -> None:
    """Remove the directory and everything in it.

    Not covered: files that a process which outlived the run keeps creating.
    """
    empty(str(root))
    with contextlib.suppress(OSError):
        root.rmdir()


SCRIPT = Path(__file__).with_name("start.py")
# Not -I: it would ignore PYTHONHASHSEED, and with it the order of a set would change from run to run. The
# environment is ours altogether, so -P (no script folder on the path) and -s (no user site) isolate as well. With
# -S none of the environment's own files runs; what may be imported of it, `truegrade.sandbox.zygote.offer` says.
FLAGS = ("-P", "-S", "-s", "-B")
START_S, ANSWER_S, END_S = 180.0, 30.0, 5.0
"""How long a zygote may take to start, to answer and to end on a loaded machine, before it is given up."""
SCRATCH_FILES = 16_384
"""Files and directories a program may have at level 3; bounds how long it takes to remove them."""
THREADS = 64
"""Tasks left to threads where a program may start a counted number of processes."""
MAX_FDS = 3
CLOSE_ON_EXEC = getattr(socket, "MSG_CMSG_CLOEXEC", 0)
_TIMEVAL = struct.Struct("@ll")


class ZygoteLost(Exception):
    """The zygote has died or does not answer."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Report:
    """What became of one process."""

    status: int
    """As `os.wait` gives it."""
    cpu_s: float
    """CPU seconds of it and of everything it left."""
    left: int
    """Processes it had left running."""
    clean: bool
    """Whether the scratch is empty again."""


class Zygote:
    """A warm interpreter of one role and kind. It starts by itself, beside others; `start` waits until it serves.

    Args:
        role: ``child`` or ``judge``.
        kind: see `truegrade.sandbox.zygotes`.
        protection: what it confines itself to.
        limits: of every program.
        hash_seed: of the interpreter.
        core: on which it and its processes run; None for any.

    Raises:
        SandboxError: it cannot be started, which may also show in `start`.
    """

    def __init__(
        self,
        role: str,
        kind: str,
        protection: Protection,
        limits: Limits,
        hash_seed: int = 0,
        core: int | None = None,
    ) -> None:
        self.pid = 0
        """Number of its process on this machine."""
        self.open = True
        self._serves = False
        self._level = protection.level
        self.waiting = int(
            self._has_own_namespaces(role, kind)
        )  # processes ahead of each program's, and none of its own
        self._processes = limits.processes
        self._scratch = None if self._level == NAMESPACES else make_scratch()
        self._socket, theirs = socket.socketpair()
        self._pidfd = -1
        self._group: bubblewrap.MemoryGroup | None = None
        self._starved = False
        """Whether it ended while somebody was killed for want of memory."""
        # bubblewrap tells the number that its child has out here; inside, that child is 1.
        info_read, info_write = os.pipe()
        try:
            with theirs:
                needs = limits.grader or GraderNeeds()
                seen = tree(limits.packages, needs.shown)
                # Judges are trusted; what values cost them is bounded elsewhere.
                self._group = bubblewrap.make(limits) if role == "child" else None
                self._uid = self._own_uid(seen, needs.shown)
                own = str(SCRIPT.parent)
                folder = own if protection.bubblewrap is None else bubblewrap.place_of(own)
                words = [sys.executable, *FLAGS, f"{folder}/{SCRIPT.name}", role, str(theirs.fileno())]
                words.append(b2a_base64(dumps(self._settings(role, kind, limits, core, seen))).decode())
                fds = [theirs.fileno()]
                if protection.bubblewrap is not None:
                    own_users = self._uid is None
                    walls = bubblewrap.command(protection.bubblewrap, seen, own, info_write, own_users)
                    words = [*walls, "--", *words]
                    fds.append(info_write)
                self._popen = _spawn(words, fds, environment(hash_seed))
            os.close(info_write)
            info_write = -1
            self._socket.settimeout(START_S)
            self._place(info_read)
        except BaseException:
            self.close()
            raise
        finally:
            for fd in (info_read, info_write):
                if fd >= 0:
                    os.close(fd)

    def _has_own_namespaces(self, role: str, kind: str) -> bool:
        """Whether each of its processes gets namespaces of its own."""
        return role == "child" and kind in APART and self._level == NAMESPACES

    def _own_uid(self, seen: Tree, shown: tuple[str, ...]) -> int | None:
        """The number of the user whose programs these will be, if it is to be another than ours."""
        if self._level < FILTERS:
            return None
        return spare_uid(shown if self._scratch is None else [*seen.opened, str(self._scratch.parent)])

    def _settings(self, role: str, kind: str, limits: Limits, core: int | None, seen: Tree) -> dict[str, object]:
        """What the zygote needs to know; `truegrade.sandbox.confine` and `.zygote` read it."""
        compile_spawned()
        uid = self._uid
        if self._scratch is not None and uid is not None:
            os.chown(self._scratch, uid, uid)
        # Alone under its number, or in a user namespace, whose tasks Linux 5.14 and later count apart.
        alone = uid is not None or (self._level == NAMESPACES and _kernel() >= (5, 14))
        tasks = limits.processes + THREADS if limits.processes else TASK_HEADROOM
        return {
            "level": self._level,
            "apart": self._has_own_namespaces(role, kind),
            "piped": role == "child",
            # A judge is forked once for many samples, so that it imports what its tests ask for as late, and once.
            "preload": () if role == "judge" and kind == "standard" else PRELOADED[kind],
            "later": LATER.get(kind, ()),
            "preamble": CONTEST_IMPORTS if role == "child" and kind in _OF_SCRIPTS else "",
            "packages": dict(seen.importable),
            "described": seen.described,
            "readable": [*seen.opened, *DEVICES],
            # An interpreter that a grader starts looks its packages up in folders, as any does.
            "listed": seen.libraries if limits.grader is None else (*seen.libraries, *_folders(seen)),
            "grader": limits.grader is not None,
            "scratch": bubblewrap.SCRATCH if self._scratch is None else str(self._scratch),
            "temporary": bubblewrap.TEMPORARY if self._scratch is None else None,
            "scratch_bytes": limits.scratch_bytes,
            "scratch_files": SCRATCH_FILES,
            "uid": uid,
            "core": core,
            "tasks": tasks if alone else None,
            "processes": limits.processes,
        }

    def _place(self, info_fd: int) -> None:
        """Learn its number, and put it into its group."""
        try:
            self.pid = self._number(info_fd)
            if self._group is not None and self.pid:
                self._group.add(self.pid)  # long before it forks a program: Python is only starting
        except OSError:
            self._give_up()

    def _greet(self) -> None:
        """Wait until it serves."""
        try:
            ready = self._socket.recv(1) == READY
        except OSError:
            ready = False
        if not ready:
            self._give_up()
        self._socket.settimeout(None)
        # The kernel's own time-outs: Python's would poll before each call.
        for option in (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO):
            self._socket.setsockopt(socket.SOL_SOCKET, option, _TIMEVAL.pack(int(ANSWER_S), 0))
        if hasattr(os, "pidfd_open"):
            with contextlib.suppress(OSError):
                self._pidfd = os.pidfd_open(self.pid)
        assert self._popen.stderr is not None
        self._popen.stderr.close()
        self._serves = True

    def _give_up(self) -> NoReturn:
        with contextlib.suppress(OSError):
            self._popen.kill()
        assert self._popen.stderr is not None
        words = self._popen.stderr.read(1 << 16).decode("utf-8", "replace").strip().splitlines()
        self.close()
        raise SandboxError(
            f"the process that runs programs did not start: {words[-1] if words else 'no reason given'}"
        )

    def _number(self, info_fd: int) -> int:
        """Its process number on this machine; 0 where bubblewrap ended before it could tell."""
        if self._level < NAMESPACES:
            return self._popen.pid
        told = b""
        while not told.rstrip().endswith(b"}"):
            if not select.select([info_fd], [], [], START_S)[0] or not (part := os.read(info_fd, 1 << 16)):
                return 0
            told += part
        return int(json.loads(told)["child-pid"])

    # ------------------------------------------------------------------------------------------------- asking

    def start(self) -> list[int]:
        """The next process: our ends of its stream and, of a program's, of its stdout and stderr.

        Raises:
            ZygoteLost: there is no zygote any more.
            SandboxError: it did not start, or the process could not be forked.
        """
        if not self._serves:
            self._greet()
        try:
            said, fds, _, _ = socket.recv_fds(self._socket, len(NEXT), MAX_FDS, CLOSE_ON_EXEC)
        except OSError as error:
            raise ZygoteLost from error
        if said != NEXT:
            raise ZygoteLost
        if not fds:
            self.close()
            raise SandboxError("no process can be started to run a program; free some and run again")
        return fds

    def ended(self) -> bool:
        """Whether that process has ended; raises as `_ask` does."""
        return self._ask(QUERY, 1) == b"1"

    def finish(self) -> Report:
        """Kill it and all it left; raises as `_ask` does."""
        status, cpu_s, left, clean = REPORT.unpack(self._ask(END, REPORT.size))
        if self._processes:
            self.out_of_memory()  # one of its processes may have been killed, and it have passed
        if not clean or (left and self._level > LIMITS_ONLY and not self._processes):
            self.close()  # a state that cannot be: let nothing of it reach the next sample
        return Report(status=status, cpu_s=cpu_s, left=left, clean=clean)

    def out_of_memory(self) -> bool:
        """Whether one of its processes was killed since this was last asked, since all used too much together."""
        starved = self._starved or (self._group is not None and self._group.killed())
        self._starved = False
        return starved

    def _ask(self, question: bytes, size: int) -> bytes:
        """The answer to a question.

        Raises:
            ZygoteLost: there is no zygote any more.
        """
        answer = b""
        try:
            self._socket.sendall(question)
            while len(answer) < size:
                part = self._socket.recv(size - len(answer))
                if not part:
                    raise ZygoteLost
                answer += part
        except OSError as error:
            raise ZygoteLost from error
        return answer

    def close(self) -> None:
        """End it, and all that it started."""
        if not self.open:
            return
        self.open = False
        self._socket.close()
        popen = getattr(self, "_popen", None)
        if popen is not None:
            try:
                # It ends by itself when its socket closes, and as PID 1 takes its namespace along. The kernel is
                # asked first, for Popen looks ever more seldom.
                if self._pidfd >= 0:
                    select.select([self._pidfd], [], [], END_S)
                popen.wait(END_S)
            except subprocess.TimeoutExpired:
                if self._pidfd >= 0:
                    with contextlib.suppress(ProcessLookupError):
                        signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)
                popen.kill()
                popen.wait()
            if self._pidfd >= 0:
                # In a PID namespace the end of PID 1 is seen when all the others are gone.
                select.select([self._pidfd], [], [], END_S)
            if popen.stderr is not None:
                popen.stderr.close()
        if self._pidfd >= 0:
            os.close(self._pidfd)
        if self._scratch is not None:
            remove_scratch(self._scratch)
        if self._group is not None:
            self._starved = self._group.killed()
            self._group.remove()


def _folders(seen: Tree) -> set[str]:
    """Where the packages lie that may be imported."""
    return {folder for _, folder in seen.importable}


def _spawn(words: list[str], fds: list[int], environ: dict[str, str]) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            pass_fds=fds,
            cwd="/",
            env=environ,
            start_new_session=True,
        )
    except OSError as error:
        raise SandboxError(
            f"no process can be started to run programs: {error}; free some and run again"
        ) from error


def environment(hash_seed: int = 0) -> dict[str, str]:
    """All that a program sees of the environment, but for HOME and TMPDIR: nothing of the caller's.

    It does not see LD_BIND_NOW, which is for the zygote: a library's function that is looked up at its first call
    is looked up in every child.
    """
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    return {"PATH": os.defpath, "LANG": "C.UTF-8", "PYTHONHASHSEED": str(hash_seed), "LD_BIND_NOW": "1", **threads}


@cache
def compile_spawned() -> None:
    """Leave the byte code of what zygotes load where they find it: most of them cannot write it themselves."""
    for name in sorted({name for names in MODULES.values() for name in names}):
        SourceFileLoader(f"truegrade.sandbox.{name}", str(SCRIPT.with_name(f"{name}.py"))).get_code(
            f"truegrade.sandbox.{name}"
        )


def _kernel() -> tuple[int, ...]:
    """Major and minor version of the running kernel; (0,) if it says so in no known form."""
    try:
        return tuple(int(part) for part in os.uname().release.split(".")[:2])
    except ValueError:
        return (0,)
