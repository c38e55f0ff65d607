"""What `truegrade data build mine` makes of folders of Python: how much it keeps, and how many ways its calls go.

    python -m bench mining FOLDER... [--seed 0]

Prints for each folder: rows kept of functions seen, ways that the calls of a row go through its program (two calls
go the same way if they execute the same steps from line to line), rows all of whose calls go one way, rows that
`truegrade data mutate` finds a mutant of, and seconds.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import mean

from truegrade.builders.mutation.file import mutate_rows
from truegrade.builders.mutation.mutants import MutationOptions
from truegrade.builders.mutation.observing import Observer
from truegrade.datasets.executions import ExecutionRow, read_rows
from truegrade.sandbox import Limits, Sandbox


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--seed", default="0")
    asked = parser.parse_args()
    print("| code | kept of seen | ways of a row's calls | rows that go one way | mutants | seconds |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    with Sandbox(Limits(memory_bytes=1 << 30), 2, allow_unsafe=True) as sandbox:
        for folder in asked.folders:
            began = time.perf_counter()
            rows, seen = _mined(folder, asked.seed)
            took = time.perf_counter() - began
            ways = [_ways(row, sandbox) for row in rows]
            mutated = sum(
                bool(row.has_mutation) for row in mutate_rows(rows, MutationOptions(), sandbox, workers=2)
            )
            average = f"{mean(ways):.2f} of {len(rows[0].input)}" if rows else "-"
            cells = [folder.name, f"{len(rows)} of {seen}", average, ways.count(1), mutated, f"{took:.0f}"]
            print(f"| {' | '.join(map(str, cells))} |", flush=True)


def _mined(folder: Path, seed: str) -> tuple[list[ExecutionRow], int]:
    """Rows, and how many functions were looked at."""
    with tempfile.TemporaryDirectory() as place:
        out = Path(place) / "mine.jsonl"
        command = [sys.executable, "-m", "truegrade", "data", "build", "mine", str(folder), "--out", str(out)]
        done = subprocess.run([*command, "--seed", seed, "--json"], stdout=subprocess.PIPE, check=False)
        told = json.loads(done.stdout)
        rows = list(read_rows(out)) if told["rows"] else []
    return rows, told["rows"] + len(told["refused"])


def _ways(row: ExecutionRow, sandbox: Sandbox) -> int:
    seen = Observer(sandbox, row.input, MutationOptions()).alone(row.code, "lines")
    return len({case.arcs for case in seen.cases})
