"""Files of contest answers as they are published: problems, replies, programs and verdicts, without the tests.

LiveCodeBench/submissions@4d04b02 and every ``_eval_all.json`` of LiveCodeBench/LiveCodeBench@28fef95.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from truegrade.errors import BadRecord
from truegrade.extraction.contest_samples import shown_samples
from truegrade.records import ContestTask, Problem
from truegrade.store.importers.livecodebench_rows import AnswerRow, read_rows
from truegrade.store.importers.reading import json_document, typed


class Submitted(msgspec.Struct, frozen=True, kw_only=True):
    """One answer and what its file says of it."""

    problem_id: str
    sample: int
    code: str
    reply: str | None
    """What the program was cut out of; None where the file keeps programs alone."""
    graded: bool | None
    """The file's verdict; None where it holds none."""
    metadata: Mapping[str, Any] | None

    @property
    def name(self) -> str:
        """How findings name it."""
        return f"{self.problem_id}#{self.sample}"

    @property
    def output(self) -> str | None:
        """What it printed where it was judged wrong, as far as the metadata say."""
        value = (self.metadata or {}).get("output")
        return value if isinstance(value, str) else None


class _Worded(msgspec.Struct, frozen=True, kw_only=True):
    question_id: str | int
    question_content: str = ""
    question_title: str = ""
    starter_code: str | None = None


def read_submissions(path: Path) -> list[Submitted]:
    """Every answer of a file.

    Raises:
        BadRecord: not such a file; lists of one row differ in length.
    """
    return [item for place, row in read_rows(path) for item in _submitted(path, place, row)]


def problems_of(path: Path) -> dict[str, Problem]:
    """The stdin problems of a file with the samples that their statements show as their only tests.

    Functional problems are left out: a statement's samples name no method and follow no syntax.
    """
    found = {}
    for number, value in enumerate(typed(path, json_document(path), list[Any])):
        row = typed(path, value, _Worded, inside=f"[{number}]")
        samples = shown_samples(row.question_content)
        if row.starter_code or not samples:
            continue
        tests = [{"input": shown.input, "output": shown.output, "testtype": "stdin"} for shown in samples]
        task = ContestTask(
            title=row.question_title,
            question=row.question_content,
            public_tests=json.dumps(tests),
            private_tests="[]",
        )
        name = str(row.question_id)
        found[name] = Problem(id=name, benchmark="livecodebench", dataset_sha256="", cluster=name, task=task)
    return found


def public_only(problems: Mapping[str, Problem]) -> dict[str, Problem]:
    """Stdin problems of a benchmark with their public tests alone."""
    return {
        name: msgspec.structs.replace(problem, task=msgspec.structs.replace(problem.task, private_tests="[]"))
        for name, problem in problems.items()
        if isinstance(problem.task, ContestTask) and problem.task.function is None
    }


def _submitted(path: Path, place: str, row: AnswerRow) -> Iterator[Submitted]:
    codes, replies = row.programs, row.replies
    for name, items in (("output_list", replies), ("graded_list", row.graded_list), ("metadata", row.metadata)):
        if items and codes and len(items) != len(codes):
            problem = f"holds {len(items)} entries for {len(codes)} programs"
            raise BadRecord(path, problem, field=f"{place}.{name}")
    for sample, code in enumerate(codes):
        yield Submitted(
            problem_id=str(row.question_id),
            sample=sample,
            code=code,
            reply=replies[sample] if replies else None,
            graded=row.graded_list[sample] if row.graded_list else None,
            metadata=_decoded(row.metadata[sample]) if row.metadata else None,
        )


def _decoded(metadata: Any) -> Mapping[str, Any] | None:
    """Metadata as an object, whether stored as one or as its JSON text."""
    try:
        value = json.loads(metadata) if isinstance(metadata, str) else metadata
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
