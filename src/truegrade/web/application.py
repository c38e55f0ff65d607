"""The application that service, viewer and model server are: endpoints, bodies within bounds, refusals as JSON."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from http import HTTPStatus
from types import MappingProxyType
from typing import Annotated, Any, Literal, TypeVar

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from truegrade.files import json_text
from truegrade.files.json_text import encode
from truegrade.records import Message, Prompt
from truegrade.records.config import Sampling
from truegrade.web.messages import Refusal, unprocessable

# ----- The application that all three are: Starlette routes and calls; refusals and failures become JSON here.

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
    app = Starlette(
        routes=routes, middleware=middleware, exception_handlers={**handlers, ClientDisconnect: _client_left}
    )
    app.router.redirect_slashes = False  # /healthz/ is no path, and a redirection would repeat the client's Host
    return app


def _itself(_: Request, refusal: Refusal) -> Refusal:
    return refusal


async def _client_left(_: Request, __: Exception) -> Response:
    return Response(status_code=CLIENT_LEFT)


def _failed(request: Request, error: Exception) -> Refusal:
    logging.getLogger("truegrade.web").error("%s %s", request.method, request.scope["path"], exc_info=error)
    return Refusal(HTTPStatus.INTERNAL_SERVER_ERROR, "the service failed; its log says why")


# ------------------------- What an endpoint is: a row of the tables that the service and the viewer answer by.

Client = Literal["own", "verl", "oi", "openrlhf"]
"""Who asks: ``own`` comes back after 429 and 503. The others make a reward of 0 of such an answer: trainers whose
clients are not ours (``oi``: open-instruct)."""
OWN: Client = "own"


class Endpoint(msgspec.Struct, frozen=True, kw_only=True):
    """An endpoint."""

    path: str
    handle: Callable[[Any, Any], Any]
    """Given what requests share and what this one asks for; gives a struct, or Starlette's ``Response``."""
    takes: type[msgspec.Struct] | None = None
    """What is asked for: the body of a POST, the query of a GET."""
    method: str = "GET"
    summary: str = ""
    gives: type[msgspec.Struct] | None = None
    """None where the answer is a text."""
    text: str = ""
    """Content type of a text."""
    public: bool = False
    """Whether it needs no token."""
    client: Client = OWN
    """Whose protocol it is. A request of another's is held where one of ours would be refused."""


# ----------- Bodies of requests: read within bounds of size and time, then decoded; what is at fault is named.

T = TypeVar("T")

_PATH = re.compile(r" - at `(?P<path>[^`]*)`$")
_FIELD = re.compile(r"field `(?P<name>[^`]*)`")


class BodyRoom:
    """Bounds the bytes that the bodies of all requests under way hold together.

    Args:
        most: bytes; a body that is alone has room up to its own bound.
    """

    def __init__(self, most: int) -> None:
        self._most, self.held = most, 0

    @contextmanager
    def share(self, retry_after_s: int) -> Iterator[Callable[[int], None]]:
        """What takes room for more bytes of one request, until that is answered.

        Args:
            retry_after_s: seconds after which a request that finds no room may come back.
        """
        own = 0

        def take(size: int) -> None:
            """Take room; 503 where others hold it."""
            nonlocal own
            if self.held > own and self.held + size > self._most:
                raise Refusal(
                    HTTPStatus.SERVICE_UNAVAILABLE,
                    f"the requests under way hold {self._most} bytes; come back later",
                    headers={"Retry-After": str(retry_after_s), "Connection": "close"},
                )
            own += size
            self.held += size

        try:
            yield take
        finally:
            self.held -= own


async def read_body(request: Request, most: int, within_s: float, take: Callable[[int], None]) -> bytes:
    """The whole body of a request.

    Args:
        request: whose body.
        most: bytes that it may hold.
        within_s: seconds in which it must have arrived.
        take: told of each piece's bytes, see `BodyRoom.share`.

    Raises:
        Refusal: 413 if it is too large, 408 if it is too late, 503 if others hold the room.
        ClientDisconnect: the client hung up before its end.
    """
    too_large = Refusal(
        HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
        f"a request may hold {most} bytes; send less at a time",
        headers={"Connection": "close"},
    )
    # Known before it is read, so that a client need not send what nobody takes.
    if int(request.headers.get("content-length", "0")) > most:
        raise too_large
    parts, size = [], 0
    try:
        async with asyncio.timeout(within_s):
            async for part in request.stream():
                size += len(part)
                if size > most:
                    raise too_large
                take(len(part))
                parts.append(part)
    except TimeoutError:
        raise Refusal(
            HTTPStatus.REQUEST_TIMEOUT, "the body did not arrive in time", headers={"Connection": "close"}
        ) from None
    return b"".join(parts)


