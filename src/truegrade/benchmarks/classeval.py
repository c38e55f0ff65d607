"""ClassEval: a hundred classes to write from a skeleton, each with a suite of unit tests.

Du et al., ClassEval, arXiv:2308.01861; FudanSELab/ClassEval@eaeac44 ``data/ClassEval_data.json``.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

import msgspec

from truegrade.benchmarks.base import (
    ALLOW_MODIFIED,
    PACKAGES,
    Benchmark,
    BenchmarkSpec,
    Item,
    load_pinned,
    with_packages,
)
from truegrade.datasets import SOURCES
from truegrade.files import syntax
from truegrade.grading.marks import TEST_CLASSES
from truegrade.records import SuiteTask

NAME = "classeval"
SKIPPED: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "ClassEval_17": ("CalendarTestGetUpcomingEvents.test_get_upcoming_events_5",),
        "ClassEval_48": ("IpUtilTestGetHostname.test_get_hostname_3",),
        "ClassEval_58": (
            "MinesweeperGameTestGenerateMineSweeperMap.test_generate_mine_sweeper_map",
            "MinesweeperGameTestMain.test_minesweeper_main_2",
        ),
    }
)
"""Tests that say nothing of a program: no program passes those that need a date before 2024 (17) and a machine of
its author's name (48), and right ones fail those of 58 where chance puts two mines in one of nine places."""

_SOURCE = SOURCES[NAME]
_ARGS = {**PACKAGES, **ALLOW_MODIFIED}
_DISTRIBUTIONS = {"PIL": "pillow", "bs4": "beautifulsoup4", "docx": "python-docx"}
"""Modules whose package has another name."""


class ClassEvalRow(msgspec.Struct, frozen=True):
    """A row as upstream stores it, as far as it is read here."""

    task_id: str
    class_name: str
    skeleton: str
    """The class with a docstring in place of each method's body, behind its imports."""
    import_statement: tuple[str, ...]
    solution_code: str
    test_classes: tuple[str, ...]
    test: str
    """A class of unit tests for each method, and mostly one for all of them together."""


def load(data: Path | None, args: Mapping[str, str]) -> Benchmark:
    """Read the hundred classes.

    Raises:
        UserError: the file is not found or not the pinned one, an argument is not known, or a problem needs a
            package that is not installed.
    """
    loaded = load_pinned(NAME, _SOURCE, ClassEvalRow, _item, data, args, known=_ARGS)
    return with_packages(loaded, args)


def _item(row: ClassEvalRow) -> Item:
    head = "".join(f"{line}\n" for line in row.import_statement)
    tags = {TEST_CLASSES: str(len(row.test_classes))}
    modules = tuple(sorted({*_libraries(head + row.solution_code), *_libraries(row.test)}))
    return Item(
        id=row.task_id.replace("_", "/"),
        task=SuiteTask(
            prompt=row.skeleton,
            entry_point=row.class_name,
            prefix=head,
            tests=row.test,
            skipped=SKIPPED.get(row.task_id, ()),
            packages=modules,
            reference=head + row.solution_code,
        ),
        tags=tags | ({"libs": ", ".join(modules)} if modules else {}),
        packages=tuple(_DISTRIBUTIONS.get(name, name) for name in modules),
    )


def _libraries(source: str) -> Iterator[str]:
    """Modules outside of the standard library that a source imports."""
    for node in ast.walk(syntax.parse(source)):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module]
        tops = (name.partition(".")[0] for name in names)
        yield from (name for name in tops if name not in sys.stdlib_module_names)


CLASSEVAL = BenchmarkSpec(
    name=NAME,
    summary="Write a Python class from its skeleton; graded by unit tests of each method and of all together.",
    tasks="suite",
    size=_SOURCE.size,
    licence=_SOURCE.licence,
    citation=_SOURCE.citation,
    source=_SOURCE.name,
    load=load,
    args=_ARGS,
)
