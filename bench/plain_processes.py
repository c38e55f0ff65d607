"""Contest programs by themselves: fresh processes of ``python FILE``, as a user starts them, and no grader.

A program that reads standard input is started once a test; of a functional one, a single process calls the
function on each input in turn.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from bench.rounds import ended_cpu_s
from truegrade.grading.contests.driver import import_string

BACKSTOP_S = 60.0
CALLS = """

import json, sys
target = {target}
for line in sys.stdin:
    target(*json.loads(line))
"""
"""Behind a functional program: a call for each line of standard input."""


@dataclass(frozen=True, kw_only=True)
class Run:
    """One sample's program, and what each of its processes reads."""

    program: str
    given: tuple[str, ...]


def run_of(code: str, function: str | None, inputs: Sequence[str]) -> Run:
    """A program over these inputs of a data set; ``function`` is None for one that reads standard input.

    The imports that LiveCodeBench puts in front of every program take 20 ms in a fresh process. They are there
    only if the program says NameError without them and does not with them.
    """
    run = Run(program=code, given=tuple(inputs))
    if function is not None:
        target = f"Solution().{function}" if "class Solution" in code else function
        lines = [json.dumps([json.loads(line) for line in given.split("\n")]) for given in inputs]
        run = Run(program=code + CALLS.format(target=target), given=("\n".join(lines),))
    helped = replace(run, program=f"{import_string}\n{run.program}")
    return helped if _lacks_a_name(run) and not _lacks_a_name(helped) else run


def measured(runs: Sequence[Run], workers: int) -> tuple[float, float]:
    """CPU seconds of the processes, and wall seconds of starting them all."""
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(workers) as pool:
        files = [Path(folder, f"program{number}.py") for number in range(len(runs))]
        for file, run in zip(files, runs, strict=True):
            file.write_text(run.program)
        began, used = time.perf_counter(), ended_cpu_s()
        list(pool.map(_every_process, files, runs))
        return ended_cpu_s() - used, time.perf_counter() - began


def _every_process(file: Path, run: Run) -> None:
    for given in run.given:
        _process(file, given)


def _process(file: Path, given: str) -> str:
    """What it writes on standard error; a program that fails is one that fails."""
    done = subprocess.run([sys.executable, str(file)], input=given, text=True, check=False, timeout=BACKSTOP_S,
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)  # fmt: skip
    return done.stderr


def _lacks_a_name(run: Run) -> bool:
    with tempfile.NamedTemporaryFile("w", suffix=".py") as file:
        file.write(run.program)
        file.flush()
        return "NameError" in _process(Path(file.name), run.given[0])
