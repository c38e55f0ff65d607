"""MBPP and its hand-verified part: write a function from one sentence and its tests.

Austin et al., Program Synthesis with Large Language Models, arXiv:2108.07732. The solution runs first, then
the setup, then the tests: the setup of 367 and 927 uses the class ``Node`` that the solution defines.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TypeVar

import msgspec

from truegrade.benchmarks.base import Benchmark, BenchmarkSpec
from truegrade.benchmarks.pinned import (
    ALLOW_MODIFIED,
    Item,
    choice,
    entry_point,
    load_pinned,
    names_only_solution_binds,
)
from truegrade.datasets import SOURCES
from truegrade.errors import UserError
from truegrade.records import FunctionTask

SPLITS = {"prompt": range(1, 11), "test": range(11, 511), "validation": range(511, 601), "train": range(601, 975)}
"""Task ids of each split (google-research/google-research@30adf0e mbpp/README.md)."""

PASSES_TYPES = frozenset({533})
"""Tasks whose tests pass types as arguments, which cannot be sent to another process."""

CPU_S = {123: 60.0}
"""CPU seconds where the reference alone needs many: the divisor sums of 123."""

_ARGS = {"split": "prompt, test, validation, train or all (default all)", **ALLOW_MODIFIED}


class MbppRow(msgspec.Struct, frozen=True):
    """A row of ``mbpp.jsonl``."""

    task_id: int
    text: str
    code: str
    test_setup_code: str
    test_list: tuple[str, ...]
    challenge_test_list: tuple[str, ...]


class SanitizedRow(msgspec.Struct, frozen=True):
    """A row of ``sanitized-mbpp.json``."""

    task_id: int
    prompt: str
    code: str
    test_imports: tuple[str, ...]
    test_list: tuple[str, ...]


Row = TypeVar("Row", MbppRow, SanitizedRow)


def load(
    name: str, row_type: type[Row], item: Callable[[Row], Item], data: Path | None, args: Mapping[str, str]
) -> Benchmark:
    """Read all problems, or those of one split.

    Raises:
        UserError: the file is not found or not the pinned one, or an argument is not known.
    """
    split = choice(args, "split", ("all", *SPLITS))
    benchmark = load_pinned(name, SOURCES[name], row_type, item, data, args, known=_ARGS)
    if split == "all":
        return benchmark
    kept = tuple(problem for problem in benchmark.problems if problem.tags["split"] == split)
    return msgspec.structs.replace(benchmark, problems=kept)


def split_of(task_id: int) -> str:
    """The split that a task belongs to.

    Raises:
        UserError: MBPP has no such task.
    """
    for name, ids in SPLITS.items():
        if task_id in ids:
            return name
    raise UserError(f"MBPP has no task {task_id}; its tasks are numbered 1 to 974")


def _full_item(row: MbppRow) -> Item:
    return _item(row, row.text, row.test_setup_code)


def _sanitized_item(row: SanitizedRow) -> Item:
    return _item(row, row.prompt, "\n".join(row.test_imports))


def _item(row: MbppRow | SanitizedRow, text: str, setup: str) -> Item:
    name = f"MBPP/{row.task_id}"
    tests = "\n".join(row.test_list)
    function = entry_point(name, row.code, tests)
    return Item(
        id=name,
        task=FunctionTask(
            prompt=text,
            entry_point=function,
            tests=tests,
            setup=setup,
            shown_tests=row.test_list,
            reference=row.code,
            tests_use=names_only_solution_binds(name, row.code, f"{setup}\n{tests}", function),
            plain_arguments=row.task_id not in PASSES_TYPES,
            cpu_s=CPU_S.get(row.task_id),
        ),
        tags={"split": split_of(row.task_id)},
    )


MBPP = BenchmarkSpec(
    name="mbpp",
    summary="Write a Python function from one sentence and three asserts.",
    tasks="description",
    size=SOURCES["mbpp"].size,
    licence=SOURCES["mbpp"].licence,
    citation=SOURCES["mbpp"].citation,
    source="mbpp",
    load=partial(load, "mbpp", MbppRow, _full_item),
    args=_ARGS,
)

MBPP_SANITIZED = BenchmarkSpec(
    name="mbpp-sanitized",
    summary="The MBPP tasks that its authors verified by hand and reworded.",
    tasks="description",
    size=SOURCES["mbpp-sanitized"].size,
    licence=SOURCES["mbpp-sanitized"].licence,
    citation=SOURCES["mbpp-sanitized"].citation,
    source="mbpp-sanitized",
    load=partial(load, "mbpp-sanitized", SanitizedRow, _sanitized_item),
    args=_ARGS,
)
