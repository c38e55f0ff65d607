"""Weights & Biases: a run of a project, under an id that is the same each time."""

from __future__ import annotations

import os

from truegrade.store.trackers.base import TrackedRun, Tracker, package

_WAIT_S = 30.0


def _target(given: str) -> str:
    """The project."""
    return given or os.environ.get("WANDB_PROJECT", "truegrade")


def _log(run: TrackedRun, project: str) -> None:
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


TRACKER = Tracker(
    name="wandb",
    summary="Weights & Biases: wandb:PROJECT, or WANDB_PROJECT; WANDB_MODE=offline writes to this disk alone",
    package="wandb",
    extra="wandb",
    target=_target,
    log=_log,
)
