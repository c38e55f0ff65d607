"""``batches.jsonl``: the batches that a run has handed to a service, and how far each is.

A batch is written down before it is submitted, and its id after. Whoever finds the first line without the second
knows that a batch may be under way whose id was lost, and which samples it holds.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Literal, Self

import msgspec

from truegrade.records import SCHEMA_VERSION, SampleKey
from truegrade.store.journal import Journal, Notice, ignore, read_journal
from truegrade.store.manifest import now


class IntendedBatch(msgspec.Struct, frozen=True, kw_only=True, tag="intended", tag_field="kind"):
    """A batch is about to be submitted."""

    samples: tuple[SampleKey, ...]
    """Request i of the batch, whose custom id is ``TOKEN-i``, asks for sample i of these."""
    bound_usd: float | None = None
    """What it can cost at most, where price and token limit are known."""


class AcceptedBatch(msgspec.Struct, frozen=True, kw_only=True, tag="accepted", tag_field="kind"):
    """The service has taken a batch."""

    id: str
    """The service's own."""


class ClosedBatch(msgspec.Struct, frozen=True, kw_only=True, tag="closed", tag_field="kind"):
    """A batch is over: its results are in ``completions.jsonl``, or there will be none."""

    outcome: Literal["ended", "expired", "cancelled", "failed", "not submitted"]
    reason: str | None = None
    """The service's own words, where it gave some."""


class BatchEvent(msgspec.Struct, frozen=True, kw_only=True):
    """A line of ``batches.jsonl``."""

    token: str
    """Names the batch in this file and at the service, before that has given it an id."""
    at: str
    """UTC, ISO 8601."""
    did: IntendedBatch | AcceptedBatch | ClosedBatch
    schema: int = SCHEMA_VERSION


class OpenBatch(msgspec.Struct, frozen=True, kw_only=True):
    """A batch that is not closed."""

    token: str
    at: str
    """When its submission began; UTC, ISO 8601."""
    samples: tuple[SampleKey, ...]
    bound_usd: float | None
    id: str | None = None
    """None where it is not known whether the service took it."""


def new_token() -> str:
    """A name for a batch that no other has: 16 hexadecimal digits."""
    return secrets.token_hex(8)


def batches_path(run: Path) -> Path:
    """The journal of batches of a run."""
    return run / "batches.jsonl"


def open_batches(run: Path, *, notice: Notice = ignore) -> dict[str, OpenBatch]:
    """The batches of a run that are not closed, by token, in order of submission.

    Raises:
        BadRecord: a line is no event of a batch.
    """
    found: dict[str, OpenBatch] = {}
    for event in read_journal(batches_path(run), BatchEvent, notice=notice):
        _follow(found, event)
    return found


class BatchLog:
    """The batches of a run under way, and the journal that takes what becomes of them; each line is synced.

    Args:
        run: folder of the run.
        notice: told when a torn line was dropped.
    """

    def __init__(self, run: Path, *, notice: Notice = ignore) -> None:
        self.path = batches_path(run)
        self.open = open_batches(run)
        """By token, in order of submission."""
        self._journal: Journal[BatchEvent] = Journal(self.path, notice=notice, fsync_every=1)

    def intend(self, token: str, samples: Sequence[SampleKey], bound_usd: float | None) -> OpenBatch:
        """Note that a batch is about to be submitted."""
        self._append(token, IntendedBatch(samples=tuple(samples), bound_usd=bound_usd))
        return self.open[token]

    def accept(self, token: str, id_: str) -> None:
        """Note the id that the service has given."""
        self._append(token, AcceptedBatch(id=id_))

    def close_batch(self, token: str, closed: ClosedBatch) -> None:
        """Note that nothing more is to come of a batch."""
        self._append(token, closed)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._journal.close()

    def _append(self, token: str, did: IntendedBatch | AcceptedBatch | ClosedBatch) -> None:
        event = BatchEvent(token=token, at=now(), did=did)
        self._journal.append(event)
        _follow(self.open, event)


def _follow(found: dict[str, OpenBatch], event: BatchEvent) -> None:
    """What one event makes of the open batches; one without a beginning, whose line somebody removed, is none."""
    did = event.did
    if isinstance(did, IntendedBatch):
        found[event.token] = OpenBatch(
            token=event.token, at=event.at, samples=did.samples, bound_usd=did.bound_usd
        )
    elif isinstance(did, ClosedBatch):
        found.pop(event.token, None)
    elif event.token in found:
        found[event.token] = msgspec.structs.replace(found[event.token], id=did.id)
