"""What `truegrade data build repository` makes of packages: how much it keeps, how strong it is, and seconds.

    python -m bench repositories [PATH|PACKAGE|NAME==VERSION...] [--seed 0] [--workers 2]

NAME==VERSION is an sdist that pip downloads; without any, those of `PINNED` are. Tests run with the packages that
are installed here. Prints for each: functions seen, reached by tests, rows of each kind (tier `outside` + tier
`own-tests`, where it has tiers), the mean share of mutants that problems of kind *write* refuse in either tier,
and seconds with the run of the tests; then, of all together, what was left out of kind *write* and why.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections import Counter
from functools import partial
from pathlib import Path
from statistics import mean
from typing import Any

TIERS = ("outside", "own-tests")
PINNED = (
    *("inflection==0.5.1", "tabulate==0.9.0", "webcolors==24.11.1", "isodate==0.7.2", "idna==3.10"),
    *("jmespath==1.0.1", "toolz==1.0.0", "parse==1.20.2", "num2words==0.5.14", "cachetools==5.5.2"),
)
"""Small packages of the index whose sdists hold their tests, and which need no other package."""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repositories", nargs="*", default=PINNED)
    parser.add_argument("--seed", default="0")
    parser.add_argument("--workers", default="2")
    asked = parser.parse_args()
    print("| package | functions | reached | write | repair | complete | predict | strength | seconds |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    left_out: Counter[str] = Counter()
    for repository in asked.repositories:
        with tempfile.TemporaryDirectory() as folder:
            path = _sdist(repository, folder) if "==" in repository else repository
            began = time.perf_counter()
            told, strengths = _built(path, asked.seed, asked.workers)
            took = time.perf_counter() - began
        strength = " + ".join(f"{mean(strengths[tier]):.2f}" if strengths[tier] else "-" for tier in TIERS)
        name = f"{told['repository']['name']} {told['repository']['version']}".strip()
        cells = [
            name,
            told["functions"],
            told["reached"],
            *map(partial(_count, told), told["rows"]),
            strength,
            f"{took:.0f}",
        ]
        print(f"| {' | '.join(map(str, cells))} |", flush=True)
        left_out.update(one["why"].partition(": ")[0] for one in told["left_out"] if one["kind"] == "write")
    for why, count in left_out.most_common():
        print(f"{count:>6} {why}")


def _sdist(package: str, folder: str) -> str:
    """Path of an sdist that pip has downloaded into a folder."""
    options = ["--quiet", "--no-deps", "--no-binary", ":all:", "--dest", folder]
    subprocess.run([sys.executable, "-m", "pip", "download", *options, package], check=True)
    return str(next(Path(folder).iterdir()))


def _count(told: dict[str, Any], kind: str) -> str:
    """The rows of a kind, by tier where they have one."""
    tiers = told["tiers"].get(kind)
    return " + ".join(str(tiers.get(tier, 0)) for tier in TIERS) if tiers else str(told["rows"][kind])


def _built(repository: str, seed: str, workers: str) -> tuple[dict[str, Any], dict[str, list[float]]]:
    """What the command tells, and by tier the strength of each problem of kind *write*."""
    with tempfile.TemporaryDirectory() as place:
        command = [sys.executable, "-m", "truegrade", "data", "build", "repository", repository, "--out", place]
        options = ["--seed", seed, "--workers", workers, "--json"]
        done = subprocess.run([*command, *options], stdout=subprocess.PIPE, check=False)
        told = json.loads(done.stdout)
        file = Path(place) / "write.jsonl"
        rows = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
    tags = [row["tags"] for row in rows]
    return told, {tier: [float(one["strength"]) for one in tags if one["tier"] == tier] for tier in TIERS}
