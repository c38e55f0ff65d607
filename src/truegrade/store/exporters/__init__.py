"""Runs written as files that other tools read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from truegrade.errors import UserError
from truegrade.registry import Registry
from truegrade.store.exporters.harness_files import (
    ANSWERS,
    BIGCODE_GENERATIONS,
    BLOG,
    EVAL,
    EVAL_ALL,
    EVAL_PERCENT,
    EVALPLUS_RESULTS,
    EVALPLUS_SAMPLES,
    HUMAN_EVAL_SAMPLES,
    SEED_RESULTS,
    Exported,
    Exporter,
)
from truegrade.store.exporters.inspect_log import EXPORTER as INSPECT_LOG

__all__ = ["EXPORTERS", "Exported", "Exporter", "TaskExporter", "find_exporter"]

EXPORTERS = (
    HUMAN_EVAL_SAMPLES,
    EVALPLUS_SAMPLES,
    EVALPLUS_RESULTS,
    BIGCODE_GENERATIONS,
    BLOG,
    SEED_RESULTS,
    ANSWERS,
    EVAL_ALL,
    EVAL,
    EVAL_PERCENT,
    INSPECT_LOG,
)


class TaskExporter(msgspec.Struct, frozen=True, kw_only=True):
    """Writes benchmarks as tasks of another harness, which asks the model itself and calls our grader."""

    name: str
    summary: str
    """One line: who reads them."""
    write: Callable[..., str]
    """``write(folder, benchmark, profile, prompt=, data=, task_args=, repeats=, temperature=, max_tokens=)`` adds
    a task to a folder and returns its name."""
    command: Callable[[Path, Sequence[str]], str]
    """(folder, names of its tasks) -> how the harness is told to run them."""


def _fault(thing: Any) -> str | None:
    known = isinstance(thing, Exporter | TaskExporter)
    return None if known else "is no truegrade.store.exporters.Exporter or TaskExporter"


REGISTRY = Registry[Exporter | TaskExporter](
    "exporter", {exporter.name: exporter for exporter in EXPORTERS}, _fault
)


def find_exporter(given: str | Exporter) -> Exporter:
    """The exporter of runs that the user means: see `truegrade.registry.Registry.find`.

    Raises:
        UnknownName: there is none.
        UserError: a file or package is at fault, or it writes benchmarks.
    """
    found = REGISTRY.find(given).value
    if isinstance(found, TaskExporter):
        raise UserError(f"exporter {found.name!r} writes {found.summary}; name benchmarks, not a run")
    return found
