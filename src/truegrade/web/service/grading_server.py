"""The service on a socket: uvicorn speaks HTTP; signals, the first bytes' deadline and the end are ours."""

from __future__ import annotations

import asyncio
import secrets
import socket
from collections.abc import Callable
from types import FrameType
from typing import Any

from truegrade.errors import UserError
from truegrade.web.model_server import http_address
from truegrade.web.service.service_settings import Settings

HEADER_BYTES = 64 * 1024
LAST_ANSWERS_S = 5
"""Seconds that the last answers have to be sent."""
TOKEN_BYTES = 24


def new_token() -> str:
    """A token that nobody guesses."""
    return secrets.token_urlsafe(TOKEN_BYTES)


def serve_until_stopped(settings: Settings, announce: Callable[[str, str], None]) -> None:
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
        import uvicorn
        from uvicorn.protocols.http.h11_impl import H11Protocol
    except ModuleNotFoundError as error:
        raise UserError(f"the service needs the package {error.name!r}: pip install 'truegrade[serve]'") from None
    from truegrade.web.application import Application
    from truegrade.web.service.grading_service import Service

    class Patient(H11Protocol):  # type: ignore[misc, unused-ignore]
        """Hangs up on clients that do not get as far as a request."""

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self.loop.call_later(settings.patience_s, self._expect_request)

        def _expect_request(self) -> None:
            if self.cycle is None and not self.transport.is_closing():
                self.transport.close()

    class Server(uvicorn.Server):  # type: ignore[misc, unused-ignore]
        """Drains before it closes its socket: until then, new requests are told 503."""

        async def serve(self, sockets: list[socket.socket] | None = None) -> None:
            self._loop = asyncio.get_running_loop()
            await super().serve(sockets=sockets)

        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets=sockets)
            announce(
                http_address(listener.getsockname()), f"protection level {service.level}: {service.protection}"
            )

        def handle_exit(self, sig: int, frame: FrameType | None) -> None:
            if service.stopping:
                self.should_exit = self.force_exit = True
            else:
                service.stopping = True
                self._loop.call_soon_threadsafe(self._drain)

        def _drain(self) -> None:
            self._draining = self._loop.create_task(service.drain())
            self._draining.add_done_callback(lambda _: setattr(self, "should_exit", True))

    service = Service(settings)
    listener = _listen(settings.host, settings.port)
    config = uvicorn.Config(
        Application(service),
        http=Patient,
        loop="asyncio",
        ws="none",
        lifespan="off",
        log_config=None,
        log_level="critical",
        access_log=False,
        proxy_headers=False,
        server_header=False,
        limit_concurrency=settings.max_connections,
        timeout_graceful_shutdown=LAST_ANSWERS_S,
        timeout_keep_alive=int(settings.patience_s) or 1,
        h11_max_incomplete_event_size=HEADER_BYTES,
    )
    try:
        Server(config).run(sockets=[listener])
    finally:
        service.workload.close()
        service.executors.close()
        listener.close()


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=1024)
    except OSError as error:
        raise UserError(f"cannot listen at {host}:{port} ({error.strerror}): choose another --port") from None