def decode(body: bytes, kind: type[T]) -> T:
    """Read a request's body.

    Raises:
        Refusal: 400 if it is no JSON, 422 with the field if it is not what it must be.
    """
    try:
        return json_text.decode(body, msgspec.json.Decoder(kind))
    except msgspec.ValidationError as error:
        detail, path = _split(str(error))
        raise unprocessable(detail, path) from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Refusal(HTTPStatus.BAD_REQUEST, f"the body is not JSON: {error}") from None
    except (RecursionError, ValueError) as error:
        raise Refusal(HTTPStatus.BAD_REQUEST, f"the body cannot be read: {error}") from None


def _split(message: str) -> tuple[str, str]:
    """A decoder's message as sentence and path; a field that is missing or unknown is part of the path."""
    found = _PATH.search(message)
    path = found["path"].removeprefix("$").removeprefix(".") if found else ""
    text = message[: found.start()] if found else message
    named = _FIELD.search(text)
    if named:
        path = f"{path}.{named['name']}" if path else named["name"]
    return text, path or "body"


# ----------------------- The bodies of requests in the OpenAI protocol, as far as a local engine honours them.


_Count = Annotated[int, msgspec.Meta(ge=1)]
_Temperature = Annotated[float, msgspec.Meta(ge=0)]
_Share = Annotated[float, msgspec.Meta(ge=0, le=1)]
MAX_CHOICES = 128


class Asked(msgspec.Struct, frozen=True):
    """A request in our own terms."""

    model: str
    prompt: Prompt
    sampling: Sampling
    n: int


class _Part(msgspec.Struct, frozen=True):
    text: str
    type: Literal["text"] = "text"


class _Turn(msgspec.Struct, frozen=True):
    role: Literal["system", "developer", "user", "assistant"]
    content: str | list[_Part]

    def message(self) -> Message:
        content = self.content if isinstance(self.content, str) else "".join(part.text for part in self.content)
        return Message(role="system" if self.role == "developer" else self.role, content=content)


class _Body(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    model: str
    temperature: _Temperature | None = None
    top_p: _Share | None = None
    max_tokens: _Count | None = None
    seed: int | None = None
    stop: str | list[str] | None = None
    n: Annotated[int, msgspec.Meta(ge=1, le=MAX_CHOICES)] | None = None
    stream: Literal[False] | None = None
    user: str | None = None
    """Names the end user; it changes nothing."""

    def _asked(self, prompt: Prompt, **more: Any) -> Asked:
        stop = (self.stop,) if isinstance(self.stop, str) else tuple(self.stop or ())
        settings = {"temperature": self.temperature, "top_p": self.top_p, "max_tokens": self.max_tokens}
        return Asked(self.model, prompt, Sampling(seed=self.seed, stop=stop, **{**settings, **more}), self.n or 1)


class ChatBody(_Body, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What ``/v1/chat/completions`` takes."""

    messages: Annotated[list[_Turn], msgspec.Meta(min_length=1)]
    max_completion_tokens: _Count | None = None
    reasoning_effort: str | None = None

    def asked(self) -> Asked:
        """In our own terms."""
        prompt = Prompt(messages=tuple(turn.message() for turn in self.messages), source="request")
        limit = self.max_completion_tokens or self.max_tokens
        return self._asked(prompt, max_tokens=limit, reasoning_effort=self.reasoning_effort)


class TextBody(_Body, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What ``/v1/completions`` takes; one prompt a request."""

    prompt: str

    def asked(self) -> Asked:
        """In our own terms."""
        messages = (Message(role="user", content=self.prompt),)
        return self._asked(Prompt(messages=messages, style="text", source="request"))
