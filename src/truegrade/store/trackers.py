"""Experiment trackers, where results go besides the run's folder: MLflow, TensorBoard, Weights & Biases."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from truegrade.errors import TruegradeError, UnknownName, UserError
from truegrade.files.extras import require
from truegrade.files.json_text import encode
from truegrade.store.run import Run

# ----------------------------------------------------------- What a tracker is given of a run, and what it is.


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
    """That of the extra, too, which brings its package."""
    summary: str
    """One line: where results go."""
    target: Callable[[str], str]
    """The place, from what stands behind the colon; raises UserError where that does not do."""
    log: Callable[[TrackedRun, str], None]
    """``log(run, target)``: any exception is a failure to log, and never one of the run."""


def package(name: str) -> Any:
    """A package that is imported only where it is used."""
    return import_module(name)


# -------------------------------- MLflow: a run of an experiment, found again by a tag and brought up to date.

RUN_TAG = "truegrade.run"
_RETRIES = {"MLFLOW_HTTP_REQUEST_MAX_RETRIES": "2", "MLFLOW_HTTP_REQUEST_TIMEOUT": "30"}
"""Where the environment says nothing: MLflow itself goes on for four minutes where nothing answers."""


def _mlflow_target(given: str) -> str:
    """Address of the tracking server, or of a database."""
    address = given or os.environ.get("MLFLOW_TRACKING_URI", "")
    if not address:
        raise UserError("`log_to` mlflow: name the server, mlflow:http://HOST:PORT, or set MLFLOW_TRACKING_URI")
    return address


def _log_to_mlflow(run: TrackedRun, address: str) -> None:
    """Write parameters, metrics, tags and files; the experiment is MLFLOW_EXPERIMENT_NAME, else ``truegrade``."""
    for name, value in _RETRIES.items():
        os.environ.setdefault(name, value)
    entities = package("mlflow.entities")
    client = package("mlflow.tracking").MlflowClient(tracking_uri=address)
    name = os.environ.get("MLFLOW_EXPERIMENT_NAME", "truegrade")
    known = client.get_experiment_by_name(name)
    experiment = known.experiment_id if known else client.create_experiment(name)
    found = client.search_runs([experiment], filter_string=f"tags.`{RUN_TAG}` = '{run.id}'", max_results=1)
    if found:
        made = found[0].info.run_id
    else:
        made = client.create_run(experiment, run_name=run.name, tags={RUN_TAG: run.id}).info.run_id
    now = int(time.time() * 1000)
    client.log_batch(
        made,
        metrics=[entities.Metric(key, value, now, 0) for key, value in run.metrics.items()],
        params=[entities.Param(key, value) for key, value in run.parameters.items()],
        tags=[entities.RunTag(key, value) for key, value in run.tags.items()],
    )
    for path in run.artifacts:
        client.log_artifact(made, str(path))
    client.set_terminated(made)


MLFLOW = Tracker(
    name="mlflow",
    summary="an MLflow server or database: mlflow:URI, or MLFLOW_TRACKING_URI",
    target=_mlflow_target,
    log=_log_to_mlflow,
)


# --------------------------------------------------- TensorBoard: an event file in a folder of the run's name.

_OURS = ".truegrade"
"""How the names of our event files end."""


def _tensorboard_target(given: str) -> str:
    """The folder that TensorBoard is shown."""
    if not given:
        raise UserError("`log_to` tensorboard: name the folder, tensorboard:FOLDER")
    return given


def _log_to_tensorboard(run: TrackedRun, folder: str) -> None:
    """Write every metric as a scalar at step 0, and the rest as texts; an earlier file of this run is replaced."""
    place = Path(folder) / f"{run.name}-{run.id[:8]}"
    earlier = list(place.glob(f"*{_OURS}"))
    with package("tensorboardX").SummaryWriter(str(place), filename_suffix=_OURS) as writer:
        for name, value in run.metrics.items():
            writer.add_scalar(name, value, 0, display_name=name)
        for title, texts in (("parameters", run.parameters), ("tags", run.tags)):
            writer.add_text(title, f"```json\n{encode(texts, indent=2).decode()}\n```", 0)
        written = Path(writer.file_writer.event_writer._ev_writer._file_name).name
    for path in earlier:
        if path.name != written:
            path.unlink()


TENSORBOARD = Tracker(
    name="tensorboard",
    summary="event files for TensorBoard: tensorboard:FOLDER",
    target=_tensorboard_target,
    log=_log_to_tensorboard,
)


# ------------------------------- Weights & Biases: a run of a project, under an id that is the same each time.

_WAIT_S = 30.0


def _wandb_target(given: str) -> str:
    """The project."""
    return given or os.environ.get("WANDB_PROJECT", "truegrade")


def _log_to_wandb(run: TrackedRun, project: str) -> None:
    """Write configuration, summary and an artifact; WANDB_MODE, WANDB_DIR and the others hold as for any run."""
    wandb = package("wandb")
    settings = wandb.Settings(
        silent=True, console="off", x_disable_stats=True, disable_git=True, disable_code=True, init_timeout=_WAIT_S
    )
    with wandb.init(project=project, id=run.id, name=run.name, resume="allow", job_type="evaluation",
                    config={**run.parameters, "tags": run.tags}, settings=settings) as made:  # fmt: skip
        made.summary.update(run.metrics)
        artifact = wandb.Artifact(f"truegrade-{run.id}", type="evaluation", metadata=run.tags)
        for path in run.artifacts:
            artifact.add_file(str(path))
        made.log_artifact(artifact)


WANDB = Tracker(
    name="wandb",
    summary="Weights & Biases: wandb:PROJECT, or WANDB_PROJECT; WANDB_MODE=offline writes to this disk alone",
    target=_wandb_target,
    log=_log_to_wandb,
)


# -------------------------------------------------- All trackers, and a run told to those that the user means.

TRACKERS = {each.name: each for each in (MLFLOW, WANDB, TENSORBOARD)}


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
        require(name, f"`log_to` {name}")
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
