"""Runs written as files that other tools read."""

from __future__ import annotations

from typing import Any

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

__all__ = ["EXPORTERS", "Exported", "Exporter", "find_exporter"]

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


def _fault(thing: Any) -> str | None:
    return None if isinstance(thing, Exporter) else "is no truegrade.store.exporters.Exporter"


REGISTRY = Registry[Exporter]("exporter", {exporter.name: exporter for exporter in EXPORTERS}, _fault)


def find_exporter(given: str | Exporter) -> Exporter:
    """The exporter that the user means: see `truegrade.registry.Registry.find`.

    Raises:
        UnknownName: there is none.
        UserError: a file or package is at fault.
    """
    return REGISTRY.find(given).value
