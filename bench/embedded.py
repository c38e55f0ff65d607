"""What a token of the included model costs, alone and in batches.

    python -m bench embedded [FOLDER] [--requests 64] [--tokens 64] [--prompt 120] [--before SRC] [--rounds 5]

Without a folder the shipped weights answer, or random ones of the same shape where there are none.
The units are generated tokens, one request after the other, ten and all at once. With another tree's `src` the
two are measured in turn, each time in a process of its own, whose start counts.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

from bench.rounds import ROOT, Way, compare, parser, run, table
from truegrade.models.embedded import EmbeddedEngine
from truegrade.models.micro import WEIGHTS
from truegrade.records import Message, Prompt
from truegrade.records.config import Sampling

SHIPPED_SHAPE = {
    "hidden_size": 128,
    "intermediate_size": 352,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "num_key_value_heads": 4,
    "head_dim": 32,
    "max_position_embeddings": 1024,
}


def main() -> None:
    """Measure and print."""
    given = parser(__doc__, rounds=5, workers=None)
    given.add_argument("folder", nargs="?", type=Path)
    given.add_argument("--requests", type=int, default=64)
    given.add_argument("--tokens", type=int, default=64, help="generated per request")
    given.add_argument("--prompt", type=int, default=120, help="digits per prompt; one or two make a token")
    given.add_argument("--before", type=Path, metavar="SRC", help="tree to compare with: its src")
    given.add_argument("--once", action="store_true", help=argparse.SUPPRESS)
    options = given.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.folder or (WEIGHTS if (WEIGHTS / "config.json").is_file() else _random(Path(scratch)))
        if options.before:
            _compare(options, folder)
            return
        engine = EmbeddedEngine(folder)
    if options.once:
        _ask(engine, options.requests, options)
        return
    with table():
        for requests in (1, 10, options.requests):
            work = f"{requests} requests to {engine.name}, {engine.parallel} at once"
            ways = {"tokens": lambda requests=requests: _ask(engine, requests, options)}
            compare(work, ways, options.rounds, amount=requests * options.tokens)


def _ask(engine: EmbeddedEngine, requests: int, options: argparse.Namespace) -> None:
    """Ask so many requests at once; sampled at a high temperature, so that few end before their limit."""
    futures = []
    for number in range(requests):
        content = str(7**999 + number)[-options.prompt :]
        prompt = Prompt(messages=(Message(role="user", content=content),), source="bench")
        sampling = Sampling(temperature=1.5, seed=number, max_tokens=options.tokens)
        futures.append(engine.submit(prompt, sampling))
    for future in futures:
        future.result()


def _compare(options: argparse.Namespace, folder: Path) -> None:
    """Measure two trees in turn."""
    words = [sys.executable, "-m", "bench", "embedded", str(folder), "--once"]

    def way(src: Path, requests: int) -> Way:
        more = ["--requests", str(requests), "--tokens", str(options.tokens), "--prompt", str(options.prompt)]
        environment = os.environ | {"PYTHONPATH": f"{src.resolve()}:{ROOT}"}
        return lambda: run([*words, *more], env=environment) and None

    with table():
        for requests in (1, 10, options.requests):
            ways = {"this tree": way(ROOT / "src", requests), "before": way(options.before, requests)}
            compare(f"{requests} requests", ways, options.rounds, amount=requests * options.tokens)


def _random(folder: Path) -> Path:
    sys.path.insert(0, str(ROOT / "tests" / "support"))
    from tiny_llama import write_llama

    return write_llama(folder, **SHIPPED_SHAPE)
