"""Measuring how often a grader is wrong: programs whose correctness is known are sent through it.

from truegrade.assay import Battery, assay
result = assay(grader=my_reward, benchmarks=["humaneval"], call="plain")
result.tpr, result.fpr["mutant"], result.j, result.channels, result.findings
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from truegrade.assay.measures import AssayResult
    from truegrade.assay.opening import assay, replay
    from truegrade.assay.records import Battery
    from truegrade.records import Problem

__all__ = ["AssayResult", "Battery", "Problem", "assay", "replay"]

_HOMES = {
    "AssayResult": "truegrade.assay.measures",
    "assay": "truegrade.assay.opening",
    "replay": "truegrade.assay.opening",
    "Battery": "truegrade.assay.records",
    "Problem": "truegrade.records",
}


def __getattr__(name: str) -> Any:
    """Import what is asked for, and nothing else: the modules below are many."""
    from importlib import import_module

    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
