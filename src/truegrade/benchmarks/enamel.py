"""ENAMEL: 142 problems of HumanEval with fast references, and inputs large enough to tell fast from slow.

Qiu et al., How efficient is LLM-generated code? A rigorous & high-standard benchmark, ICLR 2025, arXiv:2406.06647;
q-rz/enamel@b97da79 ``dataset/enamel.csv``.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Literal, cast

import msgspec

from truegrade.benchmarks.base import Benchmark, BenchmarkSpec
from truegrade.benchmarks.benchmark_args import ALLOW_MODIFIED, choice
from truegrade.benchmarks.pinned import Item, load_pinned
from truegrade.datasets import SOURCES
from truegrade.errors import UserError
from truegrade.records import EfficiencyTask

NAME = "enamel"
SEED = 998_244_353
"""``demo.py``, ``--seed``."""
LEFT_OUT = frozenset(
    {2, 23, 41, 45, 53, 60, 71, 92, 97, 99, 102, 123, 124, 135, 137, 138, 144, 148, 156, 157, 159, 160}
)
"""Rows of the file that are no problems of the benchmark (``enam/__init__.py``, ``PROBLEMSET``)."""
TOLERANCE = 1e-4
"""Of the checkers that take numbers near the reference's."""

_SOURCE = SOURCES[NAME]
_ARGS = {
    "cost": "what the profile enamel measures: cpu (default), seconds, or steps, lines executed, which another run"
    " repeats; strict measures CPU time from outside in either case",
    **ALLOW_MODIFIED,
}
_CHECKERS = {
    "70f4c3584f632bea": "typed_equal",
    "c039044526d2b270": "near",
    "814ee73c634fddd5": "near",
    "940dd99d6ae3f9f9": "near",
    "3c4c4c9108bbb18d": "near_zero",
}
"""First digits of a checker's SHA-256 -> the rule of `truegrade.grading.oracles` that says the same."""


class EnamelRow(msgspec.Struct, frozen=True):
    """A row as upstream stores it."""

    task_id: str
    prompt: str
    """HumanEval's, less the end of its last line."""
    input_generator: str
    input_levels: str
    """Sizes of the inputs of each level."""
    reference_solution: str
    """The body of the function, or all of it."""
    checker: str
    entry_point: str


def load(data: Path | None, args: Mapping[str, str]) -> Benchmark:
    """Read the 142 problems.

    Raises:
        UserError: the file is not found or not the pinned one, an argument is not known, or a checker is not.
    """
    cost = cast("Literal['cpu', 'steps']", choice(args, "cost", ("cpu", "steps")))
    read = load_pinned(NAME, _SOURCE, EnamelRow, lambda row: _item(row, cost), data, args, known=_ARGS)
    kept = tuple(problem for problem in read.problems if _number(problem.id) not in LEFT_OUT)
    return msgspec.structs.replace(read, problems=kept)


def _item(row: EnamelRow, cost: Literal["cpu", "steps"]) -> Item:
    head = f"{row.prompt}\n"
    comparator = _CHECKERS.get(sha256(row.checker.encode()).hexdigest()[:16])
    if comparator is None:
        raise UserError(
            f"{_SOURCE.file}: {row.task_id}: the field checker is none of the pinned file's five, and is not run;"
            " restore it"
        )
    return Item(
        id=row.task_id,
        task=EfficiencyTask(
            prompt=head,
            prefix=head,
            entry_point=row.entry_point,
            reference=head + row.reference_solution,
            comparator=comparator,
            atol=TOLERANCE,
            generator=row.input_generator,
            sizes=_sizes(row),
            seed=SEED ^ _number(row.task_id),
            cost=cost,
        ),
    )


def _sizes(row: EnamelRow) -> tuple[int, ...]:
    words = row.input_levels.split()
    if len(words) != 4 or not all(word.isdecimal() for word in words):
        raise UserError(f"{_SOURCE.file}: {row.task_id}: the field input_levels must hold four whole numbers")
    return tuple(map(int, words))


def _number(task_id: str) -> int:
    number = task_id.rpartition("/")[2]
    if not number.isdecimal():
        raise UserError(f"{_SOURCE.file}: {task_id}: the field task_id must be as HumanEval/0; restore it")
    return int(number)


ENAMEL = BenchmarkSpec(
    name=NAME,
    summary="HumanEval's functions on large inputs; right answers are scored by their speed (eff@k).",
    tasks="efficiency",
    size=_SOURCE.size - len(LEFT_OUT),
    licence=_SOURCE.licence,
    citation=_SOURCE.citation,
    source=_SOURCE.name,
    load=load,
    args=_ARGS,
)
