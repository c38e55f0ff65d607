"""The Python exercises of Aider's polyglot benchmark: fill in a file so that its unit tests pass.

Aider-AI/polyglot-benchmark@7e0611e ``python/exercises/practice``: 34 exercises of exercism/python, chosen by Paul
Gauthier for being hard (https://aider.chat/2024/12/21/polyglot.html). The five other languages are left out.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from pathlib import Path

import msgspec

from truegrade.benchmarks.base import ALLOW_MODIFIED, Benchmark, BenchmarkSpec, Item, load_pinned
from truegrade.datasets import SOURCES
from truegrade.datasets.checkouts import is_exercism_checkout, rows_of_exercism
from truegrade.errors import UserError
from truegrade.files import syntax
from truegrade.records import SuiteTask

NAME = "polyglot-python"
_SOURCE = SOURCES[NAME]


class PolyglotRow(msgspec.Struct, frozen=True):
    """One exercise."""

    name: str
    instructions: str
    file: str
    """Name of the file to fill in."""
    starter: str
    tests: str
    files: dict[str, str]
    """What the tests import besides."""
    reference: str


def load(data: Path | None, args: Mapping[str, str]) -> Benchmark:
    """Read the exercises out of the pinned file, or out of a checkout of upstream's repository.

    Raises:
        UserError: the data are not found or not the pinned ones, or an argument is not known.
    """
    made = (is_exercism_checkout, rows_of_exercism)
    return load_pinned(NAME, _SOURCE, PolyglotRow, _item, data, args, made_of_checkout=made)


def _item(row: PolyglotRow) -> Item:
    module = row.file.removesuffix(".py")
    return Item(
        id=f"Exercism/{row.name}",
        task=SuiteTask(
            prompt=row.instructions,
            entry_point=_asked_for(row, module),
            starter=row.starter,
            tests=row.tests,
            module=module,
            files=row.files,
            reference=row.reference,
        ),
    )


def _asked_for(row: PolyglotRow, module: str) -> str:
    """The first function or class of the starter that the tests import.

    Raises:
        UserError: there is none, or one of the two files is no Python.
    """
    try:
        imports = [node for node in ast.walk(syntax.parse(row.tests)) if isinstance(node, ast.ImportFrom)]
        body = syntax.parse(row.starter).body
    except SyntaxError as error:
        raise UserError(f"{NAME}, {row.name}: its starter or its tests are no Python: {error}") from None
    defined = {node.name for node in body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    names = (alias.name for node in imports if node.module == module for alias in node.names)
    found = next((name for name in names if name in defined), None)
    if found is None:
        raise UserError(f"{NAME}, {row.name}: the tests import nothing that {row.file} defines")
    return found


POLYGLOT_PYTHON = BenchmarkSpec(
    name=NAME,
    summary="Fill in a file by an exercise's instructions; graded by Exercism's unit tests.",
    tasks="suite",
    size=_SOURCE.size,
    licence=_SOURCE.licence,
    citation=_SOURCE.citation,
    source=_SOURCE.name,
    load=load,
    args=dict(ALLOW_MODIFIED),
)
