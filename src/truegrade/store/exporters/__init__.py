"""Runs written as files that other tools read. One file a format."""

from __future__ import annotations

from typing import Any

from truegrade.registry import Registry
from truegrade.store.exporters import (
    bigcode_generations,
    blog,
    evalplus_results,
    evalplus_samples,
    human_eval_samples,
    inspect_log,
    livecodebench,
    seed_results,
)
from truegrade.store.exporters.base import Exported, Exporter

__all__ = ["EXPORTERS", "Exported", "Exporter", "find_exporter"]

EXPORTERS = (
    human_eval_samples.EXPORTER,
    evalplus_samples.EXPORTER,
    evalplus_results.EXPORTER,
    bigcode_generations.EXPORTER,
    blog.EXPORTER,
    seed_results.EXPORTER,
    livecodebench.ANSWERS,
    livecodebench.EVAL_ALL,
    livecodebench.EVAL,
    livecodebench.EVAL_PERCENT,
    inspect_log.EXPORTER,
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
