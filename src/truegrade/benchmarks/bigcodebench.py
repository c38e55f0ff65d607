"""BigCodeBench: functions that call many libraries, tested by suites of unit tests.

Zhuo et al., BigCodeBench: Benchmarking Code Generation with Diverse Function Calls and Complex Instructions,
arXiv:2406.15877; bigcode-project/bigcodebench-annotation@a3b8985 ``data/BigCodeBench.jsonl.gz``, the data of the
first release (v0.1.0). On the Hub 19 of the problems have been changed since; the changes are those of
bigcode-project/bigcodebench@47eff25 ``tools/fix_v019.py`` to ``fix_v025.py``.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import msgspec

from truegrade.benchmarks.base import Benchmark, BenchmarkSpec
from truegrade.benchmarks.benchmark_args import ALLOW_MODIFIED, choice
from truegrade.benchmarks.pinned import Item, load_pinned
from truegrade.datasets import SOURCES
from truegrade.datasets.content import read_content
from truegrade.datasets.locate import locate
from truegrade.datasets.rows import parse_rows
from truegrade.errors import UserError, first_few
from truegrade.records import Problem, SuiteTask

NAME = "bigcodebench"
SPLITS = ("complete", "instruct")
ALL, INSTALLED, STANDARD = "all", "installed", "standard"
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
_SOURCE = SOURCES["bigcodebench"]
_ARGS = {
    "split": "what is asked: complete (default), code up to the docstring's end; or instruct, a description",
    "subset": f"full (default); or hard, whose ids are read from {HARD_FILES[0]} beside the data",
    "packages": "all (default): refused where a package is not installed; installed: problems that lack one are"
    " left out; standard: only problems that need none",
    **ALLOW_MODIFIED,
}
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
    wanted = choice(args, "packages", (ALL, INSTALLED, STANDARD))
    loaded = load_pinned(NAME, _SOURCE, BigCodeBenchRow, lambda row: _item(row, split), data, args, known=_ARGS)
    problems = [_with_packages(problem) for problem in loaded.problems]
    if subset == HARD:
        ids = _hard_ids(locate(_SOURCE, data).path.parent, {problem.id for problem in problems})
        problems = [problem for problem in problems if problem.id in ids]
    kept, left_out = _chosen(problems, wanted)
    words = "; ".join(part for part in (loaded.modified, left_out) if part)
    return msgspec.structs.replace(loaded, problems=tuple(kept), modified=words or None)


def _item(row: BigCodeBenchRow, split: str) -> Item:
    modules = modules_of(f"{row.prompt}\n{row.canonical_solution}\n{row.test}")
    return Item(
        id=row.task_id,
        task=SuiteTask(
            prompt=row.prompt if split == "complete" else row.instruction,
            entry_point=row.entry_point,
            prefix=row.prompt,
            tests=row.test,
            packages=modules,
            processes=PROCESSES if _STARTS.search(row.canonical_solution + row.test) else 0,
            reference=f"{row.prompt}\n{row.canonical_solution}",
        ),
        tags={"libs": " ".join(modules) or "standard library"},
    )


def modules_of(source: str) -> tuple[str, ...]:
    """Top-level modules that a source imports, without those of the standard library."""
    found: set[str] = set()
    for module, several in _IMPORT.findall(source):
        found.update([module] if module else [part.split()[0].partition(".")[0] for part in several.split(",")])
    return tuple(sorted(found - sys.stdlib_module_names))


def _with_packages(problem: Problem) -> Problem:
    task = problem.task
    assert isinstance(task, SuiteTask)
    names = dict.fromkeys(DISTRIBUTIONS.get(module, module) for module in task.packages)
    return msgspec.structs.replace(problem, packages=tuple(names))


def _chosen(problems: list[Problem], wanted: str) -> tuple[list[Problem], str]:
    """The problems whose packages are there, and in words which are not.

    Raises:
        UserError: some are not there, and it was not said that they are to be left out.
    """
    if wanted == STANDARD:
        kept = [problem for problem in problems if not problem.packages]
        return kept, _left_out(problems, kept, "that need more than the standard library")
    missing = _missing({name for problem in problems for name in problem.packages})
    lacking = [problem for problem in problems if missing.intersection(problem.packages)]
    if not lacking:
        return problems, ""
    counted = Counter(name for problem in lacking for name in problem.packages if name in missing)
    names = first_few([f"{name} ({count})" for name, count in counted.most_common()], len(counted))
    if wanted == ALL:
        raise UserError(
            f"{NAME}: {len(lacking)} of {len(problems)} problems need packages that are not installed: {names};"
            " pip install 'truegrade[bigcodebench]', or leave these problems out with -T packages=installed"
            " (`task_args` packages=installed)"
        )
    kept = [problem for problem in problems if not missing.intersection(problem.packages)]
    return kept, _left_out(problems, kept, f"whose packages are not installed: {names}")


def _left_out(problems: list[Problem], kept: list[Problem], why: str) -> str:
    count = len(problems) - len(kept)
    return f"{count} of {len(problems)} problems are left out {why}" if count else ""


def _missing(names: Iterable[str]) -> set[str]:
    """Those that are not installed."""
    found = set()
    for name in names:
        try:
            distribution(name)
        except PackageNotFoundError:
            found.add(name)
    return found


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
