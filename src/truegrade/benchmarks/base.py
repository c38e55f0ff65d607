"""What a benchmark is: a named, pinned data set read into problems."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from truegrade.records import Problem
from truegrade.registry import Origin


class Benchmark(msgspec.Struct, frozen=True, kw_only=True):
    """A data set, loaded: what a run iterates over."""

    name: str
    problems: tuple[Problem, ...]
    """In the data set's order."""
    dataset_sha256: str
    """Hash of the bytes read (uncompressed)."""
    source: str
    """Where the bytes came from, for the manifest: a local path or the pinned origin."""
    args: dict[str, str] = {}
    """Task arguments (``-T k=v``) in force."""
    modified: str | None = None
    """How the data differs from the pinned data, in words; None where it does not, or none is pinned."""
    origin: Origin | None = None
    """Where a benchmark that is not built in was found; filled in when it is loaded by name."""
    agent: str = ""
    """Name of the agent that must ask, where a question alone means nothing; else empty."""

    def by_id(self) -> Mapping[str, Problem]:
        """Problems by id."""
        return {problem.id: problem for problem in self.problems}


class BenchmarkSpec(msgspec.Struct, frozen=True, kw_only=True):
    """An entry of the table of benchmarks: what `truegrade benchmarks` prints, and how to load it."""

    name: str
    summary: str
    """One line for people."""
    tasks: str
    """Which kind of problem it holds (`truegrade.records.kinds`); where an argument decides, both: ``A or B``."""
    size: int | None
    """Number of problems; None where the user's file decides."""
    licence: str
    citation: str
    current: bool = True
    """Whether `truegrade benchmarks` lists it without ``--all``."""
    source: str | None = None
    """Name of the pinned data set it reads (`truegrade data list`); None if the user brings the file."""
    load: Callable[[Path | None, Mapping[str, str]], Benchmark]
    """``load(data, args)``: from ``data`` (a file, or a folder that holds it) or from the cache; the module
    refuses unknown ``args`` with UserError."""
    args: dict[str, str] = {}
    """Task arguments it takes, each with its meaning."""
    filters: tuple[str, ...] = ()
    """Those of ``args`` that only leave problems out, by their tags: what a run can be narrowed by afterwards
    (`truegrade.statistics.windows.FILTERS`)."""
