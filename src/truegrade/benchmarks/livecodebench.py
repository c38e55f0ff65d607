"""LiveCodeBench's code generation: contest problems worded by their starter code and graded by their func_name.

LiveCodeBench/LiveCodeBench@28fef95 ``lcb_runner/benchmarks/code_generation.py``: problems sorted by
``question_id``, a window of dates that includes both ends at midnight, ``func_name`` of the metadata deciding the
kind of grading. Jain et al., arXiv:2403.07974.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

from truegrade.benchmarks.base import Benchmark, BenchmarkSpec
from truegrade.benchmarks.execution_cases import refuse_repeated
from truegrade.benchmarks.pinned import check_arguments, flag
from truegrade.datasets.contest_rows import ContestRow, read_contest_rows, select_files
from truegrade.datasets.sources import UNPINNED
from truegrade.errors import BadRecord, DataMissing, UserError
from truegrade.grading.contests.tests import public_kinds
from truegrade.records import ContestTask, Problem
from truegrade.statistics.windows import FILTERS, check_window, inside

NAME = "livecodebench"

ARGUMENTS = {
    "release": "release_v1 ... release_v6, release_latest, v5, v4_v5: which of upstream's files (default: all)",
    **FILTERS,
    "allow_modified": "true: take a release with another number of problems than upstream's (default false)",
}


def load(data: Path | None, args: Mapping[str, str]) -> Benchmark:
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
        problems=tuple([_problem(data, row, read.dataset_sha256) for row in rows]),
        dataset_sha256=read.dataset_sha256,
        source=read.source,
        modified=f"{data.name} {modified}" if modified else None,
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


def _problem(path: Path, row: ContestRow, digest: str) -> Problem:
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
    load=load,
    args=ARGUMENTS,
    filters=tuple(FILTERS),
)
