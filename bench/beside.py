"""`truegrade run` beside `run --no-grade` and `grade` in turn, with a service that takes its time.

    python -m bench beside HUMANEVAL.jsonl.gz [--latency 0.5] [--cpu 0.13] [--connections 8] [--limit 164]
        [--rounds 3]

A server in this process answers every request after `--latency` seconds with a program that spins for `--cpu`
seconds. `run` grades the replies while others are asked for; the two commands do the same work in turn.
"""

from __future__ import annotations

import tempfile
from itertools import count
from pathlib import Path

from bench.planted import served
from bench.rounds import command, compare, parser, table

PROGRAM = "```python\nimport time\nend = time.process_time() + {cpu}\nwhile time.process_time() < end: pass\n```"


def main() -> None:
    """Measure and print."""
    given = parser(__doc__, rounds=3, workers=None)
    given.add_argument("data", type=Path)
    given.add_argument("--latency", type=float, default=0.5)
    given.add_argument("--cpu", type=float, default=0.13)
    given.add_argument("--connections", type=int, default=8)
    given.add_argument("--limit", type=int, default=164)
    asked = given.parse_args()
    program = PROGRAM.format(cpu=asked.cpu)
    with (
        tempfile.TemporaryDirectory(prefix="truegrade-bench-") as folder,
        served(lambda _: program, asked.latency) as address,
        table(),
    ):
        data, turns = ("humaneval", "--data", asked.data.resolve()), count()
        words = (*data, "--model", "openai-compatible/m", "--no-cache", "--base-url", address)
        words = (*words, "--max-connections", asked.connections, "--limit", asked.limit)
        around = {"cwd": folder, "env": {"OPENAI_COMPATIBLE_API_KEY": "none"}}

        def together() -> None:
            command("run", *words, "--out", f"run-{next(turns)}", **around)

        def in_turn() -> None:
            run = f"run-{next(turns)}"
            command("run", *words, "--no-grade", "--out", run, **around)
            command("grade", run, *data[1:], **around)

        compare("replies of a service", {"run": together, "run --no-grade, grade": in_turn}, asked.rounds,
                amount=asked.limit, warm=False)  # fmt: skip
