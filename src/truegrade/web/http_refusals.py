"""What a client is told instead of an answer, and addresses to listen at. No HTTP library is imported here."""

from __future__ import annotations

import errno
import ipaddress
import socket
from contextlib import suppress
from http import HTTPStatus
from typing import Any

import msgspec

from truegrade.errors import UserError

# ---- What a client is told instead of an answer. The client imports this module, so it needs no HTTP library.


class ProblemDetails(msgspec.Struct, frozen=True, omit_defaults=True):
    """Body of every answer that is no success (RFC 9457, section 3)."""

    title: str
    """The phrase of the status."""
    status: int
    detail: str
    """What is wrong and what to do."""
    field: str | None = None
    """Path of the field at fault, ``completions[3].text``."""


class Refusal(Exception):
    """Ends a request.

    Args:
        status: of the answer, 400 to 599.
        detail: what is wrong and what to do.
        field: path of the field at fault.
        code: the fault by its name in the OpenAI protocol.
        headers: of the answer.
    """

    def __init__(
        self,
        status: int,
        detail: str,
        *,
        field: str | None = None,
        code: str | None = None,
        headers: dict[str, str] | None = None,
    ) -> None:
        super().__init__(detail)
        self.status, self.detail, self.field, self.code, self.headers = status, detail, field, code, headers or {}

    @property
    def problem(self) -> ProblemDetails:
        """Its body."""
        return ProblemDetails(HTTPStatus(self.status).phrase, self.status, self.detail, self.field)


def unprocessable(detail: str, field: str) -> Refusal:
    """The refusal of a well-formed request that asks for what there is not."""
    return Refusal(HTTPStatus.UNPROCESSABLE_ENTITY, detail, field=field)


def ask_again(why: str) -> Refusal:
    """What a client is told that repeats a request after 504 alone."""
    return Refusal(HTTPStatus.GATEWAY_TIMEOUT, f"{why}; ask again")


def stopping() -> Refusal:
    """What a request is told that the service can no longer serve."""
    return Refusal(
        HTTPStatus.SERVICE_UNAVAILABLE,
        "the service is stopping; ask again, of another or later",
        headers={"Retry-After": "5"},
    )


# --------------------------------- Addresses to listen at, and which names of them lead to this machine alone.

BACKLOG = 4096
"""Connections that wait to be accepted, if the kernel's own bound (net.core.somaxconn) is no lower."""


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
        listener = socket.create_server((host, port), family=family, backlog=BACKLOG)
    except OSError as error:
        if else_free and error.errno == errno.EADDRINUSE:
            return listen(host, 0)
        raise UserError(
            f"cannot listen at {host}:{port} ({error.strerror}): choose another `port` or `host`"
        ) from None
    # Its connections inherit this. asyncio sets it for sockets that name their protocol, which this one does not;
    # without, the body of an answer can wait until the client has acknowledged the head, 40 ms later.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener


def listening_at(fd: int) -> socket.socket:
    """The TCP socket of a descriptor that was opened by whoever started this process; left open where it is none.

    Args:
        fd: its number.

    Raises:
        UserError: it is no TCP socket that listens.
    """
    found = None
    with suppress(OSError):  # it is not open, or no socket
        found = socket.socket(fileno=fd)
    if found is not None:
        listens = found.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)
        if listens and found.family in (socket.AF_INET, socket.AF_INET6):
            found.set_inheritable(False)
            return found
        found.detach()
    raise UserError(
        f"`fd` {fd} must be a TCP socket that listens; have systemd open one (ListenStream=), or give `host`"
        " and `port`"
    )


def http_address(bound: Any) -> str:
    """``http://HOST:PORT`` of a TCP socket's own address, as `socket.socket.getsockname` gives it."""
    host, port = bound[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"
