"""One run in full, runs beside the first of them, and what else lies in a folder of runs."""

from __future__ import annotations

import shutil
import tempfile
import threading
from collections.abc import Iterable, Mapping, Sequence
from http import HTTPStatus
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from truegrade import api
from truegrade.analysis.audit.findings import Audit
from truegrade.apps.viewer.run_catalogue import Folder, ProfileNumbers, RunLine, Stamp, iso, read_numbers
from truegrade.errors import UserError
from truegrade.files.json_text import UNREADABLE
from truegrade.files.kept import LastKept
from truegrade.pipeline.cautions import Caution
from truegrade.pipeline.finishing import summarise_so_far
from truegrade.pipeline.loading import data_at_hand, problems_at_hand, reference_programs, references_at_hand
from truegrade.records import Estimate
from truegrade.report.html import write_report
from truegrade.statistics.reasoning_records import ShareDifference
from truegrade.store import Manifest, Run
from truegrade.store.manifest import read_manifest
from truegrade.web.messages import Refusal

# -------- One run in full: every number of its summary, what doubts it carries, and the facts of its manifest.

# ----------------------------------------------------------------------------------------------------------------
# The report of a run as the run is now, made in a folder of its own: nothing is written where the run lies.


Report = Literal["stored", "rebuilt", "counted", "older", "none"]
"""What a report would be: the run's own page; the page of its summary; of a summary counted anew from its
journals, which needs the data set at hand; of an older summary, because it is not; or nothing without either."""


class ReferencePrograms:
    """The data sets' own programs beside the answers of runs, read when the first is asked for."""

    def __init__(self) -> None:
        self._kept = LastKept[Mapping[str, str]](4)

    def of(self, folder: Folder) -> Mapping[str, str]:
        """By problem id; nothing where the data set is not at hand, or is another version."""
        return self._kept.of(folder.id, lambda: references_at_hand(Run.open(folder.path)))


class Reports:
    """Pages of runs, each made once for a state of its run.

    Args:
        references: shown beside answers that are refused.
    """

    def __init__(self, references: ReferencePrograms) -> None:
        self._references = references
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
                run = Run.open(folder.path).so_far()
                if kind == "counted":
                    problems = problems_at_hand(run)
                    write_report(run, page, summarise_so_far(run, problems), reference_programs(problems))
                else:
                    write_report(run, page, references=self._references.of(folder))
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


def _data_at_hand(folder: Folder) -> bool:
    try:
        return data_at_hand(Run.open(folder.path))
    except UserError:
        return False


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


# --------------- Chosen runs against the first of them: `truegrade.api.compare` for each, and what it refuses.

NAMED_TASKS = 500
"""Task ids a list of wins or losses carries; the count beside it is of all."""


class CompareQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What ``/api/compare`` takes."""

    run: Annotated[list[str], msgspec.Meta(min_length=2, max_length=20)]
    """Ids; the first is what the others are compared with."""
    profile: str = ""
    force: bool = False
    """Compare even what is not comparable."""


class TaskList(msgspec.Struct, frozen=True, kw_only=True):
    """Tasks, the first `NAMED_TASKS` by name."""

    count: int
    tasks: list[str]


class ComparedRun(msgspec.Struct, frozen=True, kw_only=True):
    """One run minus the first, paired by task; only ``problem`` where they cannot be compared."""

    run: str
    problem: str = ""
    profile: str = ""
    rate_first: float = 0.0
    rate: float = 0.0
    difference: float = 0.0
    low: float | None = None
    high: float | None = None
    confidence: float = 0.95
    method: str = ""
    permutation_p: float = 1.0
    mcnemar_p: float | None = None
    tasks: int = 0
    clusters: int = 0
    wins: TaskList = TaskList(count=0, tasks=[])
    losses: TaskList = TaskList(count=0, tasks=[])
    ties: int = 0
    only_first: int = 0
    """Tasks that this run lacks."""
    only_here: int = 0
    parts: tuple[ShareDifference, ...] = ()


class ComparisonPage(msgspec.Struct, frozen=True, kw_only=True):
    """What ``/api/compare`` gives."""

    first: str
    benchmark: str
    """That of the first run."""
    profiles: list[str]
    """Those that every run was graded under."""
    contenders: list[ComparedRun]


def compare(folders: Sequence[Folder], query: CompareQuery) -> ComparisonPage:
    """Compare runs with the first one.

    Raises:
        UserError: the first run cannot be read.
    """
    first = Run.open(folders[0].path)
    runs = [Run.open(folder.path) for folder in folders]
    common = [profile for profile in first.profiles if all(profile in run.profiles for run in runs)]
    return ComparisonPage(
        first=folders[0].id,
        benchmark=first.manifest.benchmark.label,
        profiles=common,
        contenders=[
            _contender(first, run, folder.id, query) for run, folder in zip(runs[1:], folders[1:], strict=True)
        ],
    )


def _contender(first: Run, run: Run, run_id: str, query: CompareQuery) -> ComparedRun:
    profile = query.profile or next((one for one in first.profiles if one in run.profiles), "")
    if not profile:
        names = [", ".join(one.profiles) or "nothing yet" for one in (first, run)]
        problem = f"no profile in common: {first.given} was graded under {names[0]}, {run.given} under {names[1]}"
        return ComparedRun(run=run_id, problem=problem)
    try:
        found = api.compare(first, run, profile=profile, force=query.force)
    except UserError as error:
        return ComparedRun(run=run_id, problem=str(error))
    return ComparedRun(
        run=run_id,
        profile=profile,
        rate_first=found.rate_a,
        rate=found.rate_b,
        difference=found.difference,
        low=found.low,
        high=found.high,
        confidence=found.confidence,
        method=found.method,
        permutation_p=found.permutation_p,
        mcnemar_p=found.mcnemar_p,
        tasks=found.tasks,
        clusters=found.clusters,
        wins=_tasks(found.wins),
        losses=_tasks(found.losses),
        ties=len(found.ties),
        only_first=len(found.only_a),
        only_here=len(found.only_b),
        parts=found.parts,
    )


def _tasks(names: Sequence[str]) -> TaskList:
    return TaskList(count=len(names), tasks=list(names[:NAMED_TASKS]))


# ---------------------------------- What else lies in a folder of runs: evolutions, and audits that were kept.

AUDITS = "audits"
"""Folder in which audits may be kept; those beside the runs and a run's ``audit.json`` are found too."""
MAX_AUDIT_BYTES = 64_000_000


