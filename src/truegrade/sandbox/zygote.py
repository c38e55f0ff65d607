"""The warm interpreter: forks one process per sample and, when told so, leaves nothing of it.

It never holds a sample's data: program, inputs and answers travel over streams that it makes, hands out and keeps
no end of. The process of the next sample is forked as soon as nothing is left of the last, and waits for its job,
so that nobody waits for a fork. What it reads on stdin comes with the job (`truegrade.sandbox.frames.give_file`).
Over one socket the zygote announces and the supervisor asks:

    b"N" with descriptors   the next process is there: its stream and, if piped, its stdout and stderr
    b"N" without            it could not be forked
    b"Q"                    has it ended? answers ``b"1"`` or ``b"0"``
    b"E"                    kill it and all it left, reap, empty the scratch; answers with a `REPORT`, then b"N"
"""

from __future__ import annotations

import gc
import os
import sys

# `signal.signal` goes by way of enumerations: 40 pages for each child to copy. Likewise `socket`, and every name
# that is looked up in `os` instead of here, a page that the zygote writes.
from _signal import SIG_DFL, SIGHUP, SIGINT, SIGKILL, SIGQUIT, default_int_handler  # type: ignore[import-not-found]
from _signal import signal as set_handler
from _socket import SCM_RIGHTS, SOL_SOCKET, socket, socketpair
from os import (
    O_RDONLY,
    O_WRONLY,
    _exit,
    chdir,
    chmod,
    close,
    closerange,
    dup2,
    fork,
    kill,
    listdir,
    pipe,
    pread,
    setsid,
    stat,
    statvfs,
    utime,
    waitpid,
)
from os import open as open_fd
from resource import RUSAGE_CHILDREN, getrusage
from struct import Struct
from time import sleep

from truegrade.sandbox.confine import Fresh, confine, file_rules, folders, leaving, sample_confinement
from truegrade.sandbox.footprint import fill_chunks, fill_pools, join_areas
from truegrade.sandbox.rlimits import limit_tasks

TYPE_CHECKING = False  # `typing` costs a spawned interpreter 8 ms
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


# ------------------------------------ Empties the directory a program ran in, whatever the program made of it.

_NEVER = (0, 0)


def empty(root: str, kept: frozenset[str] = frozenset()) -> bool:
    """Remove everything in a directory but ``kept``, and make it as it was; whether that succeeded.

    Directories are lifted to the top before they are emptied, so neither recursion nor the length of a path
    bounds how deep they may lie; symbolic links are removed, never followed.
    """
    try:
        if kept.issuperset(listdir(root)):  # noqa: PTH208 - as most programs leave it
            _restore(root)
            return True
    except OSError:
        pass  # made unreadable: see what is in it
    return _clear(root, kept)


def _clear(root: str, kept: frozenset[str]) -> bool:
    _quietly(os.chmod, root, 0o700)
    pending, number, mark = [root], 0, os.urandom(8).hex()  # a name that no program has given
    while pending:
        directory = pending.pop()
        for entry in _entries(directory):
            if directory == root and entry.name in kept:
                continue
            try:
                if not entry.is_dir(follow_symlinks=False):
                    os.unlink(entry.path)  # noqa: PTH108 - pathlib costs 4 ms here
                    continue
                os.chmod(entry.path, 0o700)  # noqa: PTH101 - without, it can neither be moved nor emptied
                lifted = f"{root}/{mark}-{number}"
                number += 1
                os.rename(entry.path, lifted)  # noqa: PTH104
                pending.append(lifted)
            except OSError:
                continue
        if directory != root:
            _quietly(os.rmdir, directory)
    try:
        left = listdir(root)  # noqa: PTH208
        _restore(root)
    except OSError:
        return False
    return kept.issuperset(left)


def _restore(root: str) -> None:
    """Mode and times of the directory itself would carry a note to the next program."""
    chmod(root, 0o700)  # noqa: PTH101
    utime(root, _NEVER)


