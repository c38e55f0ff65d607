"""The files of hardened tests: a benchmark of ours, EvalPlus' form, what trainers read, and a manifest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from truegrade.assay.hardening.new_tests import value_of
from truegrade.assay.hardening.problem import HardenedProblem, HardeningOptions
from truegrade.assay.written_calls import read_call
from truegrade.errors import UserError
from truegrade.files.json_text import encode
from truegrade.records import CasesTask, FunctionTask, OracleTask, Problem, sha256_json
from truegrade.store.manifest import write_atomically

EVALPLUS, TRAINER, MANIFEST, CARD = ".evalplus.jsonl", ".trainer.jsonl", ".manifest.json", ".card.md"
"""Ends of the files beside the benchmark; they take the place of ``.jsonl``."""


def write_hardened(
    out: Path,
    benchmark: str,
    pairs: Sequence[tuple[Problem, Problem, HardenedProblem]],
    options: HardeningOptions,
    *,
    licence: str,
    source: Mapping[str, str],
) -> list[Path]:
    """Write every file, each in one step.

    Args:
        out: the benchmark, ``NAME.jsonl``; the others stand beside it.
        benchmark: name of the benchmark that was hardened.
        pairs: each problem before, after, and what was measured.
        options: what the tests were made with.
        licence: of the benchmark, carried along.
        source: name, hash and origin of its data.

    Returns:
        The files written. EvalPlus' form and the trainers' hold the problems that can be put so; the manifest
        says how many.
    """
    rows = [row for _, after, line in pairs if (row := _row(after, line)) is not None]
    evalplus = [row for before, _, line in pairs if (row := _evalplus(before, line)) is not None]
    trainer = [row for before, _, line in pairs if (row := _trainer(before, line)) is not None]
    manifest = {
        "benchmark": benchmark,
        "licence": licence,
        "source": dict(source),
        "options": options,
        "problems": len(pairs),
        "hardened": sum(bool(line.tests) for _, _, line in pairs),
        "rows": {"benchmark": len(rows), "evalplus": len(evalplus), "trainer": len(trainer)},
        "sha256": {},
        "lines": [line for _, _, line in pairs],
    }
    written = []
    for path, content in (
        (out, _lines(rows)),
        (_beside(out, EVALPLUS), _lines(evalplus)),
        (_beside(out, TRAINER), _lines(trainer)),
        (_beside(out, CARD), _card(benchmark, licence, source, manifest).encode()),
    ):
        write_atomically(path, content)
        manifest["sha256"][path.name] = sha256_json(content.decode())  # type: ignore[index]
        written.append(path)
    write_atomically(_beside(out, MANIFEST), encode(manifest, indent=2) + b"\n")
    return [*written, _beside(out, MANIFEST)]


def _row(problem: Problem, line: HardenedProblem) -> dict[str, Any] | None:
    """The hardened problem as a row of a benchmark of one's own (``docs/extend.md``)."""
    task = problem.task
    tags = {**problem.tags, "new_tests": str(len(line.tests))}
    if isinstance(task, FunctionTask):
        tests = f"{task.setup}\n{task.tests}" if task.setup else task.tests
        row = {
            "id": problem.id,
            "prompt": task.prompt,
            "tests": tests,
            "entry_point": task.entry_point,
            "reference": task.reference,
            "shown_tests": task.shown_tests,
            "tags": tags,
        }
        return {**row, "buggy": task.buggy} if task.buggy else row
    return None


def _evalplus(problem: Problem, line: HardenedProblem) -> dict[str, Any] | None:
    """A row as EvalPlus stores problems (evalplus/evalplus@26d6d00 ``evalplus/data/utils.py``).

    Inputs are JSON, so problems whose arguments JSON would change (tuples, sets) have none.
    """
    task = problem.task
    if not isinstance(task, FunctionTask | OracleTask) or line.comparator != "equal":
        return None
    inputs = [list(read_call(test.call)) for test in line.tests]
    if not all(map(_is_json, inputs)):
        return None
    prefix = task.prefix
    known = [list(each) for each in task.base_inputs] if isinstance(task, OracleTask) else []
    if not all(map(_is_json, known)):
        return None
    return {
        "task_id": problem.id,
        "prompt": task.prompt,
        "entry_point": task.entry_point,
        "canonical_solution": task.reference.removeprefix(prefix) if prefix else task.reference,
        "base_input": known,
        "plus_input": inputs,
        "contract": "",
        "atol": task.atol if isinstance(task, OracleTask) else 0,
    }


def _trainer(problem: Problem, line: HardenedProblem) -> dict[str, Any] | None:
    """The tests as trainers read them: of each call the arguments as lines of JSON, and the value as JSON."""
    task = problem.task
    if isinstance(task, FunctionTask | OracleTask | CasesTask) and line.tests:
        calls = [(list(read_call(test.call)), value_of(test.expected)) for test in line.tests]
        if all(_is_json([*arguments, value]) for arguments, value in calls):
            return {
                "task_id": problem.id,
                "inputs": ["\n".join(encode(each).decode() for each in arguments) for arguments, _ in calls],
                "outputs": [encode(value).decode() for _, value in calls],
                "fn_name": task.entry_point,
            }
    return None


def _is_json(value: Any) -> bool:
    """Whether a plain value comes back from JSON as it was."""
    if isinstance(value, list):
        return all(map(_is_json, value))
    if isinstance(value, dict):
        return all(type(key) is str and _is_json(item) for key, item in value.items())
    if isinstance(value, float):
        return value - value == 0  # neither infinite nor NaN
    return value is None or isinstance(value, str | bool | int)


def _card(benchmark: str, licence: str, source: Mapping[str, str], manifest: Mapping[str, Any]) -> str:
    """A dataset card for the hub."""
    return f"""---
license: other
license_name: {licence}
task_categories:
- text-generation
language:
- en
tags:
- code
---

# {benchmark}, hardened

The problems of {benchmark} with further tests, chosen by `truegrade assay harden` so that they refuse wrong
programs that the benchmark's own tests accept. {manifest["hardened"]} of {manifest["problems"]} problems have new
tests. Expected values are those of the benchmark's reference program; the manifest names for every test the
programs that it refuses, and what the tests gain on programs that were kept out of the choice.

Source: {", ".join(f"{name} {value}" for name, value in source.items())}. Licence of the source: {licence}.
"""


def _lines(rows: Sequence[Mapping[str, Any]]) -> bytes:
    return b"".join(encode(row) + b"\n" for row in rows)


def _beside(out: Path, ending: str) -> Path:
    """The file of that ending beside the benchmark."""
    if out.suffix != ".jsonl":
        raise UserError(f"`out` {out}: write a name that ends in .jsonl")
    return out.with_name(out.name.removesuffix(".jsonl") + ending)
