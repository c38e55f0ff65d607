"""HTTP's side of the service (ASGI 3): token, size, time, JSON in; JSON or problem details out."""

from __future__ import annotations

import asyncio
import hmac
import logging
import time
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from contextlib import suppress
from http import HTTPStatus
from typing import Any

import msgspec

from truegrade.files.json_text import encode
from truegrade.web.endpoint import JSON, Reply, Route
from truegrade.web.http_refusals import Refusal, decode, stopping
from truegrade.web.service.grading_routes import ROUTES
from truegrade.web.service.grading_service import Service
from truegrade.web.service.openapi import PROBLEM
from truegrade.web.service.service_settings import is_loopback

Event = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Event]]
Send = Callable[[Event], Awaitable[None]]

UNKNOWN = "unknown"
"""Path of requests for what there is not, in the metrics: their number is the client's to choose."""
CLIENT_LEFT = 499
"""Status, in the metrics, of a request whose client hung up first."""


class ClientLeft(Exception):
    """The client hung up before its answer."""


class Application:
    """Answers requests of one service.

    Args:
        service: does the work.
    """

    def __init__(self, service: Service) -> None:
        self._service = service
        self._routes: dict[str, dict[str, Route]] = {}
        for route in ROUTES:
            self._routes.setdefault(route.path, {})[route.method] = route

    async def __call__(self, scope: Event, receive: Receive, send: Send) -> None:
        """Answer one request."""
        began = time.monotonic()
        path = scope["path"] if scope["path"] in self._routes else UNKNOWN
        try:
            reply, headers = await self._reply(scope, receive)
        except ClientLeft:
            self._service.metrics.answered(path, CLIENT_LEFT, time.monotonic() - began)
            return
        self._service.metrics.answered(path, reply.status, time.monotonic() - began)
        fields = {
            "content-type": reply.content_type,
            "content-length": str(len(reply.body)),
            "x-content-type-options": "nosniff",
            **headers,
        }
        encoded = [(name.lower().encode(), value.encode()) for name, value in fields.items()]
        await send({"type": "http.response.start", "status": int(reply.status), "headers": encoded})
        await send({"type": "http.response.body", "body": reply.body})

    async def _reply(self, scope: Event, receive: Receive) -> tuple[Reply, dict[str, str]]:
        """The answer and its own headers; a refusal is an answer."""
        try:
            return await self._answer(scope, receive), {}
        except Refusal as refusal:
            body = msgspec.json.encode(refusal.problem)
            return Reply(body, PROBLEM, refusal.status), refusal.headers
        except ClientLeft:
            raise
        except Exception:
            logging.getLogger("truegrade.service").exception("%s %s", scope["method"], scope["path"])
            failure = Refusal(HTTPStatus.INTERNAL_SERVER_ERROR, "the service failed; its log says why")
            return Reply(msgspec.json.encode(failure.problem), PROBLEM, failure.status), {}

    async def _answer(self, scope: Event, receive: Receive) -> Reply:
        route = self._route(scope)
        headers = {name.lower(): value for name, value in scope["headers"]}
        if not route.public:
            self._authenticate(headers)
        if route.takes is None:
            return _encoded(await route.handle(self._service, None))
        if self._service.stopping:
            raise stopping()
        self._service.requests += 1
        try:
            body = await self._body(headers, receive)
            answer = await _unless_left(route.handle(self._service, decode(body, route.takes)), receive)
        finally:
            self._service.requests -= 1
        return _encoded(answer)

    def _route(self, scope: Event) -> Route:
        methods = self._routes.get(scope["path"])
        if methods is None:
            raise Refusal(
                HTTPStatus.NOT_FOUND, f"nothing at {scope['path'][:100]!r}; GET /docs lists what there is"
            )
        if scope["method"] not in methods:
            allowed = ", ".join(methods)
            raise Refusal(
                HTTPStatus.METHOD_NOT_ALLOWED, f"{scope['path']} takes {allowed}", headers={"Allow": allowed}
            )
        return methods[scope["method"]]

    def _authenticate(self, headers: Mapping[bytes, bytes]) -> None:
        token = self._service.settings.token
        if token is None:
            return self._check_host(headers.get(b"host", b""))
        scheme, _, given = headers.get(b"authorization", b"").partition(b" ")
        if scheme.lower() != b"bearer" or not hmac.compare_digest(given.strip(), token.encode()):
            raise Refusal(
                HTTPStatus.UNAUTHORIZED,
                "send the token that the service was started with: Authorization: Bearer TOKEN",
                headers={"WWW-Authenticate": 'Bearer realm="truegrade"'},
            )
        return None

    def _check_host(self, host: bytes) -> None:
        """Without a token, refuse what a web page sends by way of a name that leads here (DNS rebinding)."""
        name = host.decode("latin-1")
        bare = name[1 : name.find("]")] if name.startswith("[") else name.partition(":")[0]
        if not is_loopback(bare):
            raise Refusal(
                HTTPStatus.MISDIRECTED_REQUEST, f"{name[:100]!r} is not this service; ask 127.0.0.1 or localhost"
            )

    async def _body(self, headers: Mapping[bytes, bytes], receive: Receive) -> bytes:
        """The whole body.

        Raises:
            Refusal: it is too large, too late, or not JSON by its own account: no web page can send such unasked.
        """
        kind = headers.get(b"content-type", b"").partition(b";")[0].strip().lower()
        if kind != JSON.encode():
            raise Refusal(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "send Content-Type: application/json")
        most = self._service.settings.max_body_bytes
        # Known before it is read, so that a client need not send what nobody takes.
        if int(headers.get(b"content-length", b"0")) > most:
            raise _too_large(most)
        parts, size = [], 0
        try:
            async with asyncio.timeout(self._service.settings.patience_s):
                while True:
                    event = await receive()
                    if event["type"] == "http.disconnect":
                        raise ClientLeft
                    size += len(event.get("body", b""))
                    if size > most:
                        raise _too_large(most)
                    parts.append(event.get("body", b""))
                    if not event.get("more_body", False):
                        return b"".join(parts)
        except TimeoutError:
            raise Refusal(
                HTTPStatus.REQUEST_TIMEOUT, "the body did not arrive in time", headers={"Connection": "close"}
            ) from None


def _too_large(most: int) -> Refusal:
    return Refusal(
        HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
        f"a request may hold {most} bytes; send fewer completions at a time",
        headers={"Connection": "close"},
    )


def _encoded(answer: msgspec.Struct | Reply) -> Reply:
    return answer if isinstance(answer, Reply) else Reply(encode(answer), JSON)


async def _unless_left(work: Awaitable[msgspec.Struct | Reply], receive: Receive) -> msgspec.Struct | Reply:
    """Do the work, and give it up as soon as nobody waits for it."""
    doing = asyncio.ensure_future(work)
    leaving = asyncio.ensure_future(receive())
    try:
        await asyncio.wait({doing, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if not doing.done():
            raise ClientLeft
        return doing.result()
    finally:
        for task in (doing, leaving):
            task.cancel()
            with suppress(asyncio.CancelledError, Exception):
                await task
