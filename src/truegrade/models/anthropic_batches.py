"""Anthropic's Message Batches: requests are handed over in one body, results are one file.

A batch has no field for a note of ours: our token stands in the custom ids of its requests, which the service
shows once the batch has ended.

Source: Anthropic, "Batch processing" and API reference, "Message Batches": up to 100,000 requests or 256 MB a
batch, custom ids of up to 64 letters, digits, hyphens and underscores; most batches end within an hour, and what
is not answered within 24 hours expires; results are kept for 29 days.
"""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator, Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import IO, TYPE_CHECKING, Any, ClassVar, Literal

import msgspec

from truegrade.files.json_text import UNREADABLE
from truegrade.models.anthropic_client import AnthropicClient
from truegrade.models.anthropic_errors import told_failure
from truegrade.models.anthropic_reply import read_message
from truegrade.models.batches import LISTED_BEFORE_S, BatchState, EncodedQuestion, FoundBatch
from truegrade.models.service_batches import ServiceBatches, written
from truegrade.models.service_errors import RequestFailure
from truegrade.models.service_model import ServiceModel
from truegrade.models.service_parameters import Route
from truegrade.models.service_reply import Body
from truegrade.records import Message

if TYPE_CHECKING:
    import anthropic
    from anthropic.types.messages import MessageBatch


class _Result(msgspec.Struct):
    type: Literal["succeeded", "errored", "canceled", "expired"]
    message: Any = None
    error: Any = None


class _ResultLine(msgspec.Struct):
    custom_id: str
    result: _Result


class AnthropicBatches(ServiceBatches):
    """The batches of one model at Anthropic.

    Args:
        model: whose batches.
        client: the model's.
    """

    max_requests: ClassVar[int] = 100_000
    max_bytes: ClassVar[int] = 255_000_000  # of 256 MB, the rest for what is around the requests

    def __init__(self, model: ServiceModel, client: AnthropicClient) -> None:
        super().__init__(model)
        self._client = client

    def envelope(
        self, custom_id: str, route: Route, messages: Sequence[Message], parameters: Mapping[str, Any]
    ) -> dict[str, Any]:
        """One of the requests."""
        return {"custom_id": custom_id, "params": self._client.request_body(messages, parameters)}

    async def submit(self, token: str, requests: Sequence[EncodedQuestion]) -> str:
        """Create a batch; the token is in its custom ids already."""
        decoded: Any = [msgspec.json.decode(request.content) for request in requests]

        async def create(client: anthropic.AsyncAnthropic) -> str:
            return (await client.messages.batches.create(requests=decoded)).id

        return self.brought(
            await self._client.call(create), "change what it names, or leave `batch` out; nothing was submitted"
        )

    async def find(self, token: str, requests: int, since: float, besides: Collection[str]) -> FoundBatch | None:
        """Look through the batches of the last time for one of as many requests, by each one's first custom id."""

        async def look(client: anthropic.AsyncAnthropic) -> FoundBatch | None:
            running = None
            async for batch in client.messages.batches.list(limit=100):  # the newest first
                if batch.created_at.timestamp() < since - LISTED_BEFORE_S:
                    break
                if batch.id in besides or batch.archived_at is not None or _total(batch) != requests:
                    continue
                if batch.processing_status != "ended":
                    running = batch.id
                elif await _holds(batch.id, token, client):
                    return FoundBatch(id=batch.id, certain=True)
            return None if running is None else FoundBatch(id=running, certain=False)

        return self.brought(await self._client.call(look), "leave `batch` out if the service has no batches")

    async def state(self, id_: str) -> BatchState:
        """Ask how far a batch is; what is answered is counted only when all of it has ended."""
        asked = self._client.call(lambda client: client.messages.batches.retrieve(id_))
        batch = self.brought(await asked, self.unknown(id_))
        counts = batch.request_counts
        status: Literal["running", "ended", "expired", "cancelled"] = "running"
        if batch.processing_status == "ended":
            status = "expired" if counts.expired else "cancelled" if counts.canceled else "ended"
        failed = counts.errored + counts.expired + counts.canceled
        return BatchState(id=id_, status=status, total=_total(batch), answered=counts.succeeded, failed=failed)

    async def outcomes(self, id_: str) -> AsyncIterator[tuple[str, Body | RequestFailure]]:
        """Read the results, which are downloaded whole before the first is read."""
        with tempfile.TemporaryFile() as file:
            advice = "its results are kept for 29 days; where they are gone, remove its lines from batches.jsonl"
            self.brought(await self._client.call(partial(_download, id_, file)), advice)
            file.seek(0)
            for outcome in _read(file):
                yield outcome


def _total(batch: MessageBatch) -> int:
    counts = batch.request_counts
    return counts.processing + counts.succeeded + counts.errored + counts.expired + counts.canceled


async def _holds(id_: str, token: str, client: anthropic.AsyncAnthropic) -> bool:
    """Whether the custom ids of a batch that has ended are those of a token."""
    async with client.messages.batches.with_streaming_response.results(id_) as response:
        async for line in response.iter_lines():
            try:
                return msgspec.json.decode(line, type=_ResultLine).custom_id.startswith(f"{token}-")
            except UNREADABLE:
                continue
    return False


async def _download(id_: str, file: IO[bytes], client: anthropic.AsyncAnthropic) -> None:
    await written(file, client.messages.batches.with_streaming_response.results(id_))


def _read(lines: IO[bytes]) -> Iterator[tuple[str, Body | RequestFailure]]:
    decoder = msgspec.json.Decoder(_ResultLine)
    for line in lines:
        try:
            read = decoder.decode(line)
        except UNREADABLE:  # whose it is cannot be told: that request has no reply
            continue
        if read.result.type == "succeeded":
            yield read.custom_id, read_message(read.result.message)
        elif read.result.type == "errored":
            yield read.custom_id, told_failure(read.result.error)
        else:
            told = {
                "expired": "the batch expired before it was asked",
                "canceled": "the batch was cancelled first",
            }
            yield read.custom_id, RequestFailure(kind="passing", error=told[read.result.type])
