"""What a run was: enough to repeat it, and to refuse mixing it with another."""

from __future__ import annotations

import os
import platform
import re
import secrets
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from importlib.metadata import distribution, version
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Literal, Self

import msgspec
from msgspec import UNSET, UnsetType

from truegrade.errors import BadRecord
from truegrade.files.json_text import encode, read_json
from truegrade.files.writing import writing
from truegrade.records import SCHEMA_VERSION, SampleKey
from truegrade.records.config import GenerationConfig
from truegrade.registry import Origin
from truegrade.store.journal import Journal, Notice, ignore, read_journal

# ----------------------------------------------------------------------------------------------------------------
# What a probe found out: the record that stands in a run's manifest and that `truegrade doctor --json` prints.


State = Literal["honoured", "ignored", "refused", "unknown"]
"""``ignored``: taken without a word and without effect; ``refused``: the service says that it does not take it;
``unknown``: what came back shows neither."""

AUDIT = "audit.json"
"""Where a run keeps the audit of the file that it was made of: ``check CLAIM FILE``, or ``check FILE --json``."""


class Feature(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that a request may ask for, and what became of it."""

    name: str
    state: State
    evidence: str
    """What was seen, in one line."""


class ProbeReport(msgspec.Struct, frozen=True, kw_only=True):
    """Which parameters a server honours."""

    model: str
    base_url: str | None
    probed: str
    """UTC, ISO 8601."""
    style: Literal["chat", "text"]
    """Which way it was asked: chat messages, or text to continue."""
    features: tuple[Feature, ...]
    requests: int
    """Requests that it took, refused ones included."""
    output_tokens: int
    """Tokens that they generated, as far as the service counts them."""

    def state(self, name: str) -> State:
        """What became of a feature; unknown where it was not looked at."""
        return next((feature.state for feature in self.features if feature.name == name), "unknown")


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
    part: str | UnsetType = UNSET
    """Which problems were left out for what was installed; ``problems`` are the others."""

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
    def wanted(self) -> int:
        """Problems that were to be answered, those shown in the prompts left out."""
        if self.selected is None:
            return self.benchmark.problems - len(self.excluded)
        return sum(problem not in self.excluded for problem in self.selected)

    @property
    def identity(self) -> tuple[object, ...]:
        """What must not change between a run and its resumption."""
        config = self.generation.sha256 if self.generation else self.imported_from
        return (self.benchmark.name, self.benchmark.args, self.benchmark.dataset_sha256, config)


def environment() -> dict[str, str]:
    """Versions, platform and git state of this process, for the manifest."""
    packages = {name: _version(name) for name in ("truegrade", "openai", "msgspec", "numpy")}
    return {
        "python": sys.version.split()[0],
        "platform": platform.platform(),
        "cpus": str(os.cpu_count()),
        **packages,
        **_git_state(),
    }


def _version(package: str) -> str:
    """What `importlib.metadata.version` says, which parses the readme as well."""
    head = (distribution(package).read_text("METADATA") or "").partition("\n\n")[0].splitlines()
    said = (line.removeprefix("Version: ") for line in head if line.startswith("Version: "))
    return next(said, "") or version(package)


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
    with replacing(path) as file:
        file.write(content)


@contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """The same of what is written piece by piece: a file that takes the target's place at the end.

    Raises:
        UserError: as `write_atomically`.
    """
    partial = path.with_name(path.name + ".partial")
    with writing(path):
        try:
            with partial.open("wb") as file:
                yield file
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


def without_places(manifest: Manifest) -> Manifest:
    """The manifest as it goes to others: of files of this machine, the data, the model and what else the run was
    made with, their names alone."""
    source = msgspec.structs.replace(manifest.benchmark, source=_bare(manifest.benchmark.source))
    places = manifest.origins if manifest.origins is not UNSET else {}
    origins = {of: msgspec.structs.replace(each, place=_bare(each.place)) for of, each in places.items()}
    asked = manifest.generation
    if asked is not None:
        kind, mark, path = re.match(r"([^:/]*)([:/]?)(.*)", asked.model, re.DOTALL).groups()  # type: ignore[union-attr]
        asked = msgspec.structs.replace(asked, model=f"{kind}{mark}{_bare(path)}" if kind else asked.model)
    return msgspec.structs.replace(manifest, benchmark=source, generation=asked, origins=origins or UNSET)


def _bare(place: str) -> str:
    return Path(place).name if Path(place).is_absolute() else place


def _git_state() -> dict[str, str]:
    """Commit of the working directory, with a mark if it has changes; empty outside a repository."""
    command = ["git", "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=5, check=True)
    except (OSError, subprocess.SubprocessError):
        return {}
    return {"git": done.stdout.strip()}


# --------------------- ``batches.jsonl``: the batches that a run has handed to a service, and how far each is.
# A batch is written down before it is submitted, and its id after. Whoever finds the first line without the
# second knows that a batch may be under way whose id was lost, and which samples it holds.


class IntendedBatch(msgspec.Struct, frozen=True, kw_only=True, tag="intended", tag_field="kind"):
    """A batch is about to be submitted."""

    samples: tuple[SampleKey, ...]
    """Request i of the batch, whose custom id is ``TOKEN-i``, asks for sample i of these."""
    bound_usd: float | None = None
    """What it can cost at most, where price and token limit are known."""


class AcceptedBatch(msgspec.Struct, frozen=True, kw_only=True, tag="accepted", tag_field="kind"):
    """The service has taken a batch."""

    id: str
    """The service's own."""


class ClosedBatch(msgspec.Struct, frozen=True, kw_only=True, tag="closed", tag_field="kind"):
    """A batch is over: its results are in ``completions.jsonl``, or there will be none."""

    outcome: Literal["ended", "expired", "cancelled", "failed", "not submitted"]
    reason: str | None = None
    """The service's own words, where it gave some."""


class BatchEvent(msgspec.Struct, frozen=True, kw_only=True):
    """A line of ``batches.jsonl``."""

    token: str
    """Names the batch in this file and at the service, before that has given it an id."""
    at: str
    """UTC, ISO 8601."""
    did: IntendedBatch | AcceptedBatch | ClosedBatch
    schema: int = SCHEMA_VERSION


class OpenBatch(msgspec.Struct, frozen=True, kw_only=True):
    """A batch that is not closed."""

    token: str
    at: str
    """When its submission began; UTC, ISO 8601."""
    samples: tuple[SampleKey, ...]
    bound_usd: float | None
    id: str | None = None
    """None where it is not known whether the service took it."""


def new_token() -> str:
    """A name for a batch that no other has: 16 hexadecimal digits."""
    return secrets.token_hex(8)


def batches_path(run: Path) -> Path:
    """The journal of batches of a run."""
    return run / "batches.jsonl"


def open_batches(run: Path, *, notice: Notice = ignore) -> dict[str, OpenBatch]:
    """The batches of a run that are not closed, by token, in order of submission.

    Raises:
        BadRecord: a line is no event of a batch.
    """
    found: dict[str, OpenBatch] = {}
    for event in read_journal(batches_path(run), BatchEvent, notice=notice):
        _follow(found, event)
    return found


class BatchLog:
    """The batches of a run under way, and the journal that takes what becomes of them; each line is synced.

    Args:
        run: folder of the run.
        notice: told when a torn line was dropped.
    """

    def __init__(self, run: Path, *, notice: Notice = ignore) -> None:
        self.path = batches_path(run)
        self.open = open_batches(run)
        """By token, in order of submission."""
        self._journal: Journal[BatchEvent] = Journal(self.path, notice=notice, fsync_every=1)

    def intend(self, token: str, samples: Sequence[SampleKey], bound_usd: float | None) -> OpenBatch:
        """Note that a batch is about to be submitted."""
        self._append(token, IntendedBatch(samples=tuple(samples), bound_usd=bound_usd))
        return self.open[token]

    def accept(self, token: str, id_: str) -> None:
        """Note the id that the service has given."""
        self._append(token, AcceptedBatch(id=id_))

    def close_batch(self, token: str, closed: ClosedBatch) -> None:
        """Note that nothing more is to come of a batch."""
        self._append(token, closed)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._journal.close()

    def _append(self, token: str, did: IntendedBatch | AcceptedBatch | ClosedBatch) -> None:
        event = BatchEvent(token=token, at=now(), did=did)
        self._journal.append(event)
        _follow(self.open, event)


def _follow(found: dict[str, OpenBatch], event: BatchEvent) -> None:
    """What one event makes of the open batches; one without a beginning, whose line somebody removed, is none."""
    did = event.did
    if isinstance(did, IntendedBatch):
        found[event.token] = OpenBatch(
            token=event.token, at=event.at, samples=did.samples, bound_usd=did.bound_usd
        )
    elif isinstance(did, ClosedBatch):
        found.pop(event.token, None)
    elif event.token in found:
        found[event.token] = msgspec.structs.replace(found[event.token], id=did.id)
