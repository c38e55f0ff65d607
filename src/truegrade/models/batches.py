"""Batches: many requests handed to a service together, answered within a day at a lower price.

A model that can be asked so offers a `BatchService`, in which the differences between vendors lie; what is asked
when, and what is done with the answers, is `truegrade.pipeline.generate_in_batches`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from typing import Literal, Protocol, runtime_checkable

import msgspec

from truegrade.errors import ModelError
from truegrade.models.base import Reply
from truegrade.records import Prompt
from truegrade.records.config import Sampling

LISTED_BEFORE_S = 24 * 3600.0
"""A lost batch is looked for among those that the service dates up to so much before its submission: the clocks of
two machines differ, and the time within which batches are answered is a day."""


class BatchQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """One request of a batch."""

    custom_id: str
    """``TOKEN-i``; the service gives it back with the answer."""
    prompt: Prompt
    sampling: Sampling
    """The seed is already the sample's own."""


class EncodedQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """A request as it is sent."""

    content: bytes
    """JSON, without a newline."""
    endpoint: str
    """All requests of a batch have the same."""
    bound_usd: float | None
    """What it can cost at most; None where the price is not known or no token limit is set."""


class BatchState(msgspec.Struct, frozen=True, kw_only=True):
    """How far a batch is, as the service says."""

    id: str
    status: Literal["running", "ended", "expired", "cancelled", "failed"]
    """``expired``, ``cancelled``: some requests may have been answered before; ``failed``: none was begun."""
    total: int = 0
    """Requests."""
    answered: int = 0
    failed: int = 0
    reason: str | None = None
    """Why it failed, in the service's words."""


class FoundBatch(msgspec.Struct, frozen=True, kw_only=True):
    """A batch that may be the one that is looked for."""

    id: str
    certain: bool
    """False where the service shows what tells them apart only once it has ended."""


class PassingFailure(ModelError):
    """A request about a batch failed in a way that may pass; whether it had an effect is not known."""


class BatchService(Protocol):
    """The batch interface of one model at one service.

    Every method that asks the service raises PassingFailure where asking again may help, and otherwise ModelError,
    one line that says what to do.
    """

    @property
    def max_requests(self) -> int:
        """Requests that a batch may hold."""

    @property
    def max_bytes(self) -> int:
        """Bytes that the requests of a batch may have together."""

    @property
    def learnt(self) -> int:
        """Results so far that taught which parameters the service does not take: asking again may bring more."""

    def encode(self, question: BatchQuestion) -> EncodedQuestion:
        """A request with the parameters that an ordinary one would have."""

    async def submit(self, token: str, requests: Sequence[EncodedQuestion]) -> str:
        """Hand over a batch that can be found again by its token.

        Returns:
            The id that the service gives it.
        """

    async def find(self, token: str, requests: int, since: float, besides: Collection[str]) -> FoundBatch | None:
        """Look for a batch whose id was lost.

        Args:
            token: what it was submitted with.
            requests: how many it holds.
            since: seconds since the epoch, when its submission began by the clock of this machine.
            besides: ids of batches that are known to be others.

        Returns:
            The batch; or one that may be it, which must end before that can be said; None if there is none.
        """

    async def state(self, id_: str) -> BatchState:
        """Ask how far a batch is."""

    def results(self, id_: str, questions: Mapping[str, BatchQuestion]) -> AsyncIterator[tuple[str, Reply]]:
        """Stream what a batch that has ended brought, in any order.

        Args:
            id_: the service's.
            questions: what was asked, by custom id.

        Yields:
            Custom id and reply; a request that failed has a reply without text.
        """


@runtime_checkable
class BatchableModel(Protocol):
    """A model that can be asked in batches."""

    def batch_service(self) -> BatchService | None:
        """Its batch interface; None where the service at this address has none that is known."""
