"""A local server that speaks OpenAI's Files and Batch APIs, for the real client.

Source of the shapes: OpenAI API reference, "Files" and "Batch": a JSON Lines file is uploaded as a multipart form,
a batch is created of it, its results lie in an output file and an error file. A batch ends after so many questions
about it. The server outlives its clients, which tests kill.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from support.scripted_server import chat

AnswerTo = Callable[[dict[str, Any]], tuple[int, dict[str, Any]]]
"""Status and body of the response to one request of a batch, by its body."""


def _answer(_: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    return 200, chat("```python\ndef f():\n    pass\n```")


@dataclass
class OpenAIBatchServer:
    """What the service does, and what it was asked."""

    answer: AnswerTo = _answer
    polls: int = 1
    """Questions about a batch after which it has ended."""
    ends: str = "completed"
    """Status at the end: ``completed``, ``expired``, ``cancelled``, ``failed``."""
    unanswered: int = 0
    """Requests of an expired or cancelled batch that were not executed; the last ones."""
    fault: dict[str, Any] | None = None
    """Why a batch fails."""
    hold_accepted: bool = False
    """Create batches, but never answer whoever creates them."""
    failures: list[tuple[str, int]] = field(default_factory=list)
    """Beginnings of ``METHOD PATH`` to refuse once each, with a status; 0 takes the request and cuts the line."""
    files: dict[str, bytes] = field(default_factory=dict)
    batches: dict[str, dict[str, Any]] = field(default_factory=dict)
    """In the order of their creation."""
    ordinary: list[dict[str, Any]] = field(default_factory=list)
    """Bodies of the requests outside of batches."""
    requests: list[str] = field(default_factory=list)
    """``METHOD PATH`` of each."""
    url: str = ""
    lock: threading.Lock = field(default_factory=threading.Lock)
    closing: threading.Event = field(default_factory=threading.Event)

    def asked(self, batch: str | None = None) -> list[dict[str, Any]]:
        """Bodies of the requests in all batches that were created, or in one."""
        chosen = self.batches.values() if batch is None else [self.batches[batch]]
        return [line["body"] for each in chosen for line in self.lines(each["input_file_id"])]

    def lines(self, file: str) -> list[dict[str, Any]]:
        """Decoded lines of a file."""
        return [json.loads(line) for line in self.files[file].splitlines()]

    def add_file(self, content: bytes) -> dict[str, Any]:
        """Keep a file."""
        id_ = f"file-{len(self.files)}"
        self.files[id_] = content
        return {"id": id_, "object": "file", "bytes": len(content), "created_at": 1, "filename": "batch.jsonl",
                "purpose": "batch", "status": "processed"}  # fmt: skip

    def create(self, asked: dict[str, Any]) -> dict[str, Any]:
        """Create a batch of an uploaded file, if the file is what it must be."""
        lines = self.lines(asked["input_file_id"])
        assert asked["completion_window"] == "24h"
        assert len({line["custom_id"] for line in lines}) == len(lines)
        assert all(line["method"] == "POST" and line["url"] == asked["endpoint"] for line in lines)
        id_ = f"batch_{len(self.batches)}"
        self.batches[id_] = {
            "id": id_, "object": "batch", "status": "validating", "created_at": int(time.time()),
            "request_counts": {"total": len(lines), "completed": 0, "failed": 0}, "polls": 0, **asked,
        }  # fmt: skip
        return self.batches[id_]

    def poll(self, id_: str) -> dict[str, Any]:
        """How far a batch is; the question brings it further."""
        batch = self.batches[id_]
        batch["polls"] += 1
        if batch["status"] in ("validating", "in_progress"):
            batch["status"] = "in_progress"
            if batch["polls"] > self.polls:
                self._end(batch)
        return batch

    def _end(self, batch: dict[str, Any]) -> None:
        batch["status"] = self.ends
        if self.ends == "failed":
            batch["errors"] = {"object": "list", "data": [self.fault]}
            return
        lines = self.lines(batch["input_file_id"])
        executed = lines[: len(lines) - self.unanswered]
        good, bad = [], []
        for line in executed:
            status, body = self.answer(line["body"])
            response = {"status_code": status, "request_id": "req", "body": body}
            result = {"id": "r", "custom_id": line["custom_id"], "response": response, "error": None}
            (good if status == 200 else bad).append(result)
        for line in lines[len(executed) :] if self.ends == "expired" else []:
            told = {"code": "batch_expired", "message": "This request could not be executed before the completion"
                    " window expired."}  # fmt: skip
            bad.append({"id": "r", "custom_id": line["custom_id"], "response": None, "error": told})
        counts = batch["request_counts"]
        counts["completed"], counts["failed"] = len(good), len(bad)
        for name, results in (("output_file_id", good), ("error_file_id", bad)):
            if results:  # the service promises no order
                content = b"".join(json.dumps(each).encode() + b"\n" for each in reversed(results))
                batch[name] = self.add_file(content)["id"]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    service: OpenAIBatchServer

    def log_message(self, *_: Any) -> None:
        """Be silent."""

    def do_GET(self) -> None:
        self._serve("GET")

    def do_POST(self) -> None:
        self._serve("POST")

    def _serve(self, method: str) -> None:
        url = urlsplit(self.path)
        content = self.rfile.read(int(self.headers.get("content-length", "0")))
        named = f"{method} {url.path}"
        with self.service.lock:
            self.service.requests.append(named)
            failure = next((each for each in self.service.failures if named.startswith(each[0])), None)
            if failure is not None:
                self.service.failures.remove(failure)
            if failure is not None and failure[1]:
                refused = {"error": {"message": "not now", "code": None}}
                self._send(failure[1], json.dumps(refused).encode())
                return
            answer = self._answer(method, url.path, parse_qs(url.query), content)
        if failure is not None:
            self.close_connection = True
            return
        if self.service.hold_accepted and named == "POST /v1/batches":
            self.service.closing.wait(60)
            return
        self._send(200, answer if isinstance(answer, bytes) else json.dumps(answer).encode())

    def _answer(self, method: str, path: str, query: dict[str, list[str]], content: bytes) -> Any:
        match method, path.strip("/").split("/")[1:]:
            case "POST", ["files"]:
                boundary = self.headers["content-type"].partition("boundary=")[2].encode()
                parts = dict(_part(part) for part in content.split(b"--" + boundary)[1:-1])
                assert parts["purpose"] == b"batch"
                return self.service.add_file(parts["file"])
            case "POST", ["chat", "completions"]:
                self.service.ordinary.append(json.loads(content))
                return self.service.answer(self.service.ordinary[-1])[1]
            case "GET", ["files", id_, "content"]:
                return self.service.files[id_]
            case "POST", ["batches"]:
                return self.service.create(json.loads(content))
            case "GET", ["batches", id_]:
                return self.service.poll(id_)
            case "GET", ["batches"]:
                newest = list(self.service.batches.values())[::-1]
                if "after" in query:
                    ids = [batch["id"] for batch in newest]
                    newest = newest[ids.index(query["after"][0]) + 1 :]
                page = newest[: int(query["limit"][0])]
                return {"object": "list", "data": page, "has_more": len(page) < len(newest)}
        raise AssertionError(f"{method} {path}")

    def _send(self, status: int, content: bytes) -> None:
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


def _part(part: bytes) -> tuple[str, bytes]:
    """Name and content of one part of a multipart form."""
    head, _, content = part.partition(b"\r\n\r\n")
    name = head.partition(b'name="')[2].partition(b'"')[0].decode()
    return name, content.removesuffix(b"\r\n")


@contextmanager
def openai_batch_server(**settings: Any) -> Iterator[OpenAIBatchServer]:
    """Run a server on an ephemeral port of 127.0.0.1; ``url`` ends in ``/v1``."""
    service = OpenAIBatchServer(**settings)
    handler = type("Handler", (_Handler,), {"service": service})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    service.url = f"http://127.0.0.1:{server.server_port}/v1"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield service
    finally:
        service.closing.set()
        server.shutdown()
        server.server_close()
        thread.join()
