"""Bodies of requests: read within bounds of size and time, then decoded; what is at fault is named."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http import HTTPStatus
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

import msgspec

from truegrade.files import json_text
from truegrade.records import Message, Prompt
from truegrade.records.config import Sampling
from truegrade.web.http_refusals import Refusal, unprocessable

if TYPE_CHECKING:
    from starlette.requests import Request


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
