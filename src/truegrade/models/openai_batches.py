"""OpenAI's Batch API: a file of requests is uploaded, a batch is made of it, two files bring the results.

Source: OpenAI, guide "Batch API" and API reference, "Batch": up to 50,000 requests and 200 MB a batch, all of one
endpoint and one model; answered within 24 hours, and what is not answered by then expires.
"""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import IO, TYPE_CHECKING, Any, ClassVar, Literal, TypeVar

import msgspec

from truegrade.errors import ModelError
from truegrade.files.json_text import UNREADABLE
from truegrade.models.batches import LISTED_BEFORE_S, BatchState, EncodedQuestion, FoundBatch
from truegrade.models.openai_client import OpenAIClient
from truegrade.models.openai_reply import read_body
from truegrade.models.service_batches import ServiceBatches, written
from truegrade.models.service_errors import RequestFailure, one_line, status_failure
from truegrade.models.service_model import ServiceModel
from truegrade.models.service_parameters import Route
from truegrade.models.service_reply import Body
from truegrade.records import Message

if TYPE_CHECKING:
    import openai
    from openai.types import Batch

T = TypeVar("T")

TOKEN_KEY = "truegrade"
"""Under which a batch's metadata hold our token."""

_ENDPOINTS: Mapping[str, Any] = {"chat": "/v1/chat/completions", "text": "/v1/completions"}
_STATUS: Mapping[str, Literal["ended", "expired", "cancelled", "failed"]] = {
    "completed": "ended",
    "expired": "expired",
    "cancelled": "cancelled",
    "failed": "failed",
}
"""The states in which nothing more happens; every other is ``running``."""


class _Response(msgspec.Struct):
    status_code: int
    body: msgspec.Raw


class _Error(msgspec.Struct):
    code: str | None = None
    message: str | None = None


class _ResultLine(msgspec.Struct):
    custom_id: str
    response: _Response | None = None
    error: _Error | None = None


class OpenAIBatches(ServiceBatches):
    """The batches of one model at OpenAI.

    Args:
        model: whose batches.
        client: the model's.
    """

    max_requests: ClassVar[int] = 50_000
    max_bytes: ClassVar[int] = 200_000_000

    def __init__(self, model: ServiceModel, client: OpenAIClient) -> None:
        super().__init__(model)
        self._client = client

    def envelope(
        self, custom_id: str, route: Route, messages: Sequence[Message], parameters: Mapping[str, Any]
    ) -> dict[str, Any]:
        """A line of the file."""
        body = self._client.body(route, messages, parameters)
        return {"custom_id": custom_id, "method": "POST", "url": _ENDPOINTS[route], "body": body}

    async def submit(self, token: str, requests: Sequence[EncodedQuestion]) -> str:
        """Upload the file, then create the batch; its metadata hold the token."""
        content = b"".join(request.content + b"\n" for request in requests)

        async def create(client: openai.AsyncOpenAI) -> str:
            file = await client.files.create(file=("batch.jsonl", content), purpose="batch")
            batch = await client.batches.create(
                input_file_id=file.id,
                endpoint=_ENDPOINTS[requests[0].endpoint],
                completion_window="24h",
                metadata={TOKEN_KEY: token},
            )
            return batch.id

        return await self._told(create, "change what it names, or leave `batch` out; nothing was submitted")

    async def find(self, token: str, requests: int, since: float, besides: Collection[str]) -> FoundBatch | None:
        """Look through the batches of the last time for the token."""

        async def look(client: openai.AsyncOpenAI) -> FoundBatch | None:
            async for batch in client.batches.list(limit=100):  # the newest first
                if batch.created_at < since - LISTED_BEFORE_S:
                    break
                if (batch.metadata or {}).get(TOKEN_KEY) == token:
                    return FoundBatch(id=batch.id, certain=True)
            return None

        return await self._told(look, "leave `batch` out if the service has no batches")

    async def state(self, id_: str) -> BatchState:
        """Ask how far a batch is."""
        batch = await self._batch(id_)
        counts, faults = batch.request_counts, (batch.errors and batch.errors.data) or []
        return BatchState(
            id=id_,
            status=_STATUS.get(batch.status, "running"),
            total=counts.total if counts else 0,
            answered=counts.completed if counts else 0,
            failed=counts.failed if counts else 0,
            reason=one_line("; ".join(_fault(fault) for fault in faults)) if faults else None,
        )

    async def outcomes(self, id_: str) -> AsyncIterator[tuple[str, Body | RequestFailure]]:
        """Read the output file, then the error file; each is downloaded whole before its first line is read."""
        batch = await self._batch(id_)
        for file_id in (batch.output_file_id, batch.error_file_id):
            if file_id is None:
                continue
            with tempfile.TemporaryFile() as file:
                advice = "its files may have been deleted or have expired: remove its lines from batches.jsonl"
                self.brought(await self._client.call(partial(_download, file_id, file)), advice)
                file.seek(0)
                for outcome in _read(file):
                    yield outcome

    async def _batch(self, id_: str) -> Batch:
        return await self._told(lambda client: client.batches.retrieve(id_), self.unknown(id_))

    async def _told(self, ask: Callable[[openai.AsyncOpenAI], Awaitable[T]], advice: str) -> T:
        """What a request about a batch brought; errors as of `brought`, and of a reply without its fields."""
        try:
            return self.brought(await self._client.call(ask), advice)
        except (AttributeError, TypeError) as error:  # the client takes any body of a reply with status 200
            raise ModelError(
                f"{self._model.name} at {self._model.base_url}: a reply about batches lacks its fields ({error});"
                " leave `batch` out if the service has no batches"
            ) from error


async def _download(file_id: str, file: IO[bytes], client: openai.AsyncOpenAI) -> None:
    await written(file, client.files.with_streaming_response.content(file_id))


def _read(lines: IO[bytes]) -> Iterator[tuple[str, Body | RequestFailure]]:
    decoder = msgspec.json.Decoder(_ResultLine)
    for line in lines:
        try:
            result = decoder.decode(line)
        except UNREADABLE:  # whose it is cannot be told: that request has no reply
            continue
        if result.response is None:
            error = result.error or _Error()
            told = one_line(f"{error.code or 'no code'}: {error.message or 'no reason given'}")
            yield result.custom_id, RequestFailure(kind="passing", error=told)
        elif result.response.status_code == 200:
            yield result.custom_id, read_body(bytes(result.response.body))
        else:
            yield (
                result.custom_id,
                status_failure(result.response.status_code, _document(result.response.body), {}),
            )


def _document(body: msgspec.Raw) -> Any:
    """An error's body, decoded where it can be."""
    try:
        return msgspec.json.decode(body)
    except UNREADABLE:
        return bytes(body).decode("utf-8", "replace")


def _fault(fault: Any) -> str:
    """One of the reasons for which a batch failed."""
    line = f" (line {fault.line})" if fault.line else ""
    return f"{fault.code or 'error'}: {fault.message or 'no reason given'}{line}"
