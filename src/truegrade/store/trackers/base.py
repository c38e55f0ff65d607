"""What a tracker is given of a run, and what it is."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import msgspec

from truegrade.errors import UserError


class TrackedRun(msgspec.Struct, frozen=True, kw_only=True):
    """The results of a run, as a tracker takes them."""

    id: str
    """The same for the same run, however often it is logged: 16 hexadecimal digits."""
    name: str
    """Of the run's folder."""
    parameters: dict[str, str]
    """What identifies the run; none of them changes when the run is graded again."""
    metrics: dict[str, float]
    """Estimates with their bounds as ``PROFILE/METRIC``, ``PROFILE/METRIC_low`` and ``PROFILE/METRIC_high``, and
    counts, tokens and cost. ``@`` is written ``_at_``."""
    tags: dict[str, str]
    artifacts: tuple[Path, ...]
    """Files: the summary and the report."""


class Tracker(msgspec.Struct, frozen=True, kw_only=True):
    """One place where results can go."""

    name: str
    summary: str
    """One line: where results go."""
    package: str
    """Imported when results are logged."""
    extra: str
    """The extra that brings the package."""
    target: Callable[[str], str]
    """The place, from what stands behind the colon; raises UserError where that does not do."""
    log: Callable[[TrackedRun, str], None]
    """``log(run, target)``: any exception is a failure to log, and never one of the run."""

    def require(self) -> None:
        """See that the package is there, without importing it.

        Raises:
            UserError: it is not.
        """
        if find_spec(self.package) is None:
            raise UserError(f"{self.package} is not installed; pip install 'truegrade[{self.extra}]'")


def package(name: str) -> Any:
    """A package that is imported only where it is used."""
    return import_module(name)
