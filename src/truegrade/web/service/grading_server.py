"""The service on a port."""

from __future__ import annotations

import secrets
import socket
from collections.abc import Callable

from truegrade.errors import UserError
from truegrade.web.addresses import listen
from truegrade.web.port import HttpServer
from truegrade.web.service.grading_application import grading_application
from truegrade.web.service.grading_service import Service
from truegrade.web.service.service_settings import ServiceSettings

TOKEN_BYTES = 24


def new_token() -> str:
    """A token that nobody guesses."""
    return secrets.token_urlsafe(TOKEN_BYTES)


def serve_until_stopped(settings: ServiceSettings, announce: Callable[[str, str], None]) -> None:
    """Serve until SIGTERM or SIGINT, then finish what runs; a second signal ends it at once.

    Args:
        settings: what to serve.
        announce: told the address and the line about protection, once requests are taken.

    Raises:
        UserError: an extra is missing, or a setting, benchmark, profile or address is at fault.
        SandboxError: programs cannot be run, or only at protection level 1.
    """
    try:
        import prometheus_client  # noqa: F401
    except ModuleNotFoundError as error:
        raise UserError(f"the service needs the package {error.name!r}: pip install 'truegrade[serve]'") from None
    service = Service(settings)
    try:
        with GradingServer(service, listen(settings.host, settings.port)) as server:
            protection = f"protection level {service.level}: {service.protection}"
            server.serve_forever(lambda: announce(server.url, protection))
    finally:
        service.close()


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
            max_connections=service.settings.max_connections,
            makes_room=False,
            patience_s=service.settings.patience_s,
            headers={"x-content-type-options": "nosniff"},
        )

    async def drain(self) -> None:
        """Take no more work, finish what there is; meanwhile requests are told 503."""
        await self._service.drain()
