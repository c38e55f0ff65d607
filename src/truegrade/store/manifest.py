"""What a run was: enough to repeat it, and to refuse mixing it with another."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from contextlib import suppress
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec import UNSET, UnsetType

from truegrade.errors import BadRecord
from truegrade.files.json_text import encode, read_json
from truegrade.files.writing import writing
from truegrade.records import SCHEMA_VERSION
from truegrade.records.config import GenerationConfig
from truegrade.registry import Origin
from truegrade.store.probe_report import ProbeReport

TrainingData = Literal["recorded", "unknown"]
"""Whether an adapter came with a record of what it learned from."""


class BenchmarkIdentity(msgspec.Struct, frozen=True, kw_only=True):
    """Which problems, from which bytes."""

    name: str
    args: dict[str, str] = {}
    dataset_sha256: str
    source: str
    problems: int
    """Problems in the data set, before any selection."""

    modified: str | UnsetType = UNSET
    """How the data file differs from the pinned one, in words; unset where it does not, or none is pinned."""

    @property
    def label(self) -> str:
        """The name to print beside a number: that of a benchmark belongs to its pinned data alone."""
        return self.name if self.modified is UNSET else f"{self.name} (modified data)"


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """``manifest.json`` of a run."""

    schema: int = SCHEMA_VERSION
    created: str
    """UTC, ISO 8601."""
    benchmark: BenchmarkIdentity
    generation: GenerationConfig | None = None
    """None where the completions were imported."""
    imported_from: str | None = None
    import_format: str | None = None
    samples_per_task: int
    """N asked for; with an import, the largest number found."""
    selected: tuple[str, ...] | None = None
    """Problem ids asked for, where not all were."""
    excluded: dict[str, str] = {}
    """Problem id -> why it is never scored, e.g. shown in the prompt as a worked example."""
    prompts_sha256: str | None = None
    """Hash over the prompts of all problems asked so far, by problem id."""
    profiles: dict[str, str] = {}
    """Profile id -> time of its last grading."""
    levels: dict[str, int] = {}
    """Profile id -> protection level that its programs ran under."""
    packages: dict[str, dict[str, str]] | UnsetType = UNSET
    """Profile id -> packages, with versions, that programs could import besides the standard library. Unset before
    anything was graded, so that manifests from before there was this field keep their bytes."""
    origins: dict[str, Origin] | UnsetType = UNSET
    """Where what is not built in was found: ``benchmark``, ``provider``, ``agent``, ``importer``, and profiles by
    their ids."""
    adaptations: tuple[str, ...] = ()
    """Parameters that the model service refused and that were therefore changed."""
    probe: ProbeReport | None = None
    """What the model's server honours, where the probe asked; the latest."""
    stopping: dict[str, Any] | UnsetType = UNSET
    """Of an earlier version, kept as it is: the rule by which the run was to stop once a comparison was decided,
    and what came of it."""
    training_data: TrainingData | UnsetType = UNSET
    """Whether the adapter says what it learned from (``learned_from.json``); unset where there is no adapter."""
    environment: dict[str, str] = {}

    def origin(self, of: str) -> Origin | None:
        """Where something was found; None for what is built in, or where an earlier version wrote nothing down."""
        return (self.origins or {}).get(of)

    @property
    def identity(self) -> tuple[object, ...]:
        """What must not change between a run and its resumption."""
        config = self.generation.sha256 if self.generation else self.imported_from
        return (self.benchmark.name, self.benchmark.args, self.benchmark.dataset_sha256, config)


def environment() -> dict[str, str]:
    """Versions, platform and git state of this process, for the manifest."""
    packages = {name: version(name) for name in ("truegrade", "openai", "msgspec", "numpy")}
    return {
        "python": sys.version.split()[0],
        "platform": platform.platform(),
        "cpus": str(os.cpu_count()),
        **packages,
        **_git_state(),
    }


def now() -> str:
    """The present, UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def write_manifest(path: Path, manifest: Manifest) -> None:
    """Replace the file in one step, so that a kill leaves the old or the new one."""
    write_atomically(path, encode(manifest, indent=2) + b"\n")


def write_atomically(path: Path, content: bytes) -> None:
    """Write beside the target, sync, rename over it.

    Raises:
        UserError: the disk is full or the folder may not be written to; the target is as it was.
    """
    partial = path.with_name(path.name + ".partial")
    with writing(path):
        try:
            with partial.open("wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            partial.replace(path)
        finally:
            with suppress(OSError):
                partial.unlink()


def read_manifest(path: Path) -> Manifest:
    """Read ``manifest.json``.

    Raises:
        BadRecord: it is missing, torn or of a schema this version cannot read.
    """
    manifest = read_json(path, Manifest, "is this folder a run of `truegrade run` or `grade`?")
    if manifest.schema > SCHEMA_VERSION:
        raise BadRecord(
            path, f"schema {manifest.schema} is newer than this Truegrade reads; upgrade it", field="schema"
        )
    return manifest


def _git_state() -> dict[str, str]:
    """Commit of the working directory, with a mark if it has changes; empty outside a repository."""
    command = ["git", "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=5, check=True)
    except (OSError, subprocess.SubprocessError):
        return {}
    return {"git": done.stdout.strip()}
