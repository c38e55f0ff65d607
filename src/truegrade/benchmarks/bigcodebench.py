"""BigCodeBench: functions that call many libraries, tested by suites of unit tests.

Zhuo et al., BigCodeBench: Benchmarking Code Generation with Diverse Function Calls and Complex Instructions,
arXiv:2406.15877; bigcode-project/bigcodebench-annotation@a3b8985 ``data/BigCodeBench.jsonl.gz``, the data of the
first release (v0.1.0). On the Hub 19 of the problems have been changed since; the changes are those of
bigcode-project/bigcodebench@47eff25 ``tools/fix_v019.py`` to ``fix_v025.py``.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from pathlib import Path

import msgspec

from truegrade.benchmarks.base import (
    ALLOW_MODIFIED,
    PACKAGES,
    Benchmark,
    BenchmarkSpec,
    Item,
    choice,
    load_pinned,
    outside,
    with_packages,
)
from truegrade.datasets import SOURCES
from truegrade.datasets.download import locate, read_content
from truegrade.datasets.rows import parse_rows
from truegrade.errors import UserError
from truegrade.records import SuiteTask

NAME = "bigcodebench"
SPLITS = ("complete", "instruct")
FULL, HARD = "full", "hard"
HARD_FILES = ("BigCodeBench-Hard.jsonl.gz", "BigCodeBench-Hard.jsonl", "BigCodeBench-Hard-v0.1.4.jsonl")
"""Names of the hard subset's file: as upstream releases it, unpacked, and as its package keeps it."""
HARD_SIZE = 148
DISTRIBUTIONS: Mapping[str, str] = {
    "Crypto": "pycryptodome",
    "PIL": "Pillow",
    "bs4": "beautifulsoup4",
    "cv2": "opencv-python-headless",
    "dateutil": "python-dateutil",
    "docx": "python-docx",
    "flask_login": "Flask-Login",
    "flask_mail": "Flask-Mail",
    "flask_restful": "Flask-RESTful",
    "flask_wtf": "Flask-WTF",
    "mpl_toolkits": "matplotlib",
    "requests_mock": "requests-mock",
    "skimage": "scikit-image",
    "sklearn": "scikit-learn",
    "yaml": "PyYAML",
}
"""Packages of modules that are called otherwise."""
_BESIDE: Mapping[re.Pattern[str], tuple[str, ...]] = {
    re.compile(r"\b(?:read_excel|to_excel|ExcelWriter)\b"): ("openpyxl", "xlrd"),
    re.compile(r"\bread_html\b|[\"']lxml[\"']"): ("lxml",),
}
"""What pandas and Beautiful Soup import for some of their functions, which the sources need not name."""
_SOURCE = SOURCES["bigcodebench"]
_ARGS = {
    "split": "what is asked: complete (default), code up to the docstring's end; or instruct, a description",
    "subset": f"full (default); or hard, whose ids are read from {HARD_FILES[0]} beside the data",
    **PACKAGES,
    **ALLOW_MODIFIED,
}
SKIPPED: Mapping[str, tuple[str, ...]] = {
    "BigCodeBench/270": ("TestCases.test_multiple_words",),
    "BigCodeBench/286": ("TestCases.test_multiple_files_multiple_words",),
    "BigCodeBench/842": ("TestCases.test_rng",),
}
"""Tests that a right program fails by chance: they draw a sentence in which a word may come twice, once with its
full stop (270), or names of files, of which two may be the same (286, 842)."""
PROCESSES = 16
"""Of a problem whose solution or tests start some."""
_STARTS = re.compile(r"\b(?:subprocess|multiprocessing|ProcessPoolExecutor|os\.(?:system|popen|fork))\b")
_IMPORT = re.compile(r"^[ \t]*(?:from[ \t]+(\w+)[\w.]*[ \t]+import|import[ \t]+([\w., \t]+))", re.MULTILINE)


