"""What a client is told instead of an answer: problem details (RFC 9457) that name the field at fault."""

from __future__ import annotations

import re
from http import HTTPStatus
from typing import TypeVar

import msgspec

from truegrade.files import json_text

T = TypeVar("T")

_PATH = re.compile(r" - at `(?P<path>[^`]*)`$")
_FIELD = re.compile(r"field `(?P<name>[^`]*)`")


class Problem(msgspec.Struct, frozen=True, omit_defaults=True):
    """Body of every answer that is no success (RFC 9457, section 3)."""

    title: str
    """The phrase of the status."""
    status: int
    detail: str
    """What is wrong and what to do."""
    field: str | None = None
    """Path of the field at fault, ``completions[3].text``."""


class Refusal(Exception):
    """Ends a request.

    Args:
        status: of the answer, 400 to 599.
        detail: what is wrong and what to do.
        field: path of the field at fault.
        headers: of the answer.
    """

    def __init__(
        self, status: int, detail: str, *, field: str | None = None, headers: dict[str, str] | None = None
    ) -> None:
        super().__init__(detail)
        self.status, self.detail, self.field, self.headers = status, detail, field, headers or {}

    @property
    def problem(self) -> Problem:
        """Its body."""
        return Problem(HTTPStatus(self.status).phrase, self.status, self.detail, self.field)


def unprocessable(detail: str, field: str) -> Refusal:
    """The refusal of a well-formed request that asks for what there is not."""
    return Refusal(HTTPStatus.UNPROCESSABLE_ENTITY, detail, field=field)


def stopping() -> Refusal:
    """What a request is told that the service can no longer serve."""
    return Refusal(
        HTTPStatus.SERVICE_UNAVAILABLE,
        "the service is stopping; ask again, of another or later",
        headers={"Retry-After": "5"},
    )


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