class EvolutionLine(msgspec.Struct, frozen=True, kw_only=True):
    """An evolution in the list."""

    id: str
    name: str = ""
    benchmark: str = ""
    base: str = ""
    searches: tuple[str, ...] = ()
    objectives: tuple[str, ...] = ()
    evaluations: int = 0
    """Lines of its log of events so far."""
    final: Estimate | None = None
    """Of the selected adapter on problems that no choice has seen; None until the end."""
    base_final: Estimate | None = None
    has_report: bool = False
    changed: str = ""
    problem: str = ""


class PageLine(msgspec.Struct, frozen=True, kw_only=True):
    """Results of another kind in the list."""

    id: str
    name: str
    """What they are: ``an assay``."""
    has_page: bool
    changed: str


class AuditLine(msgspec.Struct, frozen=True, kw_only=True):
    """An audit in the list."""

    file: str
    """Where it is kept, below the folder of runs."""
    audit: Audit
    clean: bool
    changed: str


class Others(msgspec.Struct, frozen=True, kw_only=True):
    """What ``/api/others`` gives."""

    evolutions: list[EvolutionLine]
    pages: list[PageLine]
    audits: list[AuditLine]


class _Search(msgspec.Struct, frozen=True):
    name: str


class _Evolution(msgspec.Struct, frozen=True):
    name: str
    benchmark: str
    base: str
    searches: tuple[_Search, ...] = ()
    objectives: tuple[str, ...] = ()


class _Selected(msgspec.Struct, frozen=True):
    search: str
    final: Estimate


class _Final(msgspec.Struct, frozen=True):
    chosen: str
    base: Estimate
    selected: tuple[_Selected, ...] = ()


def page_line(folder: Folder) -> PageLine:
    """A line of results of which nothing is read but the page."""
    changed = iso(folder.newest_ns(".json", ".jsonl"))
    return PageLine(id=folder.id, name=folder.name, has_page=folder.page in folder.files, changed=changed)


def evolution_line(folder: Folder) -> EvolutionLine:
    """Read an evolution's line (formats: `truegrade.apps.evolve.folder`); one that cannot be read says why."""
    changed = iso(folder.newest_ns(".json", ".jsonl"))
    try:
        known = msgspec.json.decode((folder.path / "evolution.json").read_bytes(), type=_Evolution)
        final = _final(folder)
        evaluations = _lines(folder.path / "events.jsonl") if "events.jsonl" in folder.files else 0
    except (*UNREADABLE, OSError) as error:
        return EvolutionLine(id=folder.id, changed=changed, problem=f"evolution.json or final.json: {error}")
    chosen = next((one for one in final.selected if one.search == final.chosen), None) if final else None
    return EvolutionLine(
        id=folder.id,
        name=known.name,
        benchmark=known.benchmark,
        base=known.base,
        searches=tuple(search.name for search in known.searches),
        objectives=known.objectives,
        evaluations=evaluations,
        final=chosen.final if chosen else None,
        base_final=final.base if final else None,
        has_report="report.html" in folder.files,
        changed=changed,
    )


def audit_lines(root: Path, runs: Iterable[Path]) -> list[AuditLine]:
    """The audits kept in JSON beside the runs, in the folder `AUDITS`, and as ``audit.json`` of a run.

    Args:
        root: the folder of runs.
        runs: folders of the runs.
    """
    files = [*root.glob("*.json"), *(root / AUDITS).glob("*.json"), *(run / "audit.json" for run in runs)]
    read = (_audit(root, path) for path in files if path.is_file() and not path.is_symlink())
    return sorted((line for line in read if line is not None), key=lambda line: line.changed, reverse=True)


def _audit(root: Path, path: Path) -> AuditLine | None:
    """None of a file that is no audit."""
    try:
        status = path.stat()
        if status.st_size > MAX_AUDIT_BYTES:
            return None
        audit = msgspec.json.decode(path.read_bytes(), type=Audit)
    except (*UNREADABLE, OSError):
        return None
    short = msgspec.structs.replace(
        audit, findings=[msgspec.structs.replace(finding, rows=finding.rows[:40]) for finding in audit.findings]
    )
    name = path.relative_to(root).as_posix()
    return AuditLine(file=name, audit=short, clean=audit.clean, changed=iso(status.st_mtime_ns))


def _final(folder: Folder) -> _Final | None:
    if "final.json" not in folder.files:
        return None
    return msgspec.json.decode((folder.path / "final.json").read_bytes(), type=_Final)


def _lines(path: Path) -> int:
    with path.open("rb") as file:
        return sum(block.count(b"\n") for block in iter(lambda: file.read(1 << 20), b""))
