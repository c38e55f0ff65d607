"""CPU seconds of grading LiveCodeBench samples: ours, the official grader's, EvalScope's, and the programs' own.

    python -m bench livecodebench [--peers FOLDER] [--corpus completions|full|programs|all|long]
        [--kind both|functional|stdin] [--samples N] [--hanging PERCENT] [--workers 1] [--rounds 3]
        [--graders ours strict official ...]

The samples are those of the parity corpus: ``completions`` right and wrong programs for contest problems of five
tiny tests each, ``full`` the same with 15 tests of contest size besides, ``programs`` the awkward ones for one or
two. Those of ``full`` that run into the time limit are left out: one costs every grader 6 s, as much as a hundred
others. ``long`` are those of `long_samples.py`, all right, as functions and as programs that read and print: 20
tests and about 100 ms of CPU.

The first of the graders is compared with every other:

- ``ours`` (the profile `livecodebench`), ``strict``, ``official``, ``official-2025-01``, ``evalscope-2025-06``,
  ``evalscope``: of the grader's process and of all its children, everything that it starts included; of the first
  two, the jail too. Starting the grader and reading the data are taken off by a run with one sample.
- ``interpreter``: of the programs by themselves, in fresh processes of ``python FILE`` and without a grader, over
  the tests up to the one at which our verdict ends; a program that reads standard input is started for each test,
  a functional one once (`plain_processes.py`). The command that starts them is not counted. It is not protected,
  so it takes no awkward programs.
- ``forks``: the same over the tests up to the first that fails, each in a fork of one warm interpreter: the floor
  of a process a test (`forked_programs.py`).
- ``plain``: of the calls of the long ones in one warm process.

The last line, ``programs, own``, is the CPU of the samples' processes as our verdicts say: program and tests.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

PROFILES_FOLDER = Path(__file__).parents[1] / "tests" / "profiles"
sys.path.insert(0, str(PROFILES_FOLDER))

from livecodebench_corpus.awkward import CASES
from livecodebench_corpus.completions import ROWS
from livecodebench_peers import jailed, request_of
from livecodebench_rows import case_row, contest_problem, grade, problem_of, sample_of

from bench import forked_programs, plain_processes
from bench.long_samples import PROGRAMS, TESTS
from bench.rounds import Cost, compare, parser, table
from truegrade.grading.contests.driver import import_string
from truegrade.records import Problem, Reason

PEERS = ("official", "official-2025-01", "evalscope-2025-06", "evalscope")
OURS, STRICT, INTERPRETER, FORKS, PLAIN = "ours", "strict", "interpreter", "forks", "plain"
PROFILES = {OURS: "livecodebench", STRICT: "strict"}
CORPORA = ("completions", "full", "programs", "all", "long")
SIZES = (70, 40, 40, 80, 60, 35, 65, 40, 30, 90, 20, 50)
"""Of the long programs' inputs, in thousands: about 5 ms a call."""
ENDLESS = "while True:\n    pass\n"
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


@dataclass(frozen=True, kw_only=True)
class Row:
    """A program and its tests: as our profiles take them, and as the published graders do."""

    problem: Problem
    code: str
    sample: dict[str, Any]
    plain: tuple[str, list[tuple[int]]] | None = None
    """Of a long program: its function ``f``, and the arguments of its calls."""
    ran: int = 0
    """Tests up to the one at which our verdict ends."""


