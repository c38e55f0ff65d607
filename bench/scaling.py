"""What a verdict costs, in CPU of each part and in bytes, and what a billion of them a day would then need.

    python -m bench scaling HumanEval.jsonl.gz [--sizes 82 164 328] [--ray] [--per-day 1e9] [--busy 0.7]

Every size is a run of right and wrong programs, graded anew under `strict`. Costs are the slopes of straight lines
fitted over the sizes, so that what a run pays once (starting, the report of the data set) is left out:

- ``sample``: CPU of the process tree for one verdict on this machine: supervisor, jail, program, judge;
- ``supervisor``: the part of it in the supervising Python process, which holds its interpreter's lock: its inverse
  is the most that one process can supervise, however many cores it has;
- ``driver``: CPU of the process that reads completions, skips what is graded and writes verdicts, by a grader that
  only hands over verdicts made before: the part that no further machine takes away;
- ``ray driver``: the same with batches handed to actors and verdicts taken back (``--ray``: one core, this one);
- ``stored``: bytes of a verdict and of its completion, as written and compressed with zlib.

CPU is measured, because wall time on a shared machine is the other users'. ``docs/service.md`` has the result.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
import zlib
from collections.abc import Callable, Generator, Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

import truegrade
from bench.rounds import ended_cpu_s
from truegrade.benchmarks import load_benchmark
from truegrade.pipeline.grade import Grader, LocalGrader, grade_run
from truegrade.pipeline.importing import import_file, opened
from truegrade.profiles import Profile, open_profile
from truegrade.records import Completion, Problem, SampleKey, Verdict
from truegrade.settings import Silent
from truegrade.store.importers import find_format

DAY_S = 86_400


class Ready:
    """A grader that has every verdict already: what is left is the driver's work."""

    def __init__(self, known: Iterable[Verdict]) -> None:
        self._known: dict[SampleKey, Verdict] = {verdict.key: verdict for verdict in known}

    def verdicts(
        self, completions: Iterable[Completion], problems: Mapping[str, Problem], profile: Profile
    ) -> Generator[Verdict, None, None]:
        """Hand over what is known."""
        for completion in completions:
            yield self._known[completion.key]

    def close(self) -> None:
        """Nothing is held."""


class Cost(NamedTuple):
    """CPU seconds of one grading."""

    own_s: float
    """Of this process."""
    below_s: float
    """Of processes below it that have ended."""


def main() -> None:
    """Measure and print."""
    options = _options()
    with tempfile.TemporaryDirectory(prefix="truegrade-scaling-") as folder:
        measured = measure(options.problems, sorted(options.sizes), Path(folder), ray=options.ray)
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.0f}; costs a verdict, fitted over {options.sizes}")
    for name, value in measured.items():
        print(f"  {name:24} {value:10.3f} {'bytes' if 'bytes' in name else 'ms of CPU'}")
    print(f"{options.per_day:.0e} verdicts a day at {options.busy:.0%} use of each core")
    for name, number in needs(measured, options.per_day, options.busy).items():
        print(f"  {name:24} {number:12,.1f}")


def measure(data: Path, sizes: list[int], folder: Path, *, ray: bool) -> dict[str, float]:
    """Milliseconds of CPU, and bytes, of one verdict."""
    seen: dict[str, list[float]] = {}
    for size in sizes:
        run, problems = _run(data, size, folder)

        def graded(grader: Grader, run=run, problems=problems) -> Cost:  # noqa: ANN001
            run.verdicts_path(open_profile("strict").id).unlink(missing_ok=True)
            return _cost(lambda: _grade(run, problems, grader))

        local = graded(LocalGrader(len(os.sched_getaffinity(0)), allow_unsafe=True))
        seen.setdefault("sample", []).append(local.own_s + local.below_s)
        seen.setdefault("supervisor", []).append(local.own_s)
        seen.setdefault("driver", []).append(graded(Ready(list(run.verdicts("strict")))).own_s)
        if ray:
            from truegrade.apps.ray.crew import RayGrader

            seen.setdefault("ray driver", []).append(_warm(RayGrader(workers=1, allow_unsafe=True), graded))
    fitted = {name: 1e3 * float(np.polyfit(sizes, totals, 1)[0]) for name, totals in seen.items()}
    return fitted | _stored(run)


