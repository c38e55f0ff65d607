"""The service on a port."""

from __future__ import annotations

import resource
import secrets
import socket
from collections.abc import Callable
from contextlib import suppress

from msgspec import structs

from truegrade.errors import UserError
from truegrade.web.addresses import listen, listening_at
from truegrade.web.port import HttpServer
from truegrade.web.service.grading_application import grading_application
from truegrade.web.service.grading_service import Service, ServiceSettings

TOKEN_BYTES = 24
OPEN_FILES = 65_536
"""Files, connections among them, that the service has open at most, if the system allows it so many."""


def new_token() -> str:
    """A token that nobody guesses."""
    return secrets.token_urlsafe(TOKEN_BYTES)


def require_metrics() -> None:
    """Check for what the service counts with.

    Raises:
        UserError: the extra is missing.
    """
    try:
        import prometheus_client  # noqa: F401
    except ModuleNotFoundError as error:
        raise UserError(f"the service needs the package {error.name!r}: pip install 'truegrade[serve]'") from None


def serve_until_stopped(settings: ServiceSettings, announce: Callable[[str, str], None]) -> None:
    """Serve until SIGTERM or SIGINT, then finish what runs; a second signal ends it at once.

    Args:
        settings: what to serve.
        announce: told the address and the line about protection, once requests are taken.

    Raises:
        UserError: an extra is missing, or a setting, benchmark, profile or address is at fault.
        SandboxError: programs cannot be run, or only at protection level 1.
    """
    require_metrics()
    _allow_connections()
    given = None if settings.fd is None else listening_at(settings.fd)
    if given is not None:
        host, port = given.getsockname()[:2]
        settings = structs.replace(settings, host=host, port=port)
    service = Service(settings)
    try:
        with GradingServer(service, given or listen(settings.host, settings.port)) as server:
            protection = f"protection level {service.level}: {service.protection}"
            server.serve_forever(lambda: announce(server.url, protection))
    finally:
        service.close()


def _allow_connections() -> None:
    """Use what the system allows: the usual soft limit is 1,024. Programs have a limit of their own."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = OPEN_FILES if hard == resource.RLIM_INFINITY else min(hard, OPEN_FILES)
    if soft != resource.RLIM_INFINITY and soft < most:
        with suppress(OSError, ValueError):  # macOS refuses some
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


class GradingServer(HttpServer):
    """Serves one service, which has until the end of its drain to answer what is under way.

    Args:
        service: does the work.
        listener: a socket that listens.
    """

    def __init__(self, service: Service, listener: socket.socket) -> None:
        self._service = service
        super().__init__(
            grading_application(service),
            listener,
            max_connections=None,
            patience_s=service.settings.patience_s,
            headers={"x-content-type-options": "nosniff"},
        )

    async def drain(self) -> None:
        """Finish what there is; meanwhile own requests are told 503, and those of other clients are served.

        New connections are left to the next service where another process keeps the socket open.
        """
        self._service.stopping = True
        if self._service.settings.fd is not None:
            await self.leave_socket(self._service.settings.drain_s)
        await self._service.drain()
