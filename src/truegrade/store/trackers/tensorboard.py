"""TensorBoard: an event file in a folder of the run's name."""

from __future__ import annotations

from pathlib import Path

from truegrade.errors import UserError
from truegrade.files.json_text import encode
from truegrade.store.trackers.base import TrackedRun, Tracker, package

_OURS = ".truegrade"
"""How the names of our event files end."""


def _target(given: str) -> str:
    """The folder that TensorBoard is shown."""
    if not given:
        raise UserError("`log_to` tensorboard: name the folder, tensorboard:FOLDER")
    return given


def _log(run: TrackedRun, folder: str) -> None:
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


TRACKER = Tracker(
    name="tensorboard",
    summary="event files for TensorBoard: tensorboard:FOLDER",
    package="tensorboardX",
    extra="tensorboard",
    target=_target,
    log=_log,
)
