"""Grading programs of known labels with a profile, a line a verdict; what is there is not graded again."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from truegrade.api import unsafe_allowed
from truegrade.pipeline.grade import LocalGrader
from truegrade.profiles import find_profile
from truegrade.records import Completion, Problem
from truegrade.statistics.intervals import cluster_interval


@dataclass(frozen=True, kw_only=True)
class Labelled:
    """A program that somebody labelled: a row of the file that `truegrade assay` takes as ``--labels``."""

    problem: str
    program: str
    label: str
    """``right`` or ``wrong``."""
    source: str

    @property
    def key(self) -> str:
        """Identity of the program."""
        return hashlib.sha256(json.dumps([self.problem, self.program]).encode()).hexdigest()[:16]


@dataclass(frozen=True, kw_only=True)
class Graded:
    """What a grader said of a program."""

    key: str
    """Of the `Labelled` program."""
    problem: str
    source: str
    label: str
    tests: str
    """Name of the tests: of the benchmark, or ``all`` and ``samples`` of a contest problem."""
    passed: bool
    reason: str
    detail: str
    cpu_s: float | None
    limit_s: float | None
    """CPU seconds of a test where not the profile's own."""


class Journal:
    """Verdicts in a file, appended one by one."""

    def __init__(self, path: Path) -> None:
        self._path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        self.found: dict[tuple[str, str, float | None], Graded] = {}
        for line in lines:
            try:
                one = Graded(**json.loads(line))
            except (ValueError, TypeError):  # a line that a kill cut
                continue
            self.found[one.key, one.tests, one.limit_s] = one

    def grade(
        self, rows: Sequence[Labelled], problems: dict[str, Problem], tests: str, *, profile: str = "strict",
        limit_s: float | None = None, workers: int = 2,
    ) -> list[Graded]:  # fmt: skip
        """The verdicts, in the order of the rows."""
        asked = [row for row in rows if (row.key, tests, limit_s) not in self.found]
        if asked:
            with self._path.open("a", encoding="utf-8") as file:
                for one in _verdicts(asked, problems, tests, profile, limit_s, workers):
                    file.write(json.dumps(asdict(one)) + "\n")
                    file.flush()
                    self.found[one.key, tests, limit_s] = one
        return [self.found[row.key, tests, limit_s] for row in rows]


def _verdicts(
    rows: Sequence[Labelled], problems: dict[str, Problem], tests: str, profile: str, limit_s: float | None,
    workers: int,
) -> Iterator[Graded]:  # fmt: skip
    rules = find_profile(profile, limit_s)
    completions = (
        Completion(
            benchmark=problems[row.problem].benchmark,
            dataset_sha256=problems[row.problem].dataset_sha256,
            problem_id=row.problem,
            sample=index,
            config_sha256="",
            prompt_sha256="",
            text=row.program,
            form="program",
            model=row.source,
        )
        for index, row in enumerate(rows)
    )
    grader = LocalGrader(workers, allow_unsafe=unsafe_allowed())
    try:
        for verdict in grader.verdicts(completions, problems, rules):
            row = rows[verdict.sample]
            yield Graded(
                key=row.key,
                problem=row.problem,
                source=row.source,
                label=row.label,
                tests=tests,
                passed=verdict.passed,
                reason=str(verdict.reason),
                detail=verdict.detail,
                cpu_s=verdict.cpu_s,
                limit_s=limit_s,
            )
    finally:
        grader.close()


def share(rows: Iterable[Graded]) -> str:
    """How many are accepted, with the interval clustered by problem."""
    by_problem: dict[str, list[bool]] = defaultdict(list)
    for row in rows:
        by_problem[row.problem].append(row.passed)
    counts = [len(each) for each in by_problem.values()]
    passed = [sum(each) for each in by_problem.values()]
    if not counts:
        return "none"
    interval = cluster_interval(passed, counts, list(by_problem), counts)
    bounds = "no interval"
    if interval.low is not None and interval.high is not None:
        bounds = f"[{interval.low:.1%}, {interval.high:.1%}]"
    return (
        f"{sum(passed):5} of {sum(counts):5}  {sum(passed) / sum(counts):6.1%}  {bounds:16}"
        f"  {len(counts)} problems"
    )


def write_rows(path: Path, rows: Iterable[object]) -> None:
    """JSON Lines."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8") as file:
        for row in rows:
            file.write(json.dumps(asdict(row) if isinstance(row, Labelled) else row) + "\n")
