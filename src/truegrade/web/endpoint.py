"""What an endpoint is: a row of the tables that the service and the viewer answer by."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec


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
