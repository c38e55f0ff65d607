"""Addresses to listen at, and which names of them lead to this machine alone."""

from __future__ import annotations

import errno
import ipaddress
import socket
from http import HTTPStatus
from typing import Any

from truegrade.errors import UserError
from truegrade.web.http_refusals import Refusal

BACKLOG = 1024


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches an address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def check_host(name: str) -> None:
    """Refuse what a web page sends by way of a name that leads to this machine (DNS rebinding).

    Args:
        name: the request's header ``Host``.

    Raises:
        Refusal: 421, it is no loopback name.
    """
    bare = name[1 : name.find("]")] if name.startswith("[") else name.partition(":")[0]
    if not is_loopback(bare):
        raise Refusal(
            HTTPStatus.MISDIRECTED_REQUEST, f"{name[:100]!r} is not served here; ask 127.0.0.1 or localhost"
        )


def listen(host: str, port: int, *, else_free: bool = False) -> socket.socket:
    """A socket that listens.

    Args:
        host: name or address.
        port: 0 takes a free one.
        else_free: take a free one where that one is taken.

    Raises:
        UserError: that address cannot be listened at.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=BACKLOG)
    except OSError as error:
        if else_free and error.errno == errno.EADDRINUSE:
            return listen(host, 0)
        raise UserError(
            f"cannot listen at {host}:{port} ({error.strerror}): choose another `port` or `host`"
        ) from None


def http_address(bound: Any) -> str:
    """``http://HOST:PORT`` of a TCP socket's own address, as `socket.socket.getsockname` gives it."""
    host, port = bound[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"
