"""MLflow: a run of an experiment, found again by a tag and brought up to date."""

from __future__ import annotations

import os
import time

from truegrade.errors import UserError
from truegrade.store.trackers.base import TrackedRun, Tracker, package

RUN_TAG = "truegrade.run"
_RETRIES = {"MLFLOW_HTTP_REQUEST_MAX_RETRIES": "2", "MLFLOW_HTTP_REQUEST_TIMEOUT": "30"}
"""Where the environment says nothing: MLflow itself goes on for four minutes where nothing answers."""


def _target(given: str) -> str:
    """Address of the tracking server, or of a database."""
    address = given or os.environ.get("MLFLOW_TRACKING_URI", "")
    if not address:
        raise UserError("`log_to` mlflow: name the server, mlflow:http://HOST:PORT, or set MLFLOW_TRACKING_URI")
    return address


def _log(run: TrackedRun, address: str) -> None:
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


TRACKER = Tracker(
    name="mlflow",
    summary="an MLflow server or database: mlflow:URI, or MLFLOW_TRACKING_URI",
    package="mlflow",
    extra="mlflow",
    target=_target,
    log=_log,
)
