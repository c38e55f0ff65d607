"""Measuring how often a grader is wrong: programs whose correctness is known are sent through it.

from truegrade.apps.assay import Battery, assay
result = assay(grader=my_reward, benchmarks=["humaneval"], call="plain")
result.tpr, result.fpr["mutant"], result.j, result.channels, result.findings
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from truegrade.app import App, FolderKind

if TYPE_CHECKING:
    from truegrade.apps.assay.measures import AssayResult
    from truegrade.apps.assay.opening import assay, replay
    from truegrade.apps.assay.records import Battery
    from truegrade.records import Problem

__all__ = ["APP", "AssayResult", "Battery", "Problem", "assay", "replay"]

APP = App(
    name="assay",
    summary="how often a grader is wrong, and what can be paid without solving",
    commands={"assay": "truegrade.apps.assay.commands:assay"},
    folders=(
        FolderKind(
            name="an assay",
            marker="probes.jsonl",
            report="truegrade.apps.assay.reporting.assay_document:report_files",
        ),
    ),
)

_HOMES = {
    "AssayResult": "truegrade.apps.assay.measures",
    "assay": "truegrade.apps.assay.opening",
    "replay": "truegrade.apps.assay.opening",
    "Battery": "truegrade.apps.assay.records",
    "Problem": "truegrade.records",
}


def __getattr__(name: str) -> Any:
    """Import what is asked for, and nothing else: the modules below are many."""
    from importlib import import_module

    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
