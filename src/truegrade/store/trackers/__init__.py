"""Where results go besides the run's folder: experiment trackers, one file each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from truegrade.errors import TruegradeError, UnknownName
from truegrade.store.run import Run
from truegrade.store.trackers import mlflow, tensorboard, wandb
from truegrade.store.trackers.base import TrackedRun, Tracker

TRACKERS = {each.name: each for each in (mlflow.TRACKER, wandb.TRACKER, tensorboard.TRACKER)}


class NotTracked(TruegradeError):
    """A tracker did not take the results of a run, which are on disk nevertheless.

    Args:
        run: finished.
        failures: tracker -> what it said.

    Attributes:
        made: what the function returns where nothing fails: the run, or the report's files.
    """

    def __init__(self, run: Run, failures: dict[str, str]) -> None:
        self.made: Any = run
        told = "; ".join(f"{name}: {why}" for name, why in failures.items())
        again = "; ".join(f"truegrade report {run.given} --log-to {name}" for name in failures)
        super().__init__(f"not logged to {told}. The results are in {run.given}; to log them: {again}")


class OpenTracker(NamedTuple):
    """A tracker with the place that is meant."""

    given: str
    """As the user wrote it."""
    tracker: Tracker
    target: str


def open_trackers(log_to: Sequence[str]) -> list[OpenTracker]:
    """The trackers that the user means, before anything is asked or graded.

    Args:
        log_to: ``NAME`` or ``NAME:TARGET`` each.

    Raises:
        UnknownName: there is none of that name.
        UserError: its package is not installed, or the target is missing.
    """
    opened = []
    for given in log_to:
        name, _, rest = given.partition(":")
        if name not in TRACKERS:
            raise UnknownName("tracker", name, TRACKERS, "for `log_to`")
        tracker = TRACKERS[name]
        tracker.require()
        opened.append(OpenTracker(given, tracker, tracker.target(rest)))
    return opened


def log_run(run: Run, told: TrackedRun, trackers: Sequence[OpenTracker]) -> None:
    """Tell every tracker of a run; one that fails does not keep the others from being told.

    Raises:
        NotTracked: at least one failed.
    """
    failures = {}
    for opened in trackers:
        try:
            opened.tracker.log(told, opened.target)
        except Exception as error:  # whatever a client raises: no run is lost for it
            words = " ".join(str(error).split()) or type(error).__name__
            failures[opened.given] = words[:300].rstrip(".")
    if failures:
        raise NotTracked(run, failures)
