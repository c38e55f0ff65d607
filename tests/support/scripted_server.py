"""A local HTTP server that answers by script, for clients that must survive what services do.

Plain asyncio in a thread of its own; it knows nothing of the product. Answers are given in the order of the
requests and the last one repeats; or a function of the decoded body makes them, or one of the whole request.
"""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Answer:
    """One response, or one way of failing to give it."""

    body: Any = None
    """JSON, or bytes to send as they are."""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    delay_s: float = 0.0
    hold: bool = False
    """Never answer; wait until the client goes away."""
    cut: bool = False
    """Promise the whole body, send half of it, drop the connection."""


@dataclass(frozen=True)
class Seen:
    """One request as the server saw it."""

    path: str
    headers: dict[str, str]
    body: Any
    at: float
    """Monotonic seconds."""


Script = Sequence[Answer] | Callable[[Any], Answer]


class ScriptedServer:
    """The server's record: what it saw, and how much at once.

    Args:
        script: the answers.
        whole: whether a function is given the request (`Seen`) instead of its body.
    """

    def __init__(self, script: Script, *, whole: bool = False) -> None:
        self._script, self._whole = script, whole
        self.requests: list[Seen] = []
        self.max_in_flight = 0
        self._in_flight = 0
        self.url = ""

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection, request after request."""
        try:
            with suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
                while await self._serve_one(reader, writer):
                    pass
        finally:
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()

    async def _serve_one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        headers = {
            key.lower(): value.strip() for key, _, value in (line.partition(":") for line in head[1:] if line)
        }
        content = await reader.readexactly(int(headers.get("content-length", "0")))
        form = headers.get("content-type", "").startswith("application/x-www-form-urlencoded")
        body = content.decode() if form else json.loads(content) if content else None
        seen = Seen(head[0].split(" ")[1], headers, body, time.monotonic())
        answer = self._answer(seen)
        self.requests.append(seen)
        self._in_flight += 1
        self.max_in_flight = max(self.max_in_flight, self._in_flight)
        try:
            if answer.hold:
                await reader.read()
                return False
            await asyncio.sleep(answer.delay_s)
        finally:
            self._in_flight -= 1
        payload = answer.body if isinstance(answer.body, bytes) else json.dumps(answer.body).encode()
        lines = {"content-type": "application/json", "content-length": str(len(payload)), **answer.headers}
        start = f"HTTP/1.1 {answer.status} Scripted\r\n"
        writer.write((start + "".join(f"{k}: {v}\r\n" for k, v in lines.items()) + "\r\n").encode())
        writer.write(payload[: len(payload) // 2] if answer.cut else payload)
        await writer.drain()
        return not answer.cut

    def _answer(self, seen: Seen) -> Answer:
        if callable(self._script):
            return self._script(seen if self._whole else seen.body)
        return self._script[min(len(self.requests), len(self._script) - 1)]


@contextmanager
def scripted_server(script: Script, *, whole: bool = False) -> Iterator[ScriptedServer]:
    """Run a server on an ephemeral port of 127.0.0.1; ``url`` ends in ``/v1``."""
    record = ScriptedServer(script, whole=whole)
    ready, done = threading.Event(), threading.Event()
    loop = asyncio.new_event_loop()
    stopping: list[asyncio.Event] = []

    async def serve() -> None:
        stop = asyncio.Event()
        server = await asyncio.start_server(record.handle, "127.0.0.1", 0)
        record.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        stopping.append(stop)
        ready.set()
        await stop.wait()
        server.close()
        open_connections = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in open_connections:
            task.cancel()
        await asyncio.gather(*open_connections, return_exceptions=True)

    def run() -> None:
        try:
            loop.run_until_complete(serve())
        finally:
            loop.close()
            done.set()

    thread = threading.Thread(target=run, name="scripted-server", daemon=True)
    thread.start()
    assert ready.wait(10), "the scripted server did not start"
    try:
        yield record
    finally:
        loop.call_soon_threadsafe(stopping[0].set)
        assert done.wait(10), "the scripted server did not stop"
        thread.join()


def chat(
    text: str | None, *, finish_reason: str | None = "stop", model: str = "served-1", **message: Any
) -> dict[str, Any]:
    """Body of a chat completion with one choice; ``message`` adds fields to its message."""
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": model,
        "choices": [
            {
                "index": 0,
                "finish_reason": finish_reason,
                "message": {"role": "assistant", "content": text, **message},
            }
        ],
        "usage": {"prompt_tokens": 10, "completion_tokens": 20, "total_tokens": 30},
    }


def error(status: int, message: str, *, headers: Mapping[str, str] | None = None, **fields: Any) -> Answer:
    """An error in OpenAI's shape; ``fields`` such as ``code`` and ``param`` go into the error object."""
    return Answer({"error": {"message": message, **fields}}, status=status, headers=headers or {})
