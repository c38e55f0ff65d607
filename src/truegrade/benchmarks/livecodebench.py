"""LiveCodeBench: contest problems to solve, code to execute, outputs of tests to predict."""

from __future__ import annotations

import ast
import json
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path

import msgspec

from truegrade.benchmarks.base import Benchmark, BenchmarkSpec, check_arguments, flag, in_window, outside
from truegrade.benchmarks.execution_tasks import arguments_of, refuse_repeated
from truegrade.datasets import parse_rows
from truegrade.datasets.download import UNPINNED, read_content, sha256
from truegrade.datasets.rows import ContestRow, Row, read_contest_rows, select_files
from truegrade.errors import BadRecord, DataMissing, UserError
from truegrade.extraction.parsing import Fault, Parser
from truegrade.files.json_text import UNREADABLE
from truegrade.grading.contests.tests import public_kinds
from truegrade.records import ContestTask, OutputTask, Problem
from truegrade.statistics.windows import FILTERS, check_window, inside

# ----------------------------------------------------------------------------------------------------------------
# LiveCodeBench's code generation: contest problems worded by their starter code and graded by their func_name.
# LiveCodeBench/LiveCodeBench@28fef95 ``lcb_runner/benchmarks/code_generation.py``: problems sorted by
# ``question_id``, a window of dates that includes both ends at midnight, ``func_name`` of the metadata deciding
# the kind of grading. Jain et al., arXiv:2403.07974.

NAME = "livecodebench"

ARGUMENTS = {
    "release": "release_v1 ... release_v6, release_latest, v5, v4_v5: which of upstream's files (default: all)",
    **FILTERS,
    "allow_modified": "true: take a release with another number of problems than upstream's (default false)",
}


def load_generation(data: Path | None, args: Mapping[str, str]) -> Benchmark:
    """Read the user's copy of the set.

    Raises:
        UserError: no data are given, files are missing, an argument is at fault, or nothing is left.
        BadRecord: a row is not of the schema, or two share an id.
    """
    check_arguments(NAME, args, ARGUMENTS)
    if data is None:
        raise DataMissing(f"{NAME} {UNPINNED[NAME]}")
    data = data.expanduser()
    window = {name: value for name, value in args.items() if name in FILTERS}
    check_window(window)
    chosen = select_files(data, args.get("release"))
    read = read_contest_rows(chosen.paths)
    modified = None
    if chosen.release is not None and len(read.rows) != chosen.release.problems:
        modified = f"holds {len(read.rows)} problems where the release has {chosen.release.problems}"
    if modified and not flag(args, "allow_modified"):
        advice = "get the files again, or pass `task_args` allow_modified=true to use them as they are"
        raise BadRecord(data, f"{modified}; {advice}")
    refuse_repeated(data, (str(row.question_id) for row in read.rows), "row")
    dated = (_dated(data, row) for row in read.rows)
    rows = sorted((row for row in dated if inside(_tags(row), window)), key=lambda row: str(row.question_id))
    if not rows:
        raise UserError(f"{data}: none of its {len(read.rows)} problems fits the arguments; widen the window")
    return Benchmark(
        name=NAME,
        problems=tuple([_generation_problem(data, row, read.dataset_sha256) for row in rows]),
        dataset_sha256=read.dataset_sha256,
        source=read.source,
        modified=f"{data.name} {modified}" if modified else None,
        left_out=outside(
            (str(row.question_id) for row in rows), (str(row.question_id) for row in read.rows), args, FILTERS
        ),
        args=dict(args),
    )


def _dated(path: Path, row: ContestRow) -> ContestRow:
    """The row, if its date is one."""
    try:
        datetime.fromisoformat(row.contest_date)
    except ValueError:
        raise BadRecord(
            path, f"question {row.question_id!r}: no date: {row.contest_date!r}", field="contest_date"
        ) from None
    return row


def _generation_problem(path: Path, row: ContestRow, digest: str) -> Problem:
    task = ContestTask(
        title=row.question_title,
        question=row.question_content,
        starter_code=row.starter_code or "",
        function=_function(path, row),
        public_tests=row.public_test_cases,
        private_tests=row.private_test_cases,
    )
    tags = _tags(row)
    tags["kind"] = "stdin" if task.function is None else "functional"
    if disagreement := _disagreement(task):
        tags["disagreement"] = disagreement
    name = str(row.question_id)
    return Problem(id=name, benchmark=NAME, dataset_sha256=digest, cluster=name, task=task, tags=tags)


def _tags(row: ContestRow) -> dict[str, str]:
    return {name: getattr(row, name) for name in ("platform", "difficulty", "contest_id", "contest_date")}


def _function(path: Path, row: ContestRow) -> str | None:
    """``func_name`` of the metadata."""
    place = f"question {row.question_id!r}"
    try:
        metadata = json.loads(row.metadata)
    except (ValueError, RecursionError):
        raise BadRecord(
            path, f"{place}: the metadata are no JSON; get the data set again", field="metadata"
        ) from None
    name = metadata.get("func_name") if isinstance(metadata, dict) else metadata
    if not isinstance(metadata, dict) or not (name is None or isinstance(name, str)):
        raise BadRecord(path, f"{place}: expected an object whose func_name is a text", field="metadata")
    return name


