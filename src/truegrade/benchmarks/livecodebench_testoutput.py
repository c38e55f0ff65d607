"""LiveCodeBench's test output prediction: from a problem in words and an input, predict the output.

Rows as LiveCodeBench/LiveCodeBench@28fef95 lcb_runner/benchmarks/test_output_prediction.py reads them (the data
set livecodebench/test_generation), as JSON Lines or a JSON array. The input's lines are the arguments; the output
is JSON (evaluation/compute_test_output_prediction_metrics.py), kept here as the Python literal of the same value.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping
from pathlib import Path

import msgspec

from truegrade.benchmarks.base import Benchmark, BenchmarkSpec
from truegrade.benchmarks.execution_cases import refuse_repeated
from truegrade.benchmarks.pinned import check_arguments, in_window
from truegrade.datasets import parse_rows
from truegrade.datasets.sources import UNPINNED, read_content, sha256
from truegrade.errors import BadRecord, DataMissing
from truegrade.extraction.parsing import Fault, Parser
from truegrade.files.json_text import UNREADABLE
from truegrade.records import OutputTask, Problem
from truegrade.statistics.windows import FILTERS

NAME = "livecodebench-testoutput"

ARGUMENTS = {name: meaning for name, meaning in FILTERS.items() if name != "platform"}
"""Rows of this set name no platform."""


class ShownTest(msgspec.Struct, frozen=True):
    """One test; a row's first is asked about."""

    input: str
    """One argument a line, as JSON."""
    output: str
    """JSON."""


class TestOutputRow(msgspec.Struct, frozen=True):
    """A row as upstream stores it; fields that neither prompt nor grader needs are left out."""

    question_id: str | int
    question_content: str
    starter_code: str
    function_name: str
    test: str | tuple[ShownTest, ...]
    """A list of tests, or the same as JSON text."""
    test_id: int | str | None = None
    contest_id: str | None = None
    contest_date: str | None = None
    difficulty: str | None = None


def load(data: Path | None, args: Mapping[str, str]) -> Benchmark:
    """Read the user's copy of the set; ids are ``QUESTION/testN``.

    Raises:
        UserError: no file is given, or an argument is.
        BadRecord: a row is not of the schema, holds no test, or shares its ids with another.
    """
    check_arguments(NAME, args, ARGUMENTS)
    if data is None:
        raise DataMissing(f"{NAME} {UNPINNED[NAME]}")
    content = read_content(data)
    digest = sha256(content)
    problems = tuple([_problem(data, row, digest) for row in parse_rows(data, content, TestOutputRow)])
    refuse_repeated(data, (problem.id for problem in problems), "test")
    chosen = in_window(data, problems, args)
    return Benchmark(name=NAME, problems=chosen, dataset_sha256=digest, source=str(data), args=dict(args))


def _problem(path: Path, row: TestOutputRow, digest: str) -> Problem:
    test = _first_test(path, row)
    facts = {name: getattr(row, name) for name in ("contest_id", "contest_date", "difficulty")}
    return Problem(
        id=f"{row.question_id}/test{0 if row.test_id is None else row.test_id}",
        benchmark=NAME,
        dataset_sha256=digest,
        cluster=str(row.question_id),
        task=OutputTask(
            program=row.starter_code,
            function=_function_of(row),
            arguments=", ".join(test.input.split("\n")),
            expected=_python(path, row, test.output),
            question=row.question_content,
        ),
        tags={name: str(value) for name, value in facts.items() if value is not None},
    )


def _first_test(path: Path, row: TestOutputRow) -> ShownTest:
    try:
        tests = msgspec.json.decode(row.test, type=list[ShownTest]) if isinstance(row.test, str) else row.test
    except UNREADABLE as error:
        raise BadRecord(path, f"question {row.question_id!r}: {error}", field="test") from None
    if not tests:
        raise BadRecord(path, f"question {row.question_id!r} has no test", field="test")
    return tests[0]


def _function_of(row: TestOutputRow) -> str:
    """The one function of the starter code, as the official prompt takes it; else the row's ``function_name``."""
    tree = Parser().module(row.starter_code)
    names = [] if isinstance(tree, Fault) else [n.name for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)]
    return names[0] if len(names) == 1 else row.function_name


def _python(path: Path, row: TestOutputRow, output: str) -> str:
    """The literal of a JSON value."""
    try:
        return repr(json.loads(output))
    except (ValueError, RecursionError):
        problem = f"question {row.question_id!r}: the output {output[:80]!r} is no JSON"
        raise BadRecord(path, problem, field="test.output") from None


LIVECODEBENCH_TESTOUTPUT = BenchmarkSpec(
    name=NAME,
    summary="Read a contest problem in words and an input; predict the output.",
    tasks="test_output_prediction",
    size=None,
    licence="see livecodebench/test_generation",
    citation="Jain et al., LiveCodeBench: Holistic and Contamination Free Evaluation of Large Language Models for"
    " Code, arXiv:2403.07974",
    load=load,
    args=ARGUMENTS,
    filters=tuple(ARGUMENTS),
)
