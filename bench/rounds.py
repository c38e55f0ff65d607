"""The same work done in several ways, in turn, in one run: what each costs, and the ratios."""

from __future__ import annotations

import argparse
import os
import platform
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

from truegrade.sandbox.worker import cpu_s, descendants

ROOT = Path(__file__).parents[1]


class Cost(NamedTuple):
    """Seconds that some work took."""

    cpu_s: float
    """Of all processes that worked."""
    wall_s: float


Way = Callable[[], object]
"""Does the work once. What it returns is its `Cost` where only a part of what it does is to be counted."""


def parser(text: str | None, *, rounds: int, workers: int | None = 2) -> argparse.ArgumentParser:
    """A parser with what most measurements take."""
    made = argparse.ArgumentParser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--rounds", type=int, default=rounds)
    if workers is not None:
        made.add_argument("--workers", type=int, default=workers)
    return made


def ended_cpu_s() -> float:
    """CPU seconds of processes below this one that it waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def tree_cpu_s() -> float:
    """CPU seconds of this process, of what it waited for, and of all that lives below it."""
    return sum(os.times()[:4]) + cpu_s(descendants(os.getpid()))


def cost_of(way: Way) -> Cost:
    """What doing it once costs."""
    used, began = tree_cpu_s(), time.perf_counter()
    found = way()
    return found if isinstance(found, Cost) else Cost(tree_cpu_s() - used, time.perf_counter() - began)


def in_turn(ways: Mapping[str, Way], rounds: int, *, warm: bool = True) -> dict[str, list[Cost]]:
    """Do every way once a round.

    Args:
        ways: by name.
        rounds: how many are counted.
        warm: begin with one that is not, so that nobody's first start is.
    """
    costs: dict[str, list[Cost]] = {name: [] for name in ways}
    for number in range(-warm, rounds):
        for name, way in ways.items():
            cost = cost_of(way)
            if number >= 0:
                costs[name].append(cost)
    return costs


@contextmanager
def table(*packages: str) -> Iterator[None]:
    """Print the head of a table for `compare`, and below it under what was measured.

    Args:
        packages: those whose versions matter besides ours.
    """
    before = os.getloadavg()[0]
    print("| work | ours | peer | of | ours, ms | peer, ms | peer / ours |")
    print("| --- | --- | --- | --- | ---: | ---: | ---: |", flush=True)
    yield
    versions = [f"Python {platform.python_version()}", f"{platform.system()} {platform.release()}"]
    for name in ("truegrade", *packages):
        try:
            versions.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            versions.append(f"{name} not installed here")
    cores = len(os.sched_getaffinity(0))
    print(f"load {before:.1f} before, {os.getloadavg()[0]:.1f} after; {cores} cores; {', '.join(versions)}")


def compare(
    work: str, ways: Mapping[str, Way], rounds: int, *, amount: int = 1, ours: int = 1, warm: bool = True
) -> dict[str, list[Cost]]:
    """Work in every way in turn; print ms a unit and ratios, as median [least, most] of the rounds.

    Args:
        work: its name.
        ways: by name; ours come first.
        rounds: how many are counted.
        amount: units of the work, such as samples.
        ours: how many of the ways are ours; each is compared with every other way that is not.
        warm: as `in_turn` takes it.
    """
    costs = in_turn(ways, rounds, warm=warm)
    each = {name: [tuple(1e3 * s / amount for s in cost) for cost in found] for name, found in costs.items()}
    names = list(ways)
    for own, peer in product(names[:ours], names[ours:] or [""]):
        for place, measure in enumerate(("CPU", "wall")):
            mine, cells = [cost[place] for cost in each[own]], ["-", "-"]
            if peer:
                theirs = [cost[place] for cost in each[peer]]
                ratios = [b / a for a, b in zip(mine, theirs, strict=True) if a]
                cells = [_spread(theirs), _spread(ratios) if ratios else "-"]
            print(f"| {' | '.join((work, own, peer or '-', measure, _spread(mine), *cells))} |", flush=True)
    return costs


def _spread(values: Sequence[float]) -> str:
    middle, least, most = (f"{value:.3g}" if value < 100 else f"{value:.0f}"
                           for value in (statistics.median(values), min(values), max(values)))  # fmt: skip
    return f"{middle} [{least}, {most}]"


def command(*words: object, src: Path = ROOT / "src", **named: Any) -> subprocess.CompletedProcess[str]:
    """Run ``truegrade`` from a source tree, and stop where it fails.

    Args:
        words: what a user types behind it.
        src: the tree's ``src``.
        named: as `subprocess.run` takes them.
    """
    environment = os.environ | {"PYTHONPATH": str(src)} | named.pop("env", {})
    return run([sys.executable, "-m", "truegrade", *map(str, words)], env=environment, **named)


def run(words: Sequence[str], **named: Any) -> subprocess.CompletedProcess[str]:
    """Run a command; what it writes is shown where it fails.

    Raises:
        SystemExit: it fails.
    """
    done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, **named)
    if done.returncode:
        sys.exit(f"{' '.join(words)} failed:\n{(done.stdout + done.stderr)[-3000:]}")
    return done