def _warm(grader: Grader, graded: Callable[[Grader], Cost]) -> float:
    """CPU seconds of the second of two gradings: the first starts the cluster."""
    try:
        graded(grader)
        return graded(grader).own_s
    finally:
        grader.close()


def _cost(work: Callable[[], None]) -> Cost:
    own_s, below_s = time.process_time(), ended_cpu_s()
    work()
    return Cost(time.process_time() - own_s, ended_cpu_s() - below_s)


def _grade(run: truegrade.Run, problems: Mapping[str, Problem], grader: Grader) -> None:
    grade_run(run, problems, open_profile("strict"), progress=Silent(), grader=grader)


def _run(data: Path, size: int, folder: Path) -> tuple[truegrade.Run, Mapping[str, Problem]]:
    """A run of so many programs, right and wrong in turn."""
    benchmark = load_benchmark("humaneval", data)
    file = folder / f"{size}.jsonl"
    with file.open("w") as lines:
        for number in range(size):
            problem = benchmark.problems[number % len(benchmark.problems)]
            right = problem.task.reference  # type: ignore[union-attr]
            program = right if number % 2 else right.replace("return", "return 7 or", 1)
            lines.write(json.dumps({"task_id": problem.id, "solution": program}) + "\n")
    with opened(file) as source:
        importer = find_format(source, None)
        place = folder / f"run-{size}"
        run = import_file(source, importer, benchmark, None, out=place, progress=Silent(), notice=print)
    return run, benchmark.by_id()


def _stored(run: truegrade.Run) -> dict[str, float]:
    """Bytes on disk of one verdict and one completion."""
    verdicts = run.verdicts_path(open_profile("strict").id).read_bytes()
    completions = run.completions_path.read_bytes()
    count = verdicts.count(b"\n")
    sizes = {"verdict": verdicts, "completion": completions}
    plain = {f"{name} bytes": len(content) / count for name, content in sizes.items()}
    return plain | {f"{name} bytes, zlib": len(zlib.compress(content)) / count for name, content in sizes.items()}


def needs(cost: Mapping[str, float], per_day: float, busy: float) -> dict[str, float]:
    """What so many verdicts a day take, if costs stay as they are and a core is used for ``busy`` of its time."""
    rate = per_day / DAY_S
    driver = cost.get("ray driver", cost["driver"])
    cores, drivers = (rate * ms / 1e3 / busy for ms in (cost["sample"], driver))
    return {
        "verdicts/s": rate,
        "cores that grade": cores,
        "nodes of 64 cores": cores / 64,
        "drivers (shards)": drivers,
        "verdicts/s of a driver": busy * 1e3 / driver,
        "verdicts/s of a supervisor": 1e3 / cost["supervisor"],
        "GB of verdicts a day": per_day * cost["verdict bytes"] / 1e9,
        "GB of both, compressed": per_day * (cost["verdict bytes, zlib"] + cost["completion bytes, zlib"]) / 1e9,
        "MB/s written": rate * cost["verdict bytes"] / 1e6,
    }


def _options() -> argparse.Namespace:
    assert __doc__ is not None
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("problems", type=Path, help="HumanEval.jsonl.gz, or a folder that holds it")
    parser.add_argument("--sizes", type=int, nargs="+", default=[82, 164, 328])
    parser.add_argument("--ray", action="store_true", help="measure a driver of Ray too")
    parser.add_argument("--per-day", type=float, default=1e9)
    parser.add_argument("--busy", type=float, default=0.7)
    return parser.parse_args()
