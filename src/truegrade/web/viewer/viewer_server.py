"""The viewer on a port: GET alone, and nothing that a page of somebody else's could use."""

from __future__ import annotations

from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from truegrade.errors import UserError
from truegrade.web.addresses import check_host, is_loopback, listen
from truegrade.web.application import application, as_response, problem_response, route
from truegrade.web.endpoint import Endpoint
from truegrade.web.http_refusals import Refusal
from truegrade.web.port import HttpServer
from truegrade.web.viewer.viewer_routes import ROUTES, Site

MAX_CONNECTIONS = 64
OWN_PAGE = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none';"
    " form-action 'none'; frame-ancestors 'none'"
)
"""The page of the viewer may ask this server, and nobody else."""
HEADERS = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}


class ViewServer(HttpServer):
    """Shows one folder of runs; a context manager, ended by a signal or `shutdown`.

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
        listener = listen(host, port, else_free=True)
        self.local_only = is_loopback(host)
        self._site = Site(root)
        super().__init__(
            _application(self._site, self.local_only),
            listener,
            max_connections=MAX_CONNECTIONS,
            headers=HEADERS,
        )

    @property
    def url(self) -> str:
        """Where the page is."""
        return f"{super().url}/"

    def close(self) -> None:
        """Close the socket, and remove the reports that were made."""
        super().close()
        self._site.reports.close()


def _application(site: Site, local_only: bool) -> Starlette:
    def nowhere(request: Request, error: HTTPException) -> Refusal:
        if error.status_code == HTTPStatus.NOT_FOUND and request.method in {"GET", "HEAD"}:
            return Refusal(HTTPStatus.NOT_FOUND, f"nothing at {request.scope['path'][:100]!r}; the page is at /")
        return Refusal(
            HTTPStatus.METHOD_NOT_ALLOWED,
            "nothing can be changed here: GET",
            headers={"Allow": "GET", "Connection": "close"},  # a body may follow that nobody reads
        )

    return application(
        [route(it.path, partial(_answer, site, local_only, it), "GET", "HEAD") for it in ROUTES],
        nowhere,
        {
            UserError: lambda _, error: Refusal(HTTPStatus.CONFLICT, str(error)),
            FileNotFoundError: lambda _, error: Refusal(
                HTTPStatus.NOT_FOUND, f"{error.filename} is gone; the list shows what is left"
            ),
            **dict.fromkeys((OSError, ValueError, MemoryError), _unreadable),
        },
        tell=lambda refusal: _guarded(problem_response(refusal)),
    )


def _answer(site: Site, local_only: bool, endpoint: Endpoint, request: Request) -> Response:
    """Answer; Starlette calls this in a thread, since it reads files."""
    if local_only:
        check_host(request.headers.get("host", ""))
    assert endpoint.takes is not None
    found = endpoint.handle(site, _decoded(request.scope["query_string"].decode("ascii"), endpoint.takes))
    return _guarded(as_response(found))


def _guarded(response: Response) -> Response:
    response.headers.setdefault("Content-Security-Policy", OWN_PAGE)
    return response


def _unreadable(_: Request, error: Exception) -> Refusal:
    return Refusal(HTTPStatus.INTERNAL_SERVER_ERROR, f"cannot be read: {error}")


def _decoded(query: str, kind: type[msgspec.Struct]) -> msgspec.Struct:
    """A query string as its struct; a name given twice is a list where one is taken, else its last value."""
    several = {field.name for field in msgspec.structs.fields(kind) if _is_list(field.type)}
    try:
        given = parse_qs(query, keep_blank_values=True, errors="strict", max_num_fields=100)
        values = {name: of if name in several else of[-1] for name, of in given.items()}
        return msgspec.convert(values, kind, strict=False)
    except ValueError as error:  # msgspec's own errors are of this kind too
        raise Refusal(HTTPStatus.UNPROCESSABLE_ENTITY, f"the query is not what this takes: {error}") from None


def _is_list(annotation: Any) -> bool:
    return isinstance(msgspec.inspect.type_info(annotation), msgspec.inspect.ListType)
