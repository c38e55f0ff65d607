"""LiveCodeBench's code execution: predict what an accepted solution of a contest problem returns.

Rows as LiveCodeBench/LiveCodeBench@28fef95 lcb_runner/benchmarks/code_execution.py reads them (the data set
livecodebench/execution-v2), as JSON Lines or a JSON array. Jain et al., arXiv:2403.07974.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec

from truegrade.benchmarks.base import Benchmark, BenchmarkSpec
from truegrade.benchmarks.execution_cases import arguments_of, refuse_repeated
from truegrade.benchmarks.pinned import check_arguments, in_window
from truegrade.datasets import parse_rows
from truegrade.datasets.sources import UNPINNED, read_content, sha256
from truegrade.errors import DataMissing
from truegrade.records import OutputTask, Problem
from truegrade.statistics.windows import FILTERS

NAME = "livecodebench-execution"

ARGUMENTS = {name: meaning for name, meaning in FILTERS.items() if name != "platform"}
"""Rows of this set name no platform."""


class ExecutionSample(msgspec.Struct, frozen=True):
    """A row as upstream stores it; fields that neither prompt nor grader needs are left out."""

    id: str
    question_id: str | int
    function_name: str
    code: str
    input: str
    """The whole call."""
    output: str
    """``repr`` of what it returns."""
    contest_id: str | None = None
    contest_date: str | None = None
    difficulty: str | None = None
    numsteps: int | None = None
    """Interpreter steps that the call takes."""


def load(data: Path | None, args: Mapping[str, str]) -> Benchmark:
    """Read the user's copy of the set.

    Raises:
        UserError: no file is given, or an argument is.
        BadRecord: a row is not of the schema, or two share an id.
    """
    check_arguments(NAME, args, ARGUMENTS)
    if data is None:
        raise DataMissing(f"{NAME} {UNPINNED[NAME]}")
    content = read_content(data)
    rows = parse_rows(data, content, ExecutionSample)
    refuse_repeated(data, (row.id for row in rows), "row")
    digest = sha256(content)
    return Benchmark(
        name=NAME,
        problems=in_window(data, [_problem(row, digest) for row in rows], args),
        dataset_sha256=digest,
        source=str(data),
        args=dict(args),
    )


def _problem(row: ExecutionSample, digest: str) -> Problem:
    facts = {name: getattr(row, name) for name in ("contest_id", "contest_date", "difficulty", "numsteps")}
    return Problem(
        id=row.id,
        benchmark=NAME,
        dataset_sha256=digest,
        cluster=str(row.question_id),
        task=OutputTask(
            program=row.code,
            function=row.function_name,
            arguments=arguments_of(row.function_name, row.input),
            expected=row.output,
        ),
        tags={name: str(value) for name, value in facts.items() if value is not None},
    )


LIVECODEBENCH_EXECUTION = BenchmarkSpec(
    name=NAME,
    summary="Read a solution of a contest problem and a call; predict what it returns.",
    tasks="output_prediction",
    size=None,
    licence="see livecodebench/execution-v2",
    citation="Jain et al., LiveCodeBench: Holistic and Contamination Free Evaluation of Large Language Models for"
    " Code, arXiv:2403.07974",
    load=load,
    args=ARGUMENTS,
    filters=tuple(ARGUMENTS),
)
