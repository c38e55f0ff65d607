"""Sandboxes that stay open from one grading to the next: to start the interpreters of one takes 0.35 s of CPU."""

from __future__ import annotations

import importlib
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

from truegrade.sandbox import Limits, Sandbox

ALWAYS = ("truegrade.pipeline.grade", "truegrade.pipeline.asking")
"""Modules that open a sandbox for each grading and close it after."""
IF_IMPORTED = (
    *("truegrade.analysis.audit.contests", "truegrade.apps.evolve.subject"),
    *("truegrade.apps.assay.running", "truegrade.apps.assay.opening", "truegrade.apps.assay.targets.asking"),
    *("livecodebench_rows", "contest_rows", "prediction_rows", "probe_grading"),
    *("test_extraction_limits", "test_hardening", "test_perfect_answers"),
)
"""The same, which few tests ask for; what tests and their helpers open, one for each of many rows, among them."""

IDLE = 4
"""How many stay open that nobody uses; each is three or more processes."""


def asked_by() -> list[ModuleType]:
    """The modules in which `WarmSandboxes` can stand for `Sandbox`."""
    imported = (name for name in IF_IMPORTED if name in sys.modules)
    return [importlib.import_module(name) for name in (*ALWAYS, *imported)]


class WarmSandboxes:
    """Stands for the class `Sandbox`: what it opens is real, and is lent again to who asks for the same."""

    def __init__(self) -> None:
        self._idle: dict[Any, Sandbox] = {}

    @contextmanager
    def __call__(self, limits: Limits | None = None, workers: int | None = None, **more: Any) -> Iterator[Sandbox]:
        """One that nobody else has; if the block fails it is closed, which ends the programs under way."""
        # A process that was forked meanwhile has none of them; folders and packages are those at its start.
        key = (repr(limits), workers, *sorted(more.items()), os.getpid(), tempfile.gettempdir(), *sys.path)
        sandbox = self._idle.pop(key, None) or Sandbox(limits, workers, **more)
        try:
            yield sandbox
        except BaseException:
            sandbox.close()
            raise
        if key in self._idle or sandbox._closed.is_set():
            sandbox.close()
        else:
            self._idle[key] = sandbox
            if len(self._idle) > IDLE:
                self._idle.pop(next(iter(self._idle))).close()

    def close(self) -> None:
        """Close all that are idle."""
        while self._idle:
            self._idle.popitem()[1].close()
