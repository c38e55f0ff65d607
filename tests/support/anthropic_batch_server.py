"""A local server that speaks Anthropic's Message Batches, for the real client.

Source of the shapes: Anthropic API reference, "Message Batches". Until a batch has ended, the service shows of it
nothing but how many requests it holds; it ends after so many questions about it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qs, urlsplit

from support.anthropic_server import Told, anthropic_server, error, message, refusal
from support.scripted_server import Answer, Seen

_PATH = "/v1/messages/batches"


def _answer(_: dict[str, Any]) -> Told:
    return Told("```python\ndef f():\n    pass\n```")


@dataclass
class AnthropicBatchService:
    """What the service does, and what it was asked."""

    answer: Callable[[dict[str, Any]], Told | Answer] = _answer
    """To one request, by its body."""
    polls: int = 1
    """Questions about a batch after which it has ended."""
    unanswered: int = 0
    """Requests that are not answered by the end; the last ones."""
    ends: str = "expired"
    """What becomes of these: ``expired`` or ``canceled``."""
    hold_accepted: bool = False
    """Create batches, but never answer whoever creates them."""
    breaks: int = 0
    """So many times whoever creates a batch is told of an error, and there is none."""
    thinks: bool = False
    batches: dict[str, dict[str, Any]] = field(default_factory=dict)
    """In the order of their creation."""
    requests: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    """Those of each batch."""
    created: int = 0
    """Requests to create a batch."""
    polled: int = 0
    """Questions about batches."""
    url: str = ""

    def handle(self, seen: Seen) -> Answer | None:
        """Answer what is about batches."""
        url = urlsplit(seen.path)
        if not url.path.startswith(_PATH):
            return None
        plain = {"model": "m", "max_tokens": 1, "messages": [{"role": "user", "content": "x"}]}
        if (refused := refusal(Seen("/v1/messages", seen.headers, plain, 0.0), models=["m"])) is not None:
            return refused  # for its key or its version
        if url.path == _PATH and seen.body is not None:
            self.created += 1
            if self.breaks:
                self.breaks -= 1
                return error(500, "api_error", "Internal server error")
            batch = self.create(seen.body["requests"])
            return Answer(self._shown(batch, seen), hold=self.hold_accepted)
        if url.path == _PATH:
            return Answer(self._page(parse_qs(url.query), seen))
        id_, _, what = url.path.removeprefix(f"{_PATH}/").partition("/")
        if what == "results":
            content = b"".join(json.dumps(line).encode() + b"\n" for line in self._results(id_, seen))
            return Answer(content, headers={"content-type": "application/x-jsonl"})
        self.polled += 1
        batch = self.batches[id_]
        batch["polls"] += 1
        if batch["polls"] > self.polls:
            batch["processing_status"] = "ended"
        return Answer(self._shown(batch, seen))

    def create(self, requests: list[dict[str, Any]]) -> dict[str, Any]:
        """Take requests, if they are what they must be."""
        assert len({request["custom_id"] for request in requests}) == len(requests)
        assert all(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", request["custom_id"]) for request in requests)
        assert all(request.keys() == {"custom_id", "params"} for request in requests)
        id_ = f"msgbatch_{len(self.batches)}"
        self.requests[id_] = requests
        self.batches[id_] = {
            "id": id_, "type": "message_batch", "processing_status": "in_progress", "polls": 0,
            "created_at": datetime.now(UTC).isoformat(), "expires_at": datetime.now(UTC).isoformat(),
            "ended_at": None, "cancel_initiated_at": None, "archived_at": None, "results_url": None,
        }  # fmt: skip
        return self.batches[id_]

    def _shown(self, batch: dict[str, Any], seen: Seen) -> dict[str, Any]:
        counts = dict.fromkeys(("processing", "succeeded", "errored", "expired", "canceled"), 0)
        if batch["processing_status"] == "ended":
            batch["results_url"] = f"http://{seen.headers['host']}{_PATH}/{batch['id']}/results"
            for line in self._results(batch["id"], seen):
                counts[line["result"]["type"]] += 1
        else:
            counts["processing"] = len(self.requests[batch["id"]])
        return {**batch, "request_counts": counts}

    def _page(self, query: dict[str, list[str]], seen: Seen) -> dict[str, Any]:
        newest = list(self.batches.values())[::-1]
        if "after_id" in query:
            ids = [batch["id"] for batch in newest]
            newest = newest[ids.index(query["after_id"][0]) + 1 :]
        page = newest[: int(query["limit"][0])]
        ids = [batch["id"] for batch in page]
        return {"data": [self._shown(batch, seen) for batch in page], "has_more": len(page) < len(newest),
                "first_id": ids[0] if ids else None, "last_id": ids[-1] if ids else None}  # fmt: skip

    def _results(self, id_: str, seen: Seen) -> list[dict[str, Any]]:
        requests = self.requests[id_]
        executed = len(requests) - self.unanswered
        return [
            {
                "custom_id": request["custom_id"],
                "result": self._result(request["params"], seen) if i < executed else {"type": self.ends},
            }
            for i, request in reversed(list(enumerate(requests)))  # the service promises no order
        ]

    def _result(self, params: dict[str, Any], seen: Seen) -> dict[str, Any]:
        as_sent = Seen("/v1/messages", seen.headers, params, 0.0)
        said = refusal(as_sent, models=["m"], thinks=self.thinks) or self.answer(params)
        if isinstance(said, Answer):
            return {"type": "errored", "error": said.body}
        return {"type": "succeeded", "message": message(said)}


@contextmanager
def anthropic_batch_server(**settings: Any) -> Iterator[AnthropicBatchService]:
    """Serve Message Batches and the Messages API for the model ``m``; ``url`` is the server's."""
    service = AnthropicBatchService(**settings)
    with anthropic_server(lambda body: service.answer(body), handle=service.handle) as server:
        service.url = server.url
        yield service
