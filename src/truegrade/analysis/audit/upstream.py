"""Does a published row ask the question that the benchmark asks? Its fields against the benchmark's, by hash."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any, Literal

import msgspec

from truegrade.records import (
    CasesTask,
    ChoiceTask,
    ContestTask,
    FunctionTask,
    InputTask,
    OracleTask,
    OutputTask,
    Problem,
)

Part = Literal["prompt", "test", "reference"]


class FieldDifference(msgspec.Struct, frozen=True, kw_only=True):
    """A field of a row that is not the benchmark's."""

    problem_id: str
    part: Part
    field: str
    found_sha256: str
    upstream_sha256: str
    only_blanks: bool
    """Nothing but white space differs."""


def differences(fields: Mapping[str, Any], problem: Problem) -> Iterator[FieldDifference]:
    """Compare the fields that a row shares with the benchmark; what it lacks is passed over.

    A prompt that holds the benchmark's whole prompt is a wording around it, not a change of it.
    """
    for part, field, upstream in _upstream(problem):
        found = as_text(fields.get(field))
        if part == "reference" and field == "code" and "test_list" not in fields:
            continue
        if found is None or found == upstream or _says_more(part, found, upstream):
            continue
        yield FieldDifference(
            problem_id=problem.id,
            part=part,
            field=field,
            found_sha256=_sha256(found),
            upstream_sha256=_sha256(upstream),
            only_blanks=found.split() == upstream.split(),
        )


def _upstream(problem: Problem) -> Iterator[tuple[Part, str, str]]:
    """What upstream stores under the names that published files keep."""
    task = problem.task
    if isinstance(task, OutputTask | InputTask):
        yield "prompt", "code", task.program
        return
    if isinstance(task, ContestTask):
        yield "prompt", "question_content", task.question
        return
    if isinstance(task, ChoiceTask):
        yield "prompt", "code", task.programs["AB".index(task.original)]
        return
    if isinstance(task, CasesTask):
        yield "prompt", "buggy", task.buggy
        yield "reference", "correct", task.reference
        return
    yield "prompt", "prompt", task.prompt
    yield "reference", "entry_point", task.entry_point
    yield "reference", "canonical_solution", task.reference.removeprefix(task.prefix)
    if isinstance(task, FunctionTask):
        yield "test", "test", task.tests.removesuffix(f"\ncheck({task.entry_point})")
        yield from _asserts(task)
    elif isinstance(task, OracleTask) and task.shown_tests:
        yield "test", "test_list", "\n".join(task.shown_tests)


def _asserts(task: FunctionTask) -> Iterator[tuple[Part, str, str]]:
    """The fields of MBPP, whose tests are a list of statements."""
    if task.shown_tests:
        yield "test", "test_list", "\n".join(task.shown_tests)
        yield "test", "test_imports", task.setup
        yield "test", "test_setup_code", task.setup
        # Elsewhere `code` is the program that a model wrote; beside the tests it is the data set's own.
        yield "reference", "code", task.reference
        yield "prompt", "text", task.prompt


def as_text(value: Any) -> str | None:
    """A field as one text; a list of statements as lines. None where it holds neither."""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return "\n".join(value)
    return None


def _says_more(part: Part, found: str, upstream: str) -> bool:
    return part == "prompt" and bool(upstream.strip()) and upstream.strip() in found


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
