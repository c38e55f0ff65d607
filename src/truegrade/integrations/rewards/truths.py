"""Ground truths as the service is sent them: read once for all replies to a prompt, and written once."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from typing import Any

import msgspec

from truegrade.benchmarks.ground_truths.ground_truth import read_ground_truth
from truegrade.files.json_text import encode
from truegrade.web.service.messages import InlineProblem

KEPT = 4096
"""Ground truths that are kept."""
KEPT_BYTES = 256 * 2**20
"""Bytes of tests that are kept, as they are sent; a contest problem may have megabytes."""


class SentProblem(msgspec.Struct, frozen=True, kw_only=True):
    """A problem as a request holds it."""

    id: str
    """Goes by its tests, so that equal ones are sent once."""
    body: bytes
    """JSON; empty where the ground truth has no test."""
    why_not: str = ""
    """Why it has none."""


class TruthCache:
    """Reads ground truths and keeps the last; safe to use from several threads."""

    def __init__(self, kept: int = KEPT, kept_bytes: int = KEPT_BYTES) -> None:
        self._kept, self._kept_bytes = kept, kept_bytes
        self._known: OrderedDict[object, SentProblem] = OrderedDict()
        self._size = 0
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._known)

    def problem(self, value: Any, entry_point: str | None) -> SentProblem:
        """The problem that a ground truth states; what cannot be read is said, not raised."""
        key = _key(value, entry_point)
        with self._lock:
            if key in self._known:
                self._known.move_to_end(key)
                return self._known[key]
        made = _read(value, entry_point)
        with self._lock:
            if key is not None and key not in self._known:
                self._known[key] = made
                self._size += len(made.body)
            while self._known and (len(self._known) > self._kept or self._size > self._kept_bytes):
                self._size -= len(self._known.popitem(last=False)[1].body)
        return made


def _key(value: Any, entry_point: str | None) -> bytes | None:
    """Equal for equal ground truths alone: a list may be changed in place, so that its identity says nothing."""
    try:
        return hashlib.sha256(encode((type(value).__name__, value, entry_point), enc_hook=_plain)).digest()
    except (TypeError, ValueError, RecursionError):
        return None


def _plain(value: Any) -> Any:
    """What a table of Parquet gives for a list: arrays of numpy."""
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(type(value).__name__)


def _read(value: Any, entry_point: str | None) -> SentProblem:
    try:
        found = read_ground_truth(value, entry_point=entry_point)
    except Exception as error:  # one odd row of a data set must not cost a training run its step
        return SentProblem(id="", body=b"", why_not=f"{type(error).__name__}: {error}")
    if found.task is None:
        return SentProblem(id="", body=b"", why_not=found.why_not)
    name = f"truth-{hashlib.sha256(encode(found.task)).hexdigest()[:32]}"
    return SentProblem(id=name, body=encode(InlineProblem(task=found.task, id=name)))
