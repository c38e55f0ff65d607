"""The application that all three are: Starlette routes and calls; refusals and failures become JSON here."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from http import HTTPStatus
from types import MappingProxyType
from typing import Any

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from truegrade.files.json_text import encode
from truegrade.web.http_refusals import Refusal

JSON = "application/json"
PROBLEM = "application/problem+json"
CLIENT_LEFT = 499
"""Status, in the metrics, of a request whose client hung up first; nobody is sent it."""

Tell = Callable[[Refusal], Response]
"""Makes the answer of a refusal."""
Translate = Callable[[Request, Any], Refusal]
"""Makes the refusal of an exception."""


def json_response(value: msgspec.Struct | dict[str, Any], status: int = HTTPStatus.OK) -> Response:
    """A value as JSON."""
    return Response(encode(value), status, media_type=JSON)


def as_response(found: msgspec.Struct | Response) -> Response:
    """What an endpoint gives, as an answer."""
    return found if isinstance(found, Response) else json_response(found)


def problem_response(refusal: Refusal) -> Response:
    """Problem details (RFC 9457)."""
    return Response(encode(refusal.problem), refusal.status, refusal.headers, PROBLEM)


def route(path: str, call: Callable[[Request], Any], *methods: str) -> Route:
    """A path that takes these methods alone: Starlette would answer HEAD wherever there is GET."""
    made = Route(path, call, methods=methods)
    made.methods = set(methods)
    return made


def application(
    routes: Sequence[Route],
    nowhere: Translate,
    translations: Mapping[type[Exception], Translate] = MappingProxyType({}),
    *,
    tell: Tell = problem_response,
    middleware: Sequence[Middleware] = (),
) -> Starlette:
    """An application.

    Args:
        routes: what it answers.
        nowhere: of a path that there is not, or that does not take the method; its exception has the status, and
            in the header Allow the methods that there are.
        translations: of other exceptions, by their kind.
        tell: how refusals are said.
        middleware: around everything.
    """

    def handler(translate: Translate) -> Callable[[Request, Exception], Awaitable[Response]]:
        async def handle(request: Request, error: Exception) -> Response:
            return tell(translate(request, error))

        return handle

    every = {Refusal: _itself, HTTPException: nowhere, Exception: _failed, **translations}
    handlers = {kind: handler(translate) for kind, translate in every.items()}
    app = Starlette(routes=routes, middleware=middleware, exception_handlers={**handlers, ClientDisconnect: _left})
    app.router.redirect_slashes = False  # /healthz/ is no path, and a redirection would repeat the client's Host
    return app


def _itself(_: Request, refusal: Refusal) -> Refusal:
    return refusal


async def _left(_: Request, __: Exception) -> Response:
    return Response(status_code=CLIENT_LEFT)


def _failed(request: Request, error: Exception) -> Refusal:
    logging.getLogger("truegrade.web").error("%s %s", request.method, request.scope["path"], exc_info=error)
    return Refusal(HTTPStatus.INTERNAL_SERVER_ERROR, "the service failed; its log says why")
