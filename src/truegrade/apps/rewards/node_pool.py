"""Where rewards come from: a service, or one pool for all processes of a user on a node.

The owner holds a lock (`fcntl.flock`) on a file in a folder of the user's alone and serves ``/v1/reward`` on a
Unix socket beside it. The kernel gives the lock back however the owner ends, so a file left behind means nothing.
A process whose request is lost tries for the lock, and is the owner if it gets it.
"""

from __future__ import annotations

import atexit
import fcntl
import hashlib
import os
import socket
import stat
import sys
import tempfile
import threading
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from truegrade import __file__ as package_file
from truegrade import __version__
from truegrade.api import unsafe_allowed
from truegrade.apps.rewards.batching import CONNECT_S, CONNECTIONS, IDLE_S, RewardAsker
from truegrade.errors import UserError
from truegrade.sandbox.limits import usable_cores
from truegrade.web.client import ServiceError

if TYPE_CHECKING:
    import httpx2

    from truegrade.web.service.grading_application import GradingServer
    from truegrade.web.service.grading_service import Service


MAX_QUEUE = 1 << 17
MAX_BODY_BYTES = 1 << 30
MAX_CPU_S = 3600.0
MAX_MEMORY_BYTES = 1 << 40
"""The pool's clients are the user's own trainers: what a service refuses to strangers is theirs to ask for."""
MAX_CONNECTIONS = 4096
LONGEST_PATH = 100
"""Bytes of a Unix socket's path; the kernel takes 107."""
STOP_S = 10.0
"""Seconds that the owner's thread gets to end."""


