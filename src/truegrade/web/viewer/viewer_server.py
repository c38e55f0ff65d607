"""The viewer on a socket: the standard library's threading server, GET alone, so that no extra is needed."""

from __future__ import annotations

import errno
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

import msgspec

from truegrade.errors import UserError
from truegrade.web.connections import IDLE_S, BoundedServer
from truegrade.web.http_refusals import Refusal
from truegrade.web.model_server import http_address
from truegrade.web.service.service_settings import is_loopback
from truegrade.web.viewer.viewer_routes import OWN_PAGE, Reply, Site, answer

PROBLEM = "application/problem+json"


class ViewServer(BoundedServer):
    """Shows one folder of runs; a context manager, stopped with ``shutdown``.

    Args:
        root: the folder.
        host: address to listen at.
        port: 0 takes a free one, and so does one that is taken.

    Raises:
        UserError: there is no such folder, or the address cannot be listened at.
    """

    def __init__(self, root: Path, host: str = "127.0.0.1", port: int = 0) -> None:
        if not root.is_dir():
            raise UserError(f"{root}: no such folder; name the folder that holds your runs, or make one first with"
                            " truegrade run BENCHMARK")  # fmt: skip
        self.local_only = is_loopback(host)
        self.asked_port = port
        try:
            super().__init__((host, port), _Handler)
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise UserError(
                    f"cannot listen at {host}:{port} ({error.strerror}): choose another --host or --port"
                ) from None
            super().__init__((host, 0), _Handler)
        self.site = Site(root)

    @property
    def url(self) -> str:
        """Where the page is."""
        return f"{http_address(self.server_address)}/"

    def server_close(self) -> None:
        """Close the socket, and remove the reports that were made."""
        super().server_close()
        if hasattr(self, "site"):
            self.site.reports.close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = IDLE_S

    @property
    def _server(self) -> ViewServer:
        return cast(ViewServer, self.server)

    def do_GET(self) -> None:
        with self._server.answering(self.connection):
            self._answer()

    def _answer(self) -> None:
        try:
            self._check_host()
            asked = urlsplit(self.path)
            reply = answer(self._server.site, asked.path, asked.query)
        except Refusal as refusal:
            self._refuse(refusal)
        except UserError as error:
            self._refuse(Refusal(HTTPStatus.CONFLICT, str(error)))
        except FileNotFoundError as error:
            self._refuse(Refusal(HTTPStatus.NOT_FOUND, f"{error.filename} is gone; the list shows what is left"))
        except (OSError, ValueError, MemoryError) as error:
            self._refuse(Refusal(HTTPStatus.INTERNAL_SERVER_ERROR, f"cannot be read: {error}"))
        else:
            self._send(HTTPStatus.OK, reply)

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_POST(self) -> None:
        self.close_connection = True  # a body may follow that nobody reads
        refusal = Refusal(
            HTTPStatus.METHOD_NOT_ALLOWED, "nothing can be changed here: GET", headers={"Allow": "GET"}
        )
        self._refuse(refusal)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Say nothing."""

    def _check_host(self) -> None:
        """Refuse what a web page sends by way of a name that leads here (DNS rebinding)."""
        name = self.headers.get("Host", "")
        bare = name[1 : name.find("]")] if name.startswith("[") else name.partition(":")[0]
        if self._server.local_only and not is_loopback(bare):
            detail = f"{name[:100]!r} is not this viewer; ask {self._server.url}"
            raise Refusal(HTTPStatus.MISDIRECTED_REQUEST, detail)

    def _refuse(self, refusal: Refusal) -> None:
        reply = Reply(msgspec.json.encode(refusal.problem), PROBLEM)
        self._send(refusal.status, reply, refusal.headers)

    def _send(self, status: int, reply: Reply, headers: dict[str, str] | None = None) -> None:
        fields = {
            "Content-Type": reply.content_type,
            "Content-Length": str(len(reply.body)),
            "Content-Security-Policy": reply.policy or OWN_PAGE,
            "X-Content-Type-Options": "nosniff",
            "Referrer-Policy": "no-referrer",
            "Cross-Origin-Resource-Policy": "same-origin",
            "Cache-Control": "no-store",
            **(headers or {}),
        }
        with suppress(ConnectionError):  # the client has left
            self.send_response(status)
            for name, value in fields.items():
                self.send_header(name, value)
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(reply.body)
