"""What else lies in a folder of runs: evolutions, and audits that were kept."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import msgspec

from truegrade.analysis.audit.findings import Audit
from truegrade.files.json_text import UNREADABLE
from truegrade.records import Estimate
from truegrade.web.viewer.run_catalogue import Folder, iso

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


def evolution_line(folder: Folder) -> EvolutionLine:
    """Read an evolution's line (formats: `truegrade.evolution.folder`); one that cannot be read says why."""
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
