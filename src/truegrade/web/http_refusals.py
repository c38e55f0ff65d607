"""What a client is told instead of an answer. The client imports this module, so it needs no HTTP library."""

from __future__ import annotations

from http import HTTPStatus

import msgspec


class ProblemDetails(msgspec.Struct, frozen=True, omit_defaults=True):
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
        code: the fault by its name in the OpenAI protocol.
        headers: of the answer.
    """

    def __init__(
        self,
        status: int,
        detail: str,
        *,
        field: str | None = None,
        code: str | None = None,
        headers: dict[str, str] | None = None,
    ) -> None:
        super().__init__(detail)
        self.status, self.detail, self.field, self.code, self.headers = status, detail, field, code, headers or {}

    @property
    def problem(self) -> ProblemDetails:
        """Its body."""
        return ProblemDetails(HTTPStatus(self.status).phrase, self.status, self.detail, self.field)


def unprocessable(detail: str, field: str) -> Refusal:
    """The refusal of a well-formed request that asks for what there is not."""
    return Refusal(HTTPStatus.UNPROCESSABLE_ENTITY, detail, field=field)


def ask_again(why: str) -> Refusal:
    """What a client is told that repeats a request after 504 alone."""
    return Refusal(HTTPStatus.GATEWAY_TIMEOUT, f"{why}; ask again")


def stopping() -> Refusal:
    """What a request is told that the service can no longer serve."""
    return Refusal(
        HTTPStatus.SERVICE_UNAVAILABLE,
        "the service is stopping; ask again, of another or later",
        headers={"Retry-After": "5"},
    )
