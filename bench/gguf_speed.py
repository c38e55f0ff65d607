"""Tokens per second and memory of `gguf/...` beside llama.cpp's own benchmark, alternating in one run.

    python -m bench gguf_speed [--llama-bench PATH] [--model smollm2-135m] [--threads 2] [--rounds 5]

`llama-bench` is built from llama.cpp's sources (`cmake --build build --target llama-bench`); without it only our
own figures are printed. Both read one prompt and then write greedily, with the same file and number of threads;
ours are timed as a caller sees them, with the server, the tokenizer and the sampler. Medians of the rounds.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from typing import NamedTuple

from truegrade.models.gguf_local import GgufEngine, GgufOptions, gguf_path
from truegrade.records import Message, Prompt
from truegrade.records.config import Sampling

MIB = 2**20


class Speed(NamedTuple):
    """Of one process."""

    read: float
    """Prompt tokens per second."""
    written: float
    """Generated tokens per second."""
    memory: float
    """Most resident memory, bytes; the pages of the weights' file included."""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="smollm2-135m", help="NAME or PATH, as in gguf/NAME")
    parser.add_argument("--llama-bench", type=Path, help="the program")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--prompt", type=int, default=256, help="tokens, about")
    parser.add_argument("--tokens", type=int, default=128)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--own", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.own:
        print(json.dumps(_own(options)))
        return
    print(f"{options.model}, {options.threads} threads, {platform.machine()}, load {os.getloadavg()[0]:.1f}")
    ours, theirs = [], []
    for _ in range(options.rounds):
        ours.append(_ours())
        if options.llama_bench:
            theirs.append(_theirs(options))
    _show("gguf/ of truegrade", ours)
    if theirs:
        _show("llama-bench", theirs)
        ratios = [median(one.written / other.written for one, other in zip(ours, theirs, strict=True)),
                  median(one.read / other.read for one, other in zip(ours, theirs, strict=True)),
                  median(one.memory / other.memory for one, other in zip(ours, theirs, strict=True))]  # fmt: skip
        print("ratio: written {:.2f}, read {:.2f}, memory {:.2f}".format(*ratios))


def _show(name: str, found: list[Speed]) -> None:
    read, written, memory = (median(column) for column in zip(*found, strict=True))
    print(f"{name:20} {written:7.1f} tokens/s written, {read:7.1f} read, {memory / MIB:6.0f} MiB")


def _ours() -> Speed:
    output, memory = _peak([sys.executable, "-m", "bench", "gguf_speed", "--own", *sys.argv[1:]])
    return Speed(*json.loads(output), memory)


def _theirs(options: argparse.Namespace) -> Speed:
    """One repetition of llama-bench, which warms up first."""
    command = [str(options.llama_bench), "-m", str(gguf_path(options.model)), "-t", str(options.threads)]
    command += ["-p", str(options.prompt), "-n", str(options.tokens), "-r", "1", "-o", "json"]
    output, memory = _peak(command)
    rates = {bool(one["n_gen"]): one["avg_ts"] for one in json.loads(output)}
    return Speed(rates[False], rates[True], memory)


def _peak(command: list[str]) -> tuple[str, float]:
    """What a process prints, and the most memory that it had, in bytes."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert process.stdout is not None
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        sys.exit(f"{command[0]} failed with status {status}")
    return output, usage.ru_maxrss * 1024.0


def _own(options: argparse.Namespace) -> tuple[float, float]:
    """Prompt and generated tokens per second; counting goes on as long as it is asked to."""
    engine = GgufEngine(options.model, GgufOptions(threads=options.threads))
    text = ", ".join(str(number) for number in range(1, options.prompt // 3)) + ","
    prompt = Prompt(messages=(Message(role="user", content=text),), source="bench", style="text")

    def timed(tokens: int) -> tuple[float, int, int]:
        began = time.perf_counter()
        reply = engine.submit(prompt, Sampling(temperature=0.0, max_tokens=tokens)).result()
        assert reply.usage is not None
        return time.perf_counter() - began, reply.usage.input_tokens or 0, reply.usage.output_tokens or 0

    timed(1)  # so that no first use is measured
    first, read, _ = timed(1)
    whole, _, written = timed(options.tokens + 1)
    engine.close()
    return read / first, (written - 1) / (whole - first)