def main() -> None:
    """Measure and print."""
    given = parser(__doc__, rounds=3, workers=1)
    given.add_argument("--peers", type=Path, help="folder of checkouts, as the tests take it")
    given.add_argument("--corpus", choices=CORPORA, default="completions")
    given.add_argument("--kind", choices=("both", "functional", "stdin"), default="both",
                        help="programs that are called, or that read standard input")  # fmt: skip
    given.add_argument("--samples", type=int, help="so many, evenly from the corpus (default: all of it)")
    given.add_argument("--hanging", type=int, default=0, metavar="PERCENT",
                        help="put a program that never ends in the place of so many")  # fmt: skip
    given.add_argument("--graders", nargs="+", choices=(*PROFILES, INTERPRETER, FORKS, PLAIN, *PEERS),
                       default=(OURS, *PEERS), help="default: ours and the published ones")  # fmt: skip
    given.add_argument("--stored", type=Path, help=argparse.SUPPRESS)
    options = given.parse_args()
    if options.stored is not None:  # a process to be measured
        measure_me(options)
        return
    if not 0 <= options.hanging < 100:
        given.error("--hanging: a percentage from 0 to 99")
    if PLAIN in options.graders and options.corpus != "long":
        given.error("plain: only of --corpus long")
    if {INTERPRETER, FORKS} & set(options.graders) and (options.corpus in {"programs", "all"} or options.hanging):
        given.error(
            "interpreter, forks: they run programs without a jail or a limit, and some do harm or never end"
        )
    if options.peers is None and set(options.graders) & set(PEERS):
        given.error("the published graders: --peers names the folder of their checkouts")
    rows, own_s = judged(chosen(options), options)
    share = options.hanging
    rows = [  # never the first, which stands for the start
        replace(row, code=ENDLESS) if (index + 1) * share // 100 > index * share // 100 else row
        for index, row in enumerate(rows)
    ]
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file, table():
        json.dump(stored(rows), file)  # so that nobody is charged for drawing inputs and solving them
        file.flush()
        ways = {name: partial(cost, name, rows, Path(file.name), options) for name in options.graders}
        hanging = f", {options.hanging} % hanging" if options.hanging else ""
        work = f"{len(rows)} samples of {options.corpus}{hanging}, {options.workers} at a time"
        compare(work, ways, options.rounds, amount=len(rows), warm=False)
    print(f"programs, own: {1000 * own_s / len(rows):.1f} CPU ms a sample")


# -------------------------------------------------------------------------------------------------- samples


