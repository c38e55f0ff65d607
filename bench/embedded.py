"""Tokens per second of the included model's run time, alone and in batches.

    python bench/embedded.py [FOLDER] [--requests 64] [--tokens 64] [--prompt 120] [--before SRC [--rounds 5]]

Without a folder the shipped weights answer, or random ones of the same shape where there are none.
Two figures: generated tokens alone, and with the prompts that had to be read counted too. CPU seconds are of all
threads; on a busy machine only they mean something. With another tree's `src`, the two are measured in turn, each
time in a process of its own, and the medians of tokens per CPU second and of their ratios are printed.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

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
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--requests", type=int, default=64)
    parser.add_argument("--tokens", type=int, default=64, help="generated per request")
    parser.add_argument("--prompt", type=int, default=120, help="digits per prompt; one or two make a token")
    parser.add_argument("--before", type=Path, metavar="SRC", help="tree to compare with: its src")
    parser.add_argument("--rounds", type=int, default=5, help="of the comparison")
    options = parser.parse_args()
    if options.before:
        given = [str(options.folder)] if options.folder else []
        for name in ("requests", "tokens", "prompt"):
            given += [f"--{name}", str(getattr(options, name))]
        _compare(options.before, given, options.rounds)
        return
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.folder or (WEIGHTS if (WEIGHTS / "config.json").is_file() else _random(Path(scratch)))
        engine = EmbeddedEngine(folder)
    load = os.getloadavg()[0]
    print(f"{engine.name}: {engine.parallel} at once, {os.cpu_count()} cores, load {load:.1f}")
    _measure(engine, 1, options.tokens, options.prompt)  # so that no first use is measured
    for requests in (1, 10, options.requests):
        _measure(engine, requests, options.tokens, options.prompt, report=True)


def _measure(engine: EmbeddedEngine, requests: int, tokens: int, digits: int, *, report: bool = False) -> None:
    """Ask so many requests at once; sampled at a high temperature, so that few end before their limit."""
    started, cpu = time.perf_counter(), time.process_time()
    futures = []
    for number in range(requests):
        content = str(7**999 + number)[-digits:]
        prompt = Prompt(messages=(Message(role="user", content=content),), source="bench")
        sampling = Sampling(temperature=1.5, seed=number, max_tokens=tokens)
        futures.append(engine.submit(prompt, sampling))
    usages = [future.result().usage for future in futures]
    wall_s, cpu_s = time.perf_counter() - started, time.process_time() - cpu
    written = sum(usage.output_tokens for usage in usages)
    read = sum(usage.input_tokens for usage in usages)
    if report:
        rate, per_cpu_s, with_read = written / wall_s, written / cpu_s, (written + read) / wall_s
        print(f"{requests:4} requests: {rate:6.0f} tokens/s generated ({per_cpu_s:.0f} per CPU-s), ", end="")
        print(f"{with_read:6.0f} with the {read} read")


def _compare(before: Path, arguments: list[str], rounds: int) -> None:
    """Measure two trees in turn."""
    found: list[list[dict[str, int]]] = []
    for _ in range(rounds):
        pair = []
        for src in (before, Path(__file__).parents[1] / "src"):
            shown = subprocess.run(
                [sys.executable, __file__, *arguments],
                env={**os.environ, "PYTHONPATH": str(src.resolve())}, capture_output=True, text=True, check=True,
            ).stdout  # fmt: skip
            pair.append({count: int(rate) for count, rate in re.findall(r"(\d+) requests: .*\((\d+) per", shown)})
        found.append(pair)
    for count in found[0][0]:
        before_after = [(old[count], new[count]) for old, new in found]
        ratios = sorted(new / old for old, new in before_after)
        old, new = (median(column) for column in zip(*before_after, strict=True))
        print(f"{count:>4} requests: {old:.0f} tokens per CPU-s before, {new:.0f} after, ", end="")
        print(f"ratio {median(ratios):.2f} [{ratios[0]:.2f}, {ratios[-1]:.2f}]")


def _random(folder: Path) -> Path:
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))
    from tiny_llama import write_llama

    return write_llama(folder, **SHIPPED_SHAPE)


if __name__ == "__main__":
    main()