def _entries(directory: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(directory) as entries:
            return list(entries)
    except OSError:
        return []


def _quietly(action: object, *arguments: object) -> None:
    try:
        action(*arguments)  # type: ignore[operator]
    except OSError:
        return


QUERY, END = b"Q", b"E"
READY, NEXT = b"R", b"N"
REPORT = Struct("<idB?")
"""Wait status; CPU seconds; processes left over, at most 255; whether the scratch is empty again."""
BY_PYTEST = "suite_pytest"
"""Name under which programs and tests find `truegrade.sandbox.by_pytest`."""
CONTROL = 3
"""Number of our socket and, in a forked process, of its stream."""
FREEING_S, FREEING_STEPS = 0.001, 100
"""How often, and how many times, it is looked whether the kernel has freed what a program held in the scratch."""
_FD = Struct("@i")


class ZygoteServer:
    """The serving side.

    Args:
        control: socket to the supervisor; its end is ours.
        settings: see `truegrade.sandbox.zygotes.Zygote`, which makes them.
    """

    def __init__(self, control: int, settings: dict[str, Any]) -> None:
        self._control = socket(fileno=_lowest(control))
        self._scratch: str = settings["scratch"]
        self._alone = settings["level"] >= 3  # PID 1 of a namespace: `kill(-1)` means the program and nobody else
        self._several = settings["processes"] > 0
        self.leave_none = settings["level"] >= 2 and not self._several
        """Whether programs can start no process that outlives theirs."""
        self._tasks: int | None = settings["tasks"]
        self._piped: bool = settings["piped"]
        self._core: int | None = settings["core"]
        self._pid = self._first = 0
        """Of the program's process, and of the first of its namespace, where it has one of its own."""
        self._status: int | None = None
        self._reported_s = 0.0
        """CPU seconds of all that was reaped, as of the last report."""
        os.chdir("/")
        for name in ("PWD", "LD_BIND_NOW"):  # of bubblewrap; of ours, see `truegrade.sandbox.zygotes.environment`
            os.environ.pop(name, None)
        os.environ.update(HOME=self._scratch, TMPDIR=self._scratch)
        offer(settings["packages"], settings["described"])
        preload(settings["preload"], alone=not settings["processes"])
        join_areas()
        self._children = _children_file()
        self.bind = sample_confinement(settings)
        """Confines a forked process, before anything of a program runs in it."""
        confine(settings)
        self._fresh = Fresh(settings, lambda: file_rules(settings), leaving()) if settings["apart"] else None
        self._enter = self._entry()
        self._room = _room(self._scratch) if self._alone else None
        # With what `confine` has mounted there.
        self._written = [(folder, frozenset(os.listdir(folder))) for folder in folders(settings)]  # noqa: PTH208
        if settings["later"]:
            preload(settings["later"], alone=not settings["processes"])
            self._emptied()
        self._sizes = self._found_sizes()
        if self._tasks is not None:
            limit_tasks(self._tasks)
        # PID 1 is immune to them. A shell's background job and nohup ignore them, and so would programs.
        for number in (SIGHUP, SIGINT, SIGQUIT):
            set_handler(number, SIG_DFL)

    def serve(self, rehearse: Callable[[], None]) -> None:
        """Serve until the supervisor hangs up; returns in the forked processes only, whose stream is `CONTROL`.

        Args:
            rehearse: what forked processes will do, for once in this one.
        """
        rehearse()
        gc.collect()
        fill_chunks()
        self._filling = fill_pools()
        gc.freeze()  # a collection in a child would touch, and so copy, every page of ours
        gc.disable()  # until `_enter` is done: none of what it makes is a cycle
        stay_on(self._core)  # only now, for a worker's zygotes start beside each other
        self._control.sendall(READY)
        try:
            if self._fork():
                return
            while True:
                asked = self._control.recv(1)
                if asked == END:
                    self._control.sendall(self._finish())
                    if self._fork():
                        return
                elif asked == QUERY:
                    self._control.sendall(b"1" if self._ended() else b"0")
                else:
                    break
        except (BrokenPipeError, ConnectionResetError):  # hung up on before it could announce the next process
            pass
        self._finish()
        _exit(0)

    def _fork(self) -> bool:
        """Fork the next process and announce it; whether this is that process."""
        if self._fresh is not None:
            self._first = self._fresh.number_anew()  # which holds none of the descriptors below
        ours, theirs = socketpair()
        fds = [open_fd("/dev/null", O_RDONLY)]
        kept = [ours.detach()]
        if self._piped:
            for _ in (1, 2):
                reading, writing = pipe()
                kept.append(reading)
                fds.append(writing)
        fds.append(theirs.detach())
        utime(fds[-1], _NEVER)  # Linux gives a socket the times of one that lay where it lies
        self._status = None
        try:
            self._pid = fork()
        except OSError:
            self._pid = 0
            self._control.sendall(NEXT)
        else:
            if self._pid == 0:
                self._enter(fds)
                return True
            rights = b"".join(map(_FD.pack, kept))
            self._control.sendmsg([NEXT], [(SOL_SOCKET, SCM_RIGHTS, rights)])
        for fd in fds:
            close(fd)
        for fd in kept:
            close(fd)
        return False

    def _entry(self) -> Callable[[list[int]], None]:
        """What makes a forked process a program's: its session, directory, descriptors, nothing of the zygote's.

        It runs in children only and finds what it needs near at hand: every object that it looks up or through is
        a page for each of them to copy.
        """
        detach, piped, scratch, tasks = self._control.detach, self._piped, self._scratch, self._tasks
        enable_collection, fresh = gc.enable, self._fresh

        def enter(fds: list[int]) -> None:
            if fresh is not None:
                fresh.enter()
            setsid()
            detach()
            if piped:
                stdin, stdout, stderr, stream = fds
            else:
                stdin, stream = fds
                stdout = stderr = open_fd("/dev/null", O_WRONLY)
            # All of these lie above our own, so none is overwritten early.
            dup2(stdin, 0)
            dup2(stdout, 1)
            dup2(stderr, 2)
            dup2(stream, CONTROL, False)
            closerange(CONTROL + 1, max(stdin, stdout, stderr, stream) + 1)  # the zygote has none above these
            chdir(scratch)
            set_handler(SIGINT, default_int_handler)
            if tasks is None:
                limit_tasks(None)
            enable_collection()

        return enter

    def _ended(self) -> bool:
        """Whether the program's process has ended; it stays a zombie, so that its number is not given away."""
        if self._status is not None:
            return True
        if not hasattr(os, "waitid"):  # macOS before Python 3.13: reaped at once
            pid, status = os.waitpid(self._pid, os.WNOHANG)
            if pid:
                self._status = status
            return pid != 0
        return os.waitid(os.P_PID, self._pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    def _finish(self) -> bytes:
        """Kill, reap, sweep; the report."""
        left = 0
        self._kill()
        while True:
            try:
                pid, status = waitpid(-1, 0)
            except ChildProcessError:
                break
            if pid == self._pid:
                self._status = status
            elif pid != self._first:
                left += 1
            # Whatever lives of the sample hangs below us, so an empty list means that nothing does.
            if self._children is not None and not pread(self._children, 1, 0):
                break
            self._kill(everything=True)
        self._pid = 0
        # Of all that was reaped, so that CPU time of orphans counts too; it only grows, hence the difference.
        usage = getrusage(RUSAGE_CHILDREN)
        reaped_s = usage.ru_utime + usage.ru_stime
        used_s, self._reported_s = reaped_s - self._reported_s, reaped_s
        return REPORT.pack(self._status or 0, used_s, min(left, 255), self.restored())

    def restored(self) -> bool:
        """Empty all that programs may write to; whether nothing of it is held any more, nor to be seen."""
        if not self._emptied() or self._found_sizes() != self._sizes:
            return False
        return self._room is None or self._freed(self._room)

    def _found_sizes(self) -> list[int]:
        """Of the folders themselves: that of ext4 never shrinks, and would tell how many files were in it."""
        return [stat(folder).st_size for folder, _ in self._written]  # noqa: PTH116

    def _emptied(self) -> bool:
        """Empty all that programs may write to; whether it is as they found it."""
        left = [folder for folder, kept in self._written if not empty(folder, kept)]
        return not left

    def _freed(self, room: tuple[int, int]) -> bool:
        """Whether the scratch, which is empty, has all its room again.

        A file without a name lives on while a descriptor of it is under way in a socket that nobody can reach any
        more. The kernel looks for such sockets when one is closed, and frees them a little later.
        """
        for _ in range(FREEING_STEPS):
            if _room(self._scratch) == room:
                return True
            for end in socketpair():
                end.close()
            sleep(FREEING_S)
        return False

    def _kill(self, *, everything: bool = False) -> None:
        """SIGKILL to everything of the sample; at first only to its one process, where it can have no other.

        The kernel goes through all processes of the machine to find those of a namespace.
        """
        if self._first:
            _end(self._pid or self._first)
            _end(self._first)  # with it the kernel ends all that are left of its namespace
            return
        if self._alone:
            _end(-1 if everything or self._several or not self._pid else self._pid)
            return
        targets = [-self._pid, self._pid] if self._pid else []
        if self._children is not None:
            targets += map(int, pread(self._children, 1 << 16, 0).split())
        for target in targets:
            _end(target)


def _room(scratch: str) -> tuple[int, int]:
    """Blocks and files that are free."""
    found = statvfs(scratch)
    return found.f_bfree, found.f_ffree


def _end(target: int) -> None:
    try:
        kill(target, SIGKILL)
    except (ProcessLookupError, PermissionError):  # nothing is left; macOS says EPERM of zombies
        return


class Offered:
    """Finds the packages that programs may import; their folders may hold others, which must not be found."""

    def __init__(self, specs: dict[str, Any], described: list[str]) -> None:
        self._specs, self._described = specs, described

    def find_spec(self, name: str, path: object = None, target: object = None) -> Any:
        """Where a top-level module is; None if that is not for programs to know."""
        return self._specs.get(name) if path is None else None

    def find_distributions(self, context: Any) -> Any:
        """Metadata of the packages, for those that ask `importlib.metadata` for a version."""
        from importlib.metadata import PathDistribution
        from pathlib import Path

        wanted = None if context.name is None else context.name.replace("-", "_").replace(".", "_").lower()
        for path in self._described:
            name = path.rpartition("/")[2].partition("-")[0].lower()
            if wanted in (None, name.replace(".", "_")):
                yield PathDistribution(Path(path))


def offer(packages: dict[str, str], described: list[str]) -> None:
    """Let programs import these besides the standard library.

    Args:
        packages: folder of each top-level module. It is searched now: once shut in, nothing can list it.
        described: folders of the packages' metadata.
    """
    from importlib.machinery import PathFinder

    specs = {name: PathFinder.find_spec(name, [folder]) for name, folder in packages.items()}
    sys.meta_path.append(Offered(specs, described))


def preload(names: list[str], *, alone: bool) -> None:
    """Import modules ahead of the programs.

    Args:
        names: what to import; whatever is not installed is left to its importers.
        alone: whether each forked process will be the only one of its program. What modules of Python want done in
            a forked process is then left out: `threading` forgets threads, of which the zygote has none, and
            `random` is seeded anew, see `truegrade.sandbox.child.reseed`; a quarter of what a fork costs.
    """
    register = os.register_at_fork
    if alone:
        os.register_at_fork = lambda **_: None
    for name in ("random", *names):
        try:
            (load_by_pytest if name == BY_PYTEST else __import__)(name)
        except (ImportError, OSError):
            continue
    os.register_at_fork = register


def load_by_pytest(name: str) -> None:
    """Import `truegrade.sandbox.by_pytest` under a name.

    Raises:
        ImportError: pytest is no package that programs may import.
    """
    from importlib.util import module_from_spec, spec_from_file_location

    spec = spec_from_file_location(name, f"{__file__.rpartition('/')[0]}/by_pytest.py")
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    sys.modules[name] = module


def stay_on(core: int | None) -> None:
    """Run on this core only, with all that is forked: who waits for whom is then woken where the data is.

    Args:
        core: its number; None changes nothing, nor does one that has gone since it was counted.
    """
    if core is not None and hasattr(os, "sched_setaffinity"):
        try:
            os.sched_setaffinity(0, {core})
        except OSError:
            return


def _lowest(control: int) -> int:
    """Move the socket to the first number after the standard streams, and close all else that was inherited.

    So the descriptors that come for a sample lie above all of ours, which `_enter` relies on.
    """
    if control != CONTROL:
        os.dup2(control, CONTROL, inheritable=False)
    for number in map(int, os.listdir("/proc/self/fd" if sys.platform == "linux" else "/dev/fd")):  # noqa: PTH208
        if number > CONTROL:
            try:
                os.close(number)
            except OSError:  # the listing's own
                continue
    return CONTROL


def _children_file() -> int | None:
    """The kernel's list of our children, orphans come to us included; None where there is none."""
    try:
        return os.open(f"/proc/self/task/{os.getpid()}/children", os.O_RDONLY)
    except OSError:
        return None
