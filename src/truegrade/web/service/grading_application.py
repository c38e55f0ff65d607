"""HTTP's side of the service: token, JSON in; JSON or problem details out; every answer is counted."""

from __future__ import annotations

import asyncio
import hmac
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from functools import partial
from http import HTTPStatus
from typing import TypeVar

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from truegrade.web.addresses import check_host
from truegrade.web.application import JSON, application, as_response, route
from truegrade.web.bodies import decode, read_body
from truegrade.web.endpoint import OWN, Client, Endpoint
from truegrade.web.http_refusals import Refusal, ask_again, stopping
from truegrade.web.service.grading_routes import ROUTES
from truegrade.web.service.grading_service import Service
from truegrade.web.service.metrics import Metrics
from truegrade.web.service.sandboxfusion import NOT_SPOKEN

R = TypeVar("R")

UNKNOWN = "unknown"
"""Path of requests for what there is not, in the metrics: their number is the client's to choose."""


def grading_application(service: Service) -> Starlette:
    """The application of one service."""
    routes = [route(it.path, partial(_answer, service, it), it.method) for it in ROUTES]
    clients = {it.path: it.client if it.takes is not None else None for it in ROUTES}
    counted = Middleware(Counted, metrics=service.metrics, clients=clients)
    return application(routes, _nowhere, middleware=[counted])


class Counted:
    """Counts answers and how long they took, by path and status.

    Args:
        app: what answers.
        metrics: where it is counted.
        clients: the paths there are, and whose they are where they take work.
    """

    def __init__(self, app: ASGIApp, metrics: Metrics, clients: Mapping[str, Client | None]) -> None:
        self._app, self._metrics, self._clients = app, metrics, clients

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        began = time.monotonic()
        path = scope["path"] if scope["path"] in self._clients else UNKNOWN
        client = self._clients.get(path)

        async def counting(event: Message) -> None:
            if event["type"] == "http.response.start":
                self._metrics.answered(path, int(event["status"]), time.monotonic() - began, client)
                if client == "oi":
                    # It keeps connections, and never repeats a request that met one being closed for idleness.
                    event["headers"] = [*event["headers"], (b"connection", b"close")]
            await send(event)

        try:
            await self._app(scope, receive, counting)
        except Exception:
            status = HTTPStatus.INTERNAL_SERVER_ERROR
            self._metrics.answered(path, status, time.monotonic() - began, client)
            raise


async def _answer(service: Service, endpoint: Endpoint, request: Request) -> Response:
    if not endpoint.public:
        _authenticate(service.settings.token, request)
    if endpoint.takes is None:
        return as_response(await endpoint.handle(service, None))
    if endpoint.client == OWN:
        _check_room(service)
    service.requests[endpoint.client] += 1
    try:
        _check_kind(request)
        with service.bodies.share(service.workload.retry_after_s) as take:
            settings = service.settings
            body = await read_body(request, settings.max_body_bytes, settings.patience_s, take)
            work = endpoint.handle(service, decode(body, endpoint.takes))
            return as_response(await _unless_left(work, request.receive))
    except Refusal as refusal:
        if endpoint.client == OWN or refusal.status != HTTPStatus.SERVICE_UNAVAILABLE:
            raise
        raise ask_again("the service is stopping" if service.stopping else refusal.detail) from None
    finally:
        service.requests[endpoint.client] -= 1


def _check_room(service: Service) -> None:
    """Refuse what cannot be taken now, of clients that come back."""
    if service.stopping:
        raise stopping()
    if service.requests[OWN] >= service.settings.max_connections:
        raise Refusal(
            HTTPStatus.SERVICE_UNAVAILABLE,
            f"{service.settings.max_connections} requests are under way; come back later",
            headers={"Retry-After": str(service.workload.retry_after_s)},
        )


def _nowhere(request: Request, error: HTTPException) -> Refusal:
    path = request.scope["path"]
    if error.status_code == HTTPStatus.NOT_FOUND and path in NOT_SPOKEN:
        words = f"{path} of SandboxFusion is not spoken here: {NOT_SPOKEN[path]}"
        return Refusal(HTTPStatus.NOT_IMPLEMENTED, words)
    if error.status_code == HTTPStatus.NOT_FOUND:
        return Refusal(HTTPStatus.NOT_FOUND, f"nothing at {path[:100]!r}; GET /docs lists what there is")
    allowed = dict(error.headers or {})
    return Refusal(error.status_code, f"{path} takes {allowed['Allow']}", headers=allowed)


def _authenticate(token: str | None, request: Request) -> None:
    if token is None:
        return check_host(request.headers.get("host", ""))
    scheme, _, given = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not hmac.compare_digest(given.strip().encode("latin-1"), token.encode()):
        raise Refusal(
            HTTPStatus.UNAUTHORIZED,
            "send the token that the service was started with: Authorization: Bearer TOKEN",
            headers={"WWW-Authenticate": 'Bearer realm="truegrade"'},
        )
    return None


def _check_kind(request: Request) -> None:
    """Refuse what is not JSON by its own account: no web page can send such unasked."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != JSON:
        raise Refusal(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "send Content-Type: application/json")


async def _unless_left(work: Awaitable[R], receive: Callable[[], Awaitable[Message]]) -> R:
    """Do the work, and give it up as soon as nobody waits for it.

    Raises:
        ClientDisconnect: the client hung up before its answer.
    """
    doing = asyncio.ensure_future(work)
    leaving = asyncio.ensure_future(receive())
    try:
        await asyncio.wait({doing, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if not doing.done():
            raise ClientDisconnect
        return doing.result()
    finally:
        for task in (doing, leaving):
            task.cancel()
            with suppress(asyncio.CancelledError, Exception):
                await task
