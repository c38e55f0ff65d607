"""A service with the OpenAI protocol on this machine, for measurements that must not wait for a model."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@contextmanager
def served(reply: Callable[[str], str], latency_s: float = 0.0, tokens: tuple[int, int] = (1, 1)) -> Iterator[str]:
    """Its address; it answers the messages of a chat, given as JSON, after so many seconds.

    Args:
        reply: to messages.
        latency_s: of each request.
        tokens: what it says that a request and a reply had.
    """

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            time.sleep(latency_s)
            message = {"role": "assistant", "content": reply(json.dumps(asked["messages"]))}
            body = json.dumps({
                "id": "1", "object": "chat.completion", "created": 0, "model": asked["model"],
                "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
                "usage": {"prompt_tokens": tokens[0], "completion_tokens": tokens[1], "total_tokens": sum(tokens)},
            }).encode()  # fmt: skip
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        server.server_close()
