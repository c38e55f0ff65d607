"""What an endpoint is: a row of the tables that the service and the viewer answer by."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import msgspec

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