def chosen(options: argparse.Namespace) -> list[Row]:
    """The corpus, or so many of it."""
    corpus = options.corpus
    rows = long_rows(answered()) if corpus == "long" else []
    if corpus in {"completions", "full", "all"}:
        full = corpus == "full"
        rows += [Row(problem=contest_problem(problem, full), code=code, sample=sample_of(problem, full))
                 for _, problem, code, _ in ROWS]  # fmt: skip
    if corpus in {"programs", "all"}:
        rows += [Row(problem=case_row(case)[0], code=case.code, sample=case.sample) for case in CASES]
    if options.kind != "both":
        rows = [row for row in rows if (row.sample["fn_name"] is None) == (options.kind == "stdin")]
    count = len(rows) if options.samples is None else options.samples
    return [rows[index * len(rows) // count] for index in range(count)]


def judged(rows: Sequence[Row], options: argparse.Namespace) -> tuple[list[Row], float]:
    """The samples to measure with, and the CPU seconds of their processes as our verdicts say."""
    graded = grade("livecodebench", [(row.problem, row.code) for row in rows], options.workers)
    kept = [
        (replace(row, ran=min(len(verdict["results"]), len(row.sample["inputs"]))), verdict["judgement"].cpu_s)
        for row, verdict in zip(rows, graded, strict=True)
        if options.corpus != "full" or verdict["judgement"].reason is not Reason.TIME_LIMIT
    ]
    return [row for row, _ in kept], sum(cpu_s or 0.0 for _, cpu_s in kept)


def answered() -> list[tuple[str, list[tuple[int]], list[object]]]:
    """The long programs whose answers JSON holds, with their calls and answers."""
    every = [(program, calls, plain_calls(program, calls)) for program, calls in LONG]
    return [each for each in every if each[2] == json.loads(json.dumps(each[2]))]


def long_rows(loads: Sequence[tuple[str, list[tuple[int]], list[object]]]) -> list[Row]:
    """Each long program twice, as a function and as a program of its own."""
    rows = []
    for number, (program, calls, answers) in enumerate(loads):
        given, wanted = [str(n) for (n,) in calls], [json.dumps(answer) for answer in answers]
        tests = [{"input": n, "output": answer, "testtype": ""} for n, answer in zip(given, wanted, strict=True)]
        printing = f"{program}\nimport json\nprint(json.dumps(f(int(input()))))\n"
        for code, name in ((program, "f"), (printing, None)):
            problem = problem_of(f"long {number} {name}", json.dumps(tests), name)
            sample = {"inputs": given, "outputs": wanted, "fn_name": name}
            rows.append(Row(problem=problem, code=code, sample=sample, plain=(program, calls)))
    return rows


def plain_calls(program: str, calls: Sequence[Sequence[int]]) -> list[object]:
    """What the program's function returns, in this process."""
    namespace: dict[str, Any] = {}
    exec(program, namespace)
    return [namespace["f"](*given) for given in calls]


def stored(rows: Sequence[Row]) -> dict[str, list[Any]]:
    """What a process to be measured reads: each problem once, and the rows."""
    numbers = {task: number for number, task in enumerate(dict.fromkeys(row.problem.task for row in rows))}
    return {
        "tasks": [(task.title, task.public_tests, task.function) for task in numbers],
        "rows": [(numbers[row.problem.task], row.code, row.plain) for row in rows],
    }


# ------------------------------------------------------------------------------------------------ measuring


def cost(name: str, rows: Sequence[Row], file: Path, options: argparse.Namespace) -> Cost:
    """What the rows cost a grader, without its start."""
    if name == INTERPRETER:
        runs = [plain_processes.run_of(row.code, row.sample["fn_name"], row.sample["inputs"][: row.ran])
                for row in rows]  # fmt: skip
        return Cost(*plain_processes.measured(runs, options.workers))
    if name == FORKS:
        forked = [(row.code, *(row.sample[field] for field in ("fn_name", "inputs", "outputs"))) for row in rows]
        return Cost(*forked_programs.measured(import_string, forked, options.workers))
    one, all_of_them = (measured(*command(name, rows, count, file, options)) for count in (1, len(rows)))
    share = len(rows) / (len(rows) - 1)
    return Cost(*((many - few) * share for few, many in zip(one, all_of_them, strict=True)))


def command(
    name: str, rows: Sequence[Row], count: int, file: Path, options: argparse.Namespace
) -> tuple[list[str], str]:
    """What grades the first so many rows, and what it reads: in either case all of the data."""
    if name in {*PROFILES, PLAIN}:
        again = [
            sys.executable,
            "-m",
            "bench",
            "livecodebench",
            "--peers",
            "-",
            "--stored",
            str(file),
            "--samples",
            str(count),
        ]
        return [sys.executable, "-c", MEASURE, *again, "--workers", str(options.workers), "--graders", name], ""
    theirs = [{"code": row.code, "sample": row.sample} for row in rows]
    request = request_of(name, theirs, workers=options.workers)
    request["rows"] = request["rows"][:count]
    return jailed(options.peers, sys.executable, "-c", MEASURE), json.dumps(request)


def measure_me(options: argparse.Namespace) -> None:
    """Do to the stored rows what is to be measured."""
    found = json.loads(options.stored.read_text())
    rows = found["rows"][: options.samples]
    if options.graders == [PLAIN]:
        for _, _, (program, calls) in rows:
            plain_calls(program, calls)
        return
    problems = [problem_of(*task) for task in found["tasks"]]
    profile = PROFILES[options.graders[0]]
    grade(profile, [(problems[number], code) for number, code, _ in rows], options.workers)


def measured(arguments: list[str], given: str) -> tuple[float, float]:
    """CPU and wall seconds of a command that `MEASURE` runs."""
    began = time.perf_counter()
    done = subprocess.run(arguments, input=given, text=True, check=True, stdout=subprocess.PIPE)
    return float(done.stdout), time.perf_counter() - began
