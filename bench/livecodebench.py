"""CPU seconds of grading LiveCodeBench samples: ours, the official grader's, EvalScope's, and the programs' own.

    python bench/livecodebench.py --peers FOLDER [--corpus completions|programs|all|long] [--samples N]
        [--workers 1] [--graders ours official ...]

The samples are those of the parity corpus: ``completions`` right and wrong programs for contest problems of five
tests each, ``programs`` the awkward ones for one test or two. ``long`` are those of `long_samples.py`, all right,
as functions and as programs that read and print: 20 tests and about 100 ms of CPU. CPU seconds are those of a
grader's process and of all its children, and therefore include everything it starts; of ours, the jail too.
Starting the grader itself is taken off by a run with one sample. ``own`` is the programs' share under our profile,
as its verdicts say; ``plain`` what the calls of the long ones take in one warm process.
"""

from __future__ import annotations

import argparse
import atexit
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

PROFILES_FOLDER = Path(__file__).parents[1] / "tests" / "profiles"
sys.path.insert(0, str(PROFILES_FOLDER))

from livecodebench_corpus.awkward import CASES
from livecodebench_corpus.completions import ROWS
from livecodebench_peers import jailed
from livecodebench_rows import case_row, contest_problem, grade, problem_of, sample_of

from long_samples import PROGRAMS, TESTS

PEERS = ("official", "official-2025-01", "evalscope-2025-06", "evalscope")
OURS, PLAIN = "ours", "plain"
SIZES = (70, 40, 40, 80, 60, 35, 65, 40, 30, 90, 20, 50)
"""Of the long programs' inputs, in thousands: about 5 ms a call."""
LONG = [
    (program, [(1000 * size + number,) for number in range(TESTS)])
    for program, size in zip(PROGRAMS, SIZES, strict=True)
]
"""Programs and the arguments of their calls."""
MEASURE = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(used.ru_utime + used.ru_stime)
"""
"""Runs a command and prints its CPU seconds and those of all that it waited for. In the jail, since what ends
there is waited for by a process that nobody waits for."""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peers", type=Path, required=True)
    parser.add_argument("--corpus", choices=("completions", "programs", "all", "long"), default="completions")
    parser.add_argument("--samples", type=int, help="so many, evenly from the corpus (default: all of it)")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--graders", nargs="+", choices=(OURS, PLAIN, *PEERS), default=(OURS, *PEERS))
    parser.add_argument("--own-to", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--long-from", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.corpus == "long" and options.long_from is None:  # so that nobody is charged for the right answers
        descriptor, name = tempfile.mkstemp(suffix=".json")
        options.long_from = Path(name)
        atexit.register(options.long_from.unlink)
        with os.fdopen(descriptor, "w") as file:
            json.dump(answered(), file)
    rows = chosen(options.corpus, options.samples, options.long_from)
    if options.graders == [PLAIN] and options.own_to is not None:
        for row in rows:
            plain_calls(*row["plain"])
        return
    if options.own_to is not None:
        options.own_to.write_text(json.dumps(ours(rows, options.workers)))
        return
    print(f"{len(rows)} samples of {options.corpus}, {options.workers} at a time")
    print(f"{'grader':20}{'CPU ms a sample':>17}{'wall ms a sample':>18}")
    for name in options.graders:
        one, all_of_them = (measured(*command(name, rows[:count], options)) for count in (1, len(rows)))
        cpu, wall = (1000 * (many - few) / (len(rows) - 1) for few, many in zip(one, all_of_them, strict=True))
        print(f"{name:20}{cpu:17.1f}{wall:18.1f}", flush=True)
    print(f"{'programs, own':20}{1000 * ours(rows, options.workers) / len(rows):17.1f}")


def chosen(corpus: str, count: int | None, long_from: Path | None = None) -> list[dict]:
    """Programs with their tests: ``ours`` as our profiles take them, ``theirs`` as the published graders do."""
    rows = [] if long_from is None else long_rows(json.loads(long_from.read_text()))
    if corpus in {"completions", "all"}:
        rows += [{"ours": (contest_problem(problem), code), "theirs": {"code": code, "sample": sample_of(problem)}}
                 for _, problem, code, _ in ROWS]  # fmt: skip
    if corpus in {"programs", "all"}:
        rows += [{"ours": case_row(case), "theirs": {"code": case.code, "sample": case.sample}} for case in CASES]
    count = len(rows) if count is None else count
    return [rows[index * len(rows) // count] for index in range(count)]


def answered() -> list[tuple[str, list[tuple[int]], list[object]]]:
    """The long programs whose answers JSON holds, with their calls and answers."""
    every = [(program, calls, plain_calls(program, calls)) for program, calls in LONG]
    return [each for each in every if each[2] == json.loads(json.dumps(each[2]))]


def long_rows(loads: Sequence[tuple[str, list[tuple[int]], list[object]]]) -> list[dict]:
    """Each long program twice, as a function and as a program of its own."""
    rows = []
    for number, (program, calls, answers) in enumerate(loads):
        given, wanted = [str(n) for (n,) in calls], [json.dumps(answer) for answer in answers]
        printing = f"{program}\nimport json\nprint(json.dumps(f(int(input()))))\n"
        for code, name in ((program, "f"), (printing, None)):
            tests = [
                {"input": n, "output": answer, "testtype": ""} for n, answer in zip(given, wanted, strict=True)
            ]
            sample = {"inputs": given, "outputs": wanted, "fn_name": name}
            problem = problem_of(f"long {number} {name}", json.dumps(tests), name)
            theirs = {"code": code, "sample": sample}
            rows.append({"ours": (problem, code), "theirs": theirs, "plain": (program, calls)})
    return rows


def plain_calls(program: str, calls: Sequence[tuple[int]]) -> list[object]:
    """What the program's function returns, in this process."""
    namespace: dict[str, Any] = {}
    exec(program, namespace)
    return [namespace["f"](*given) for given in calls]


def ours(rows: list[dict], workers: int) -> float:
    """Grade with our profile; CPU seconds of the programs as the verdicts say."""
    graded = grade("livecodebench", [row["ours"] for row in rows], workers)
    return sum(row["judgement"].cpu_s or 0.0 for row in graded)


def command(name: str, rows: list[dict], options: argparse.Namespace) -> tuple[list[str], str]:
    """What grades these rows, and what it reads."""
    workers = str(options.workers)
    if name in {OURS, PLAIN}:
        own = ["--samples", str(len(rows)), "--own-to", os.devnull, "--workers", workers, "--graders", name]
        return [
            sys.executable,
            "-c",
            MEASURE,
            sys.executable,
            __file__,
            "--peers",
            "-",
            "--corpus",
            options.corpus,
            *(["--long-from", str(options.long_from)] if options.long_from else []),
            *own,
        ], ""
    request = {"peer": name, "rows": [row["theirs"] for row in rows], "workers": options.workers, "timeout": 6}
    return jailed(options.peers, sys.executable, "-c", MEASURE), json.dumps(request)


def measured(arguments: list[str], given: str) -> tuple[float, float]:
    """CPU and wall seconds of a command that `MEASURE` runs."""
    began = time.perf_counter()
    done = subprocess.run(arguments, input=given, text=True, check=True, stdout=subprocess.PIPE)
    return float(done.stdout), time.perf_counter() - began


if __name__ == "__main__":
    main()
