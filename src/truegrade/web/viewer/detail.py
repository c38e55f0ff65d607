"""One run in full: every number of its summary, what doubts it carries, and the facts of its manifest."""

from __future__ import annotations

import shutil
import tempfile
import threading
from collections.abc import Mapping
from http import HTTPStatus
from pathlib import Path
from typing import Literal

import msgspec

from truegrade.benchmarks import BENCHMARKS, find_benchmark, load_benchmark
from truegrade.datasets import source
from truegrade.datasets.download import find
from truegrade.errors import UserError
from truegrade.files.json_text import UNREADABLE
from truegrade.pipeline.cautions import Caution
from truegrade.pipeline.loading import problems_of
from truegrade.pipeline.summary import summarise_run
from truegrade.profiles import open_stored
from truegrade.records import Problem
from truegrade.report.html import write_report
from truegrade.store import Manifest, Run
from truegrade.store.manifest import now, read_manifest, write_manifest
from truegrade.web.http_refusals import Refusal
from truegrade.web.viewer.run_catalogue import Folder, ProfileNumbers, RunLine, Stamp, read_numbers

# ----------------------------------------------------------------------------------------------------------------
# The report of a run as the run is now, made in a folder of its own: nothing is written where the run lies.


Report = Literal["stored", "rebuilt", "counted", "older", "none"]
"""What a report would be: the run's own page; the page of its summary; of a summary counted anew from its
journals, which needs the data set at hand; of an older summary, because it is not; or nothing without either."""


class Reports:
    """Pages of runs, each made once for a state of its run."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="truegrade-view-")
        self._made: dict[str, tuple[Mapping[str, Stamp], Path]] = {}
        self._lock = threading.Lock()

    def close(self) -> None:
        """Remove what was made, behind whatever is being made."""
        with self._lock:
            self._folder.cleanup()

    def of(self, folder: Folder, line: RunLine) -> bytes:
        """The page of a run.

        Raises:
            Refusal: 404, there is nothing to report yet.
            UserError: the run cannot be read.
        """
        kind = kind_of(folder, line)
        if kind == "none":
            raise Refusal(
                HTTPStatus.NOT_FOUND, f"{folder.id} has no verdicts to report yet; its samples can be read"
            )
        if kind == "stored":
            return (folder.path / "report.html").read_bytes()
        with self._lock:
            files, page = self._made.get(folder.id, ({}, Path()))
            if files != folder.files:
                if files:
                    shutil.rmtree(page.parent, ignore_errors=True)
                page = Path(tempfile.mkdtemp(dir=self._folder.name)) / "report.html"
                write_report(_counted(folder, page.parent) if kind == "counted" else Run.open(folder.path), page)
                self._made[folder.id] = (folder.files, page)
            return page.read_bytes()


def kind_of(folder: Folder, line: RunLine) -> Report:
    """What a report of this run would be."""
    if line.so_far and _data_at_hand(folder):
        return "counted"
    if not line.headlines:
        return "none"
    if line.grown:
        return "older"
    own = folder.files.get("report.html")
    return "stored" if own and own.mtime_ns >= folder.files["summary.json"].mtime_ns else "rebuilt"


def _counted(folder: Folder, shadow: Path) -> Run:
    """A run of links to this one's files, with a summary of what they hold now."""
    run = Run.open(folder.path)
    problems = _problems(run)
    for name in folder.files:
        if name.endswith(".jsonl") or name == "audit.json":
            (shadow / name).symlink_to((folder.path / name).resolve())
    graded = [profile for name in folder.verdict_files if (profile := _profile_of(folder.path / name))]
    times = {profile: run.manifest.profiles.get(profile, now()) for profile in graded}
    # A profile is noted in the manifest once its grading is through; here it counts from its first verdict.
    write_manifest(shadow / "manifest.json", msgspec.structs.replace(run.manifest, profiles=times))
    counted = Run.open(shadow)
    summary = summarise_run(
        counted, problems, [open_stored(profile, run.manifest.origin(profile), run.path) for profile in graded]
    )
    counted.write("summary.json", msgspec.json.encode(summary))
    return counted


