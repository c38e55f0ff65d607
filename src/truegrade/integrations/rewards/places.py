"""Where rewards come from, and the one `RewardAsker` that this process has for each such place."""

from __future__ import annotations

import atexit
import os
import threading
from typing import TYPE_CHECKING, NamedTuple

from truegrade.integrations.rewards.batching import CONNECT_S, CONNECTIONS, IDLE_S, RewardAsker
from truegrade.integrations.rewards.node_pool import NodePool

if TYPE_CHECKING:
    import httpx2


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
    limits = httpx2.Limits(
        max_connections=CONNECTIONS, max_keepalive_connections=CONNECTIONS, keepalive_expiry=IDLE_S
    )
    return httpx2.AsyncClient(
        base_url=url,
        headers=headers,
        transport=httpx2.AsyncHTTPTransport(uds=uds, limits=limits, trust_env=False),
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
    """
    with _lock:
        if name not in _askers:
            _watch_end()
            _askers[name] = RewardAsker(
                NodePlace(name.workers) if name.url is None else RemotePlace(name.url, name.token)
            )
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
        atexit.register(_await_end)
        _watched_by.append(threading.Thread(target=watch, name="reward-end", daemon=True))
        _watched_by[0].start()


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
