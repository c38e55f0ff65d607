"""What an endpoint is."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Any

import msgspec

from truegrade.web.service.grading_service import Service

JSON = "application/json"


class Reply(msgspec.Struct, frozen=True):
    """An answer that is not simply a success in JSON."""

    body: bytes
    content_type: str
    status: int = HTTPStatus.OK


Handler = Callable[[Service, Any], Awaitable[msgspec.Struct | Reply]]


class Route(msgspec.Struct, frozen=True, kw_only=True):
    """An endpoint."""

    method: str
    path: str
    summary: str
    handle: Handler
    takes: type[msgspec.Struct] | None = None
    gives: type[msgspec.Struct] | None = None
    """None where the answer is a text."""
    text: str = ""
    """Content type of a text."""
    public: bool = False
    """Whether it needs no token."""