class _Named(msgspec.Struct, frozen=True):
    profile: str


def _profile_of(path: Path) -> str | None:
    """Under which profile a journal's verdicts are; None of an empty one."""
    with path.open("rb") as file:
        line = file.readline()
    try:
        return msgspec.json.decode(line, type=_Named).profile if line.endswith(b"\n") else None
    except UNREADABLE:  # a damaged line
        return None


def _data_at_hand(folder: Folder) -> bool:
    """Whether the problems of a run can be read without a download and without running anybody's code."""
    try:
        identity = Run.open(folder.path).manifest.benchmark
    except UserError:
        return False
    if identity.name not in BENCHMARKS:
        return False
    spec = find_benchmark(identity.name)
    return Path(identity.source).exists() or (spec.source is not None and find(source(spec.source)) is not None)


def _problems(run: Run) -> dict[str, Problem]:
    """The problems that a run is counted over."""
    identity = run.manifest.benchmark
    data = Path(identity.source) if Path(identity.source).exists() else None
    loaded = load_benchmark(identity.name, data, identity.args)
    if loaded.dataset_sha256 != identity.dataset_sha256:
        raise UserError(
            f"{run.path} was made from another version of {identity.name} than the data at hand, so it cannot be"
            " counted here; grade it where its data is"
        )
    return problems_of(run, loaded)


class RunDetail(msgspec.Struct, frozen=True, kw_only=True):
    """What ``/api/run`` gives."""

    run: RunLine
    profiles: list[ProfileNumbers]
    """As of the last summary."""
    warnings: list[Caution] = []
    facts: list[tuple[str, str]]
    report: Report


def read_detail(folder: Folder, line: RunLine) -> RunDetail:
    """Read a run; of one that cannot be read only its line is told."""
    if line.state == "unreadable":
        return RunDetail(run=line, profiles=[], facts=[("folder", str(folder.path))], report="none")
    try:
        numbers = read_numbers(folder)
        manifest = read_manifest(folder.path / "manifest.json")
    except UserError as error:  # damaged since its line was read
        broken = msgspec.structs.replace(line, state="unreadable", problem=str(error))
        return RunDetail(run=broken, profiles=[], facts=[("folder", str(folder.path))], report="none")
    return RunDetail(
        run=line,
        profiles=numbers.profiles if numbers else [],
        warnings=numbers.warnings if numbers else [],
        facts=[(name, value) for name, value in _facts(folder, manifest) if value],
        report=kind_of(folder, line),
    )


def _facts(folder: Folder, manifest: Manifest) -> list[tuple[str, str]]:
    config = manifest.generation
    facts = [
        ("folder", str(folder.path)),
        ("data set", f"{manifest.benchmark.label}, sha256 {manifest.benchmark.dataset_sha256[:12]}…"),
        ("task arguments", _pairs(manifest.benchmark.args)),
        ("imported from", manifest.imported_from or ""),
        ("Truegrade", manifest.environment.get("truegrade", "")),
        ("git", manifest.environment.get("git", "")[:12]),
        ("adaptations", ", ".join(manifest.adaptations)),
    ]
    if config is None:
        return facts
    sampling = msgspec.to_builtins(config.sampling)
    return [
        *facts,
        ("address", config.base_url or ""),
        ("prompt", config.prompt_rule),
        ("sampling", _pairs({name: value for name, value in sampling.items() if value not in (None, ())})),
        ("model arguments", _pairs(config.model_args)),
        (
            "agent",
            f"{config.agent.name} {config.agent.version}, {_pairs(config.agent.args)}" if config.agent else "",
        ),
    ]


def _pairs(values: Mapping[str, object]) -> str:
    return ", ".join(f"{name} {value}" for name, value in values.items())