def _disagreement(task: ContestTask) -> str:
    """Where the wording, the grading and the tests' own word for their kind are not one; empty where they are.

    No harness notices: a model asked for a method is then graded on stdin, or the other way round.
    """
    kinds = [
        ("starter code", "functional" if task.starter_code else "stdin"),
        ("func_name", "stdin" if task.function is None else "functional"),
        *(("testtype", kind) for kind in sorted(public_kinds(task))),
    ]
    agree = len({kind for _, kind in kinds}) == 1
    return "" if agree else ", ".join(f"{name}: {kind}" for name, kind in kinds)


LIVECODEBENCH = BenchmarkSpec(
    name=NAME,
    summary="Solve a programming-contest problem: a program on stdin and stdout, or a method.",
    tasks="contest",
    size=None,
    licence="the contests' own; see livecodebench/code_generation_lite",
    citation="Jain et al., LiveCodeBench: Holistic and Contamination Free Evaluation of Large Language Models for"
    " Code, arXiv:2403.07974",
    load=load_generation,
    args=ARGUMENTS,
    filters=tuple(FILTERS),
)


# ------------- LiveCodeBench's code execution: predict what an accepted solution of a contest problem returns.
# Rows as LiveCodeBench/LiveCodeBench@28fef95 lcb_runner/benchmarks/code_execution.py reads them (the data set
# livecodebench/execution-v2), as JSON Lines or a JSON array. Jain et al., arXiv:2403.07974.

EXECUTION = "livecodebench-execution"

WITHOUT_PLATFORM = {name: meaning for name, meaning in FILTERS.items() if name != "platform"}
"""Arguments of the sets made of contests whose rows name no platform."""


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


def load_execution(data: Path | None, args: Mapping[str, str]) -> Benchmark:
    """Read the user's copy of the set.

    Raises:
        UserError: no file is given, or an argument is.
        BadRecord: a row is not of the schema, or two share an id.
    """
    return _load_rows(EXECUTION, data, args, ExecutionSample, _execution_problem, "row")


def _load_rows(
    name: str,
    data: Path | None,
    args: Mapping[str, str],
    schema: type[Row],
    problem_of: Callable[[Path, Row, str], Problem],
    each: str,
) -> Benchmark:
    check_arguments(name, args, WITHOUT_PLATFORM)
    if data is None:
        raise DataMissing(f"{name} {UNPINNED[name]}")
    content = read_content(data)
    digest = sha256(content)
    problems = [problem_of(data, row, digest) for row in parse_rows(data, content, schema)]
    refuse_repeated(data, (problem.id for problem in problems), each)
    chosen = in_window(data, problems, args)
    left_out = outside((each.id for each in chosen), (each.id for each in problems), args, FILTERS)
    return Benchmark(
        name=name, problems=chosen, dataset_sha256=digest, source=str(data), left_out=left_out, args=dict(args)
    )


def _execution_problem(path: Path, row: ExecutionSample, digest: str) -> Problem:
    facts = {name: getattr(row, name) for name in ("contest_id", "contest_date", "difficulty", "numsteps")}
    return Problem(
        id=row.id,
        benchmark=EXECUTION,
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
    name=EXECUTION,
    summary="Read a solution of a contest problem and a call; predict what it returns.",
    tasks="output_prediction",
    size=None,
    licence="see livecodebench/execution-v2",
    citation="Jain et al., LiveCodeBench: Holistic and Contamination Free Evaluation of Large Language Models for"
    " Code, arXiv:2403.07974",
    load=load_execution,
    args=WITHOUT_PLATFORM,
    filters=tuple(WITHOUT_PLATFORM),
)


# ----------- LiveCodeBench's test output prediction: from a problem in words and an input, predict the output.
# Rows as LiveCodeBench/LiveCodeBench@28fef95 lcb_runner/benchmarks/test_output_prediction.py reads them (the data
# set livecodebench/test_generation), as JSON Lines or a JSON array. The input's lines are the arguments; the
# output is JSON (evaluation/compute_test_output_prediction_metrics.py), kept here as the Python literal of the
# same value.

TEST_OUTPUT = "livecodebench-testoutput"


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


def load_test_output(data: Path | None, args: Mapping[str, str]) -> Benchmark:
    """Read the user's copy of the set; ids are ``QUESTION/testN``.

    Raises:
        UserError: no file is given, or an argument is.
        BadRecord: a row is not of the schema, holds no test, or shares its ids with another.
    """
    return _load_rows(TEST_OUTPUT, data, args, TestOutputRow, _test_output_problem, "test")


def _test_output_problem(path: Path, row: TestOutputRow, digest: str) -> Problem:
    test = _first_test(path, row)
    facts = {name: getattr(row, name) for name in ("contest_id", "contest_date", "difficulty")}
    return Problem(
        id=f"{row.question_id}/test{0 if row.test_id is None else row.test_id}",
        benchmark=TEST_OUTPUT,
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
    name=TEST_OUTPUT,
    summary="Read a contest problem in words and an input; predict the output.",
    tasks="test_output_prediction",
    size=None,
    licence="see livecodebench/test_generation",
    citation="Jain et al., LiveCodeBench: Holistic and Contamination Free Evaluation of Large Language Models for"
    " Code, arXiv:2403.07974",
    load=load_test_output,
    args=WITHOUT_PLATFORM,
    filters=tuple(WITHOUT_PLATFORM),
)
