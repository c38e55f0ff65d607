"""What a writer of another harness' files is given, and what it is."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import IO, Any

import msgspec

from truegrade.files.json_text import encode
from truegrade.records import Answer, Completion, Problem, Prompt, Reason, Verdict
from truegrade.store.manifest import Manifest


class Exported(msgspec.Struct, frozen=True, kw_only=True):
    """One sample with everything that a format may ask for."""

    problem: Problem
    completion: Completion
    answer: Answer
    """What the profile took out of the completion."""
    kept: str
    """What the profile's own harness would have written down of it."""
    reused: bool = False
    """Taken over from a file, not asked for."""
    reason: Reason | None = None
    """Of the profile's verdict; None where there is none, or the format needs none."""
    base_reason: Reason | None = None
    """Of the verdict on the base tests alone, on the plus sets."""
    harness: dict[str, Any] | None = None
    """What the profile's own harness would have written of the grading; None where the verdict holds nothing."""
    verdict: Verdict | None = None
    """The whole verdict, where the format needs verdicts and there is one."""
    prompt: Prompt | None = None
    """What the problem was asked with; None for imported completions, and where the format needs no verdicts."""
    run: Manifest | None = None
    """What the run was."""


class Exporter(msgspec.Struct, frozen=True, kw_only=True):
    """One file format."""

    name: str
    summary: str
    """One line: who reads it."""
    file: str
    """Name of the file in the run's folder."""
    covers: tuple[str, ...]
    """Benchmarks that its readers know; empty for readers that know none, or any."""
    profile: str = "strict"
    """Whose rule takes the answers out, unless told otherwise."""
    verdicts: bool = False
    """Whether it needs graded samples."""
    write: Callable[[Iterable[Exported], Mapping[str, Problem], IO[bytes]], None]
    """``write(samples, problems, file)``: samples arrive in the run's order, problems are in the data set's."""


def write_line(file: IO[bytes], row: Mapping[str, Any]) -> None:
    """One JSON object and a newline."""
    file.write(encode(row) + b"\n")


def by_problem(
    samples: Iterable[Exported], problems: Mapping[str, Problem]
) -> Iterator[tuple[Problem, list[Exported]]]:
    """Samples of each problem in order of their number, problems in the data set's order, empty ones included."""
    found: dict[str, list[Exported]] = defaultdict(list)
    for sample in samples:
        found[sample.problem.id].append(sample)
    for key, problem in problems.items():
        yield problem, sorted(found.get(key, ()), key=lambda item: item.completion.sample)