class NodePool:
    """This process's way to the pool of its node; it may come to own it.

    Args:
        workers: programs run at once, if this process comes to own it; None for one a core.

    Raises:
        UserError: there is no folder that only this user can write to.
    """

    def __init__(self, workers: int | None) -> None:
        self._workers = workers
        base = private_folder() / f"rewards-{_kind()}"
        self.socket = base.with_suffix(".sock")
        self._lock_path = base.with_suffix(".lock")
        if len(os.fsencode(self.socket)) > LONGEST_PATH:
            raise UserError(
                f"{self.socket} is too long for a Unix socket: set XDG_RUNTIME_DIR or TMPDIR to a shorter folder"
            )
        self._guard = threading.Lock()
        self._owned: _Owned | None = None
        self._closed = False

    @property
    def owns(self) -> bool:
        """Whether this process runs the programs."""
        return self._owned is not None

    def ensure(self) -> None:
        """Become the owner if there is none; otherwise the socket is served, or will be in a moment.

        Raises:
            UserError: the socket cannot be made.
            SandboxError: programs cannot be run here, or only at protection level 1.
        """
        with self._guard:
            if self._closed or (self._owned is not None and self._owned.thread.is_alive()):
                return
            if self._owned is not None:
                self._owned.close()
                self._owned = None
            lock = os.open(self._lock_path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                self._owned = _Owned(self.socket, lock, self._workers)
            except BlockingIOError:
                os.close(lock)
            except BaseException:
                os.close(lock)
                raise

    def close(self) -> None:
        """End the pool if it is this process's; the others' next request finds a new owner."""
        with self._guard:
            self._closed = True
            if self._owned is not None:
                self._owned.close()
                self._owned = None

    def forget(self) -> None:
        """In a forked process: let go of what the parent owns, so that others see the parent's end."""
        if self._owned is not None:
            self._owned.forget()


class _Owned:
    """The pool in its owner."""

    def __init__(self, path: Path, lock: int, workers: int | None) -> None:
        self._path, self._lock = path, lock
        self._service, self._server = _serving(path, workers)
        ready = threading.Event()
        self.thread = threading.Thread(
            target=self._server.serve_forever, args=(ready.set,), name="reward-pool", daemon=True
        )
        self.thread.start()
        ready.wait(STOP_S)

    def close(self) -> None:
        # The socket goes before the lock: the next owner's is made once the lock is free.
        with suppress(FileNotFoundError):
            self._path.unlink()
        self._service.close()
        self._server.shutdown()
        if self.thread is not threading.current_thread():
            self.thread.join(STOP_S)
        self._server.close()
        os.close(self._lock)

    def forget(self) -> None:
        # The numbers stay taken: objects of the parent's that this process frees some day would close them again.
        nothing = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
        for descriptor in (self._lock, *self._server.descriptors):
            os.dup2(nothing, descriptor, inheritable=False)
        os.close(nothing)


def _serving(path: Path, workers: int | None) -> tuple[Service, GradingServer]:
    from truegrade.web.messages import BACKLOG
    from truegrade.web.service.grading_application import GradingServer
    from truegrade.web.service.grading_service import Service, ServiceSettings

    service = Service(
        ServiceSettings(
            workers=workers or usable_cores(),
            max_queue=MAX_QUEUE,
            max_body_bytes=MAX_BODY_BYTES,
            max_bodies_bytes=MAX_BODY_BYTES,
            max_cpu_s=MAX_CPU_S,
            max_memory_bytes=MAX_MEMORY_BYTES,
            max_connections=MAX_CONNECTIONS,
            drain_s=0.0,
            allow_unsafe=unsafe_allowed(),
        )
    )
    service.catalogue.loads = True
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        with suppress(FileNotFoundError):
            path.unlink()  # of an owner that was killed
        listener.bind(os.fspath(path))
        listener.listen(BACKLOG)
    except OSError as error:
        service.close()
        listener.close()
        raise UserError(f"cannot listen at {path}: {error.strerror}") from None
    return service, GradingServer(service, listener)


def private_folder() -> Path:
    """A folder that only this user can look into, made if there is none.

    Raises:
        UserError: somebody else could, or it cannot be made.
    """
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    if runtime and os.access(runtime, os.W_OK):
        folder = Path(runtime) / "truegrade"
    else:
        folder = Path(tempfile.gettempdir()) / f"truegrade-{os.geteuid()}"
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
    except OSError as error:
        raise UserError(f"{folder}: {error.strerror}; set XDG_RUNTIME_DIR to a folder of yours") from None
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o077:
        raise UserError(
            f"{folder} is open to other users, who could answer for the grader: remove it, or set XDG_RUNTIME_DIR"
            " to a folder of yours"
        )
    return folder


def _kind() -> str:
    """Processes share a pool if they run the same code on the same data under the same protection."""
    data = os.environ.get("TRUEGRADE_DATA", "")
    place = str(Path(data).resolve()) if data else ""
    facts = (__version__, package_file, sys.prefix, str(unsafe_allowed()), place)
    return hashlib.sha256("\0".join(facts).encode("utf-8", "surrogateescape")).hexdigest()[:12]


# --------------- Where rewards come from, and the one `RewardAsker` that this process has for each such place.


class PlaceName(NamedTuple):
    """What tells places apart."""

    url: str | None
    """Of a service; None for the pool of this node."""
    token: str | None
    workers: int | None
    """Of the node's pool, if this process comes to own it."""


class RemotePlace:
    """A service that somebody else runs.

    Args:
        url: its address.
        token: what it must be shown, if anything.
    """

    ours = False

    def __init__(self, url: str, token: str | None) -> None:
        self._url, self._token = url, token

    def client(self) -> httpx2.AsyncClient:
        """Connections to it."""
        return _client(self._url, self._token, None)

    def ensure(self) -> None:
        """Nothing to do."""

    def close(self) -> None:
        """Nothing to do."""


class NodePlace(NodePool):
    """The pool of this node."""

    ours = True

    def client(self) -> httpx2.AsyncClient:
        """Connections to its socket."""
        return _client("http://localhost", None, os.fspath(self.socket))


def _client(url: str, token: str | None, uds: str | None) -> httpx2.AsyncClient:
    import httpx2

    headers = {"Content-Type": "application/json"} | (
        {} if token is None else {"Authorization": f"Bearer {token}"}
    )
    encrypted = httpx2.URL(url).scheme == "https"  # else the certificates, 40 ms to read, are of no use
    limits = httpx2.Limits(
        max_connections=CONNECTIONS, max_keepalive_connections=CONNECTIONS, keepalive_expiry=IDLE_S
    )
    return httpx2.AsyncClient(
        base_url=url,
        headers=headers,
        transport=httpx2.AsyncHTTPTransport(uds=uds, limits=limits, trust_env=False, verify=encrypted),
        timeout=httpx2.Timeout(None, connect=CONNECT_S),
        trust_env=False,
    )


# --------------------------------------------------------------------------------- those of this process

_lock = threading.RLock()
"""Reentrant, since collecting garbage may close a grader at any point of a thread."""
_askers: dict[PlaceName, RewardAsker] = {}
_users: dict[PlaceName, int] = {}
_inherited: list[RewardAsker] = []
"""A forked process keeps what it must not free: the parent's loops and connections."""
_watched_by: list[threading.Thread] = []
END_S = 20.0
"""Seconds that closing all gets at the interpreter's end."""


def attach(name: PlaceName) -> RewardAsker:
    """The asker of a place, for as long as somebody is attached to it.

    Raises:
        UserError: there is no folder for this node's pool.
        ServiceError: the interpreter's end has begun.
    """
    with _lock:
        if name not in _askers:
            place = NodePlace(name.workers) if name.url is None else RemotePlace(name.url, name.token)
            try:
                _watch_end()
                _askers[name] = RewardAsker(place)
            except RuntimeError as error:  # no thread can be started any more
                raise ServiceError(f"the grader of rewards is closed: {error}") from None
            _users[name] = 0
        _users[name] += 1
        return _askers[name]


def detach(name: PlaceName, asker: RewardAsker) -> None:
    """Give up an asker; the last one closes it. One of a parent process is none of ours."""
    with _lock:
        if _askers.get(name) is not asker:
            return
        _users[name] -= 1
        if _users[name]:
            return
        del _askers[name], _users[name]
    asker.close()


def close_all() -> None:
    """End everything: the interpreter does."""
    with _lock:
        askers = [*_askers.values()]
        _askers.clear()
        _users.clear()
    for asker in askers:
        asker.close()


def _watch_end() -> None:
    """Close all once the main thread has ended.

    What `atexit` calls comes too late: before it the interpreter waits for the threads that ask for rewards.
    """

    def watch() -> None:
        threading.main_thread().join()
        close_all()

    if not _watched_by:
        watcher = threading.Thread(target=watch, name="reward-end", daemon=True)
        watcher.start()
        _watched_by.append(watcher)
        atexit.register(_await_end)


def _await_end() -> None:
    """Let the watcher close all; a thread that is left when the interpreter goes on does nothing more."""
    for watcher in _watched_by:
        watcher.join(END_S)


def _in_child() -> None:
    global _lock  # noqa: PLW0603 - another thread of the parent may have held it
    _lock = threading.RLock()
    for asker in _askers.values():
        _inherited.append(asker)
        if isinstance(asker.place, NodePlace):
            asker.place.forget()
    _askers.clear()
    _users.clear()
    _watched_by.clear()


os.register_at_fork(after_in_child=_in_child)
