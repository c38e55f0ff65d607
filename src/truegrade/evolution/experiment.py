"""The folder of an experiment that the same call resumes."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from truegrade.errors import UserError
from truegrade.files.json_text import encode, read_json
from truegrade.store.manifest import write_atomically

SETTINGS = "settings.json"


class ExperimentSettings(Protocol):
    """A struct of settings."""

    @property
    def sha256(self) -> str:
        """Hash of all that decides the results."""


def begin_experiment(folder: Path, settings: ExperimentSettings, *, what: str, advice: str) -> None:
    """Write the settings down, or see that what began here has the same.

    Args:
        folder: of the experiment.
        settings: of this call.
        what: the experiment is called.
        advice: for a file that cannot be read.

    Raises:
        UserError: other settings began here, or the file cannot be read.
    """
    path = folder / SETTINGS
    if path.exists() and read_json(path, type(settings), advice).sha256 != settings.sha256:
        raise UserError(f"{folder} holds another {what}: its settings differ; choose another `out`")
    write_atomically(path, encode(settings, indent=2) + b"\n")