class BigCodeBenchRow(msgspec.Struct, frozen=True):
    """A row as upstream stores it, as far as it is read here."""

    task_id: str
    entry_point: str
    prompt: str
    """Imports, signature and docstring."""
    instruction: str
    canonical_solution: str
    """What follows the prompt."""
    test: str
    """A module of `unittest` cases that reads the program's names as its own."""


class _HardRow(msgspec.Struct, frozen=True):
    task_id: str


def load(data: Path | None, args: Mapping[str, str]) -> Benchmark:
    """Read the 1,140 problems, or those that the arguments ask for.

    Raises:
        UserError: a file is not found or not the pinned one, an argument is not known, or a package is missing.
    """
    split, subset = choice(args, "split", SPLITS), choice(args, "subset", (FULL, HARD))
    whole = load_pinned(NAME, _SOURCE, BigCodeBenchRow, lambda row: _item(row, split), data, args, known=_ARGS)
    if subset == FULL:
        return with_packages(whole, args)
    ids = _hard_ids(locate(_SOURCE, data).path.parent, {problem.id for problem in whole.problems})
    hard = tuple(problem for problem in whole.problems if problem.id in ids)
    left_out = outside(ids, whole.by_id(), args, ("subset",))
    return with_packages(msgspec.structs.replace(whole, problems=hard, left_out=left_out), args, whole)


def _item(row: BigCodeBenchRow, split: str) -> Item:
    source = f"{row.prompt}\n{row.canonical_solution}\n{row.test}"
    modules = modules_of(source)
    beside = [name for words, names in _BESIDE.items() if words.search(source) for name in names]
    return Item(
        id=row.task_id,
        task=SuiteTask(
            prompt=row.prompt if split == "complete" else row.instruction,
            entry_point=row.entry_point,
            prefix=row.prompt,
            tests=row.test,
            skipped=SKIPPED.get(row.task_id, ()),
            packages=modules,
            processes=PROCESSES if _STARTS.search(row.canonical_solution + row.test) else 0,
            reference=f"{row.prompt}\n{row.canonical_solution}",
        ),
        tags={"libs": " ".join(modules) or "standard library"},
        packages=tuple(dict.fromkeys([*(DISTRIBUTIONS.get(module, module) for module in modules), *beside])),
    )


def modules_of(source: str) -> tuple[str, ...]:
    """Top-level modules that a source imports, without those of the standard library."""
    found: set[str] = set()
    for module, several in _IMPORT.findall(source):
        found.update([module] if module else [part.split()[0].partition(".")[0] for part in several.split(",")])
    return tuple(sorted(found - sys.stdlib_module_names))


def _hard_ids(folder: Path, known: set[str]) -> set[str]:
    """Ids of the hard subset, of its own file beside the data.

    Raises:
        UserError: there is no such file, or it does not name 148 of the problems.
    """
    path = next((path for name in HARD_FILES if (path := folder / name).is_file()), None)
    if path is None:
        raise UserError(
            f"`task_args` subset=hard: {folder / HARD_FILES[0]} is not there; put the file of bigcode's"
            " bigcodebench-hard in JSON Lines beside the data: the list of its ids is not part of the pinned data"
        )
    ids = {row.task_id for row in parse_rows(path, read_content(path), _HardRow)}
    if len(ids) != HARD_SIZE or not ids <= known:
        raise UserError(
            f"{path}: field task_id: {len(ids)} ids, {len(ids - known)} of them unknown; the hard subset has"
            f" {HARD_SIZE} of the problems"
        )
    return ids


BIGCODEBENCH = BenchmarkSpec(
    name=NAME,
    summary="Write Python functions that call many libraries; graded by suites of unit tests.",
    tasks="suite",
    size=_SOURCE.size,
    licence=_SOURCE.licence,
    citation=_SOURCE.citation,
    source=_SOURCE.name,
    load=load,
    args=_ARGS,
)
