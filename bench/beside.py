"""Seconds of `truegrade run` beside `run --no-grade` and `grade` in turn, with a service that takes its time.

    python bench/beside.py HUMANEVAL.jsonl.gz [--latency 0.5] [--cpu 0.13] [--connections 8] [--repeats 3]

A server on this machine answers every request after `--latency` seconds with a program that spins for `--cpu`
seconds. `run` grades the replies while others are asked for; the two commands do the same work in turn. Prints
both, and their ratio.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

PROGRAM = "```python\nimport time\nend = time.process_time() + {cpu}\nwhile time.process_time() < end: pass\n```"


def served(latency_s: float, cpu_s: float) -> ThreadingHTTPServer:
    """A service that says the same to everybody, on a thread of its own."""
    message = {"role": "assistant", "content": PROGRAM.format(cpu=cpu_s)}
    body = {
        "id": "1", "object": "chat.completion", "created": 0, "model": "m",
        "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
    }  # fmt: skip
    content = json.dumps(body).encode()

    class Slow(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            time.sleep(latency_s)
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Slow)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def seconds(folder: Path, environment: dict[str, str], *commands: list[str]) -> float:
    """Wall seconds of commands in turn."""
    began = time.perf_counter()
    for command in commands:
        subprocess.run(
            [sys.executable, "-m", "truegrade", *command], cwd=folder, env=environment, check=True,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
    return time.perf_counter() - began


def main() -> None:
    """Measure alternately and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--latency", type=float, default=0.5)
    parser.add_argument("--cpu", type=float, default=0.13)
    parser.add_argument("--connections", type=int, default=8)
    parser.add_argument("--repeats", type=int, default=3)
    given = parser.parse_args()
    server = served(given.latency, given.cpu)
    asked = [
        "humaneval", "--data", str(given.data.resolve()), "--model", "openai-compatible/m", "--no-cache",
        "--base-url", f"http://127.0.0.1:{server.server_port}/v1", "--max-connections", str(given.connections),
    ]  # fmt: skip
    environment = {**os.environ, "OPENAI_COMPATIBLE_API_KEY": "none"}
    turns, together = [], []
    for _ in range(given.repeats):
        with tempfile.TemporaryDirectory(prefix="truegrade-bench-") as made:
            folder = Path(made)
            only = ["run", *asked, "--no-grade", "--out", "a"]
            turns.append(seconds(folder, environment, only, ["grade", "a", *asked[1:3]]))
            together.append(seconds(folder, environment, ["run", *asked, "--out", "b"]))
    print(f"generate, then grade: {', '.join(f'{each:.1f}' for each in turns)} s")
    print(f"run:                  {', '.join(f'{each:.1f}' for each in together)} s")
    print(f"ratio of the medians: {statistics.median(turns) / statistics.median(together):.2f}")


if __name__ == "__main__":
    main()
