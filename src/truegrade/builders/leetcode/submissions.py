"""Submissions that the user has collected, in the shapes that collectors write.

A file is JSON, JSON Lines, or objects one after the other; a folder is read with all its ``.json`` and
``.jsonl`` files, in the order of their names. An object with ``code`` is a submission, one without is a
question, an object of objects a table of questions by id. What a submission lacks is taken from its question,
and a contest's number from a folder named like ``weekly-contest-431``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from truegrade.datasets.content import parse_json, read_content
from truegrade.errors import BadRecord, UserError
from truegrade.files.json_text import convert

_OTHER_NAMES = {
    "questionId": "question_id",
    "id": "submission_id",
    "submissionId": "submission_id",
    "sampleTestCase": "example",
    "exampleTestcases": "example",
    "example_test": "example",
    "contest": "contest_id",
    "language": "lang",
}
_CONTEST = re.compile(r"contest[-_ ]?(\d+)")


class LeetCodeSubmission(msgspec.Struct, frozen=True, kw_only=True):
    """One submission with what its question says."""

    question_id: str | int
    code: str
    example: str | None = None
    """The first example: one JSON value a line, one line a parameter."""
    submission_id: str | int | None = None
    contest_id: str | int | None = None
    difficulty: str | int | None = None
    lang: str = "python3"


def read_submissions(paths: Sequence[Path]) -> tuple[LeetCodeSubmission, ...]:
    """Every Python submission of files and folders, in order.

    Raises:
        BadRecord: names file, line and field.
        UserError: a path leads nowhere, or to no submission.
    """
    questions: dict[str, dict[str, Any]] = {}
    found: list[tuple[Path, int, dict[str, Any]]] = []
    for path in _files(paths):
        contest = _CONTEST.search(path.as_posix())
        given = {"contest_id": int(contest[1])} if contest else {}
        for line, value in _objects(path):
            fields = given | {_OTHER_NAMES.get(name, name): item for name, item in value.items()}
            if "code" in fields:
                found.append((path, line, fields))
            elif "question_id" in fields:
                questions.setdefault(str(fields["question_id"]), {}).update(fields)
    if not found:
        raise UserError(f"{', '.join(map(str, paths))}: no object with a field 'code'; see docs/datasets.md")
    submissions = [_submission(path, line, fields, questions) for path, line, fields in found]
    return tuple(submission for submission in submissions if submission.lang in {"python", "python3"})


def _files(paths: Sequence[Path]) -> Iterator[Path]:
    for path in paths:
        if not path.exists():
            raise UserError(f"{path}: no such file or folder; give the submissions you collected")
        if path.is_dir():
            yield from sorted(file for file in path.rglob("*") if file.suffix in {".json", ".jsonl"})
        else:
            yield path


def _objects(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    for line, value in parse_json(path, read_content(path)):
        if not isinstance(value, dict):
            raise BadRecord(
                path, "is no object; a submission has the fields question_id, code and example", line=line
            )
        table = [item for item in value.values() if isinstance(item, dict) and "question_id" in item]
        yield from ((line, item) for item in (table or [value]))


def _submission(
    path: Path, line: int, fields: dict[str, Any], questions: dict[str, dict[str, Any]]
) -> LeetCodeSubmission:
    known = {name: value for name, value in questions.get(str(fields.get("question_id")), {}).items() if value}
    try:
        return convert(known | fields, LeetCodeSubmission)
    except msgspec.ValidationError as error:
        raise BadRecord(path, f"no submission: {error}; see docs/datasets.md", line=line) from None
