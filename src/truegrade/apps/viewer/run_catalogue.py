"""The runs of a folder, kept up to date: a run is read again when one of its files has changed, and only then."""

from __future__ import annotations

import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from difflib import get_close_matches
from functools import cache
from http import HTTPStatus
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import msgspec

from truegrade.app import usable_apps
from truegrade.errors import UserError
from truegrade.files.json_text import UNREADABLE
from truegrade.pipeline.cautions import Caution
from truegrade.records import Estimate
from truegrade.store import Manifest
from truegrade.store.journal import Follower
from truegrade.store.manifest import read_manifest
from truegrade.web.messages import Refusal

# ----------------------------------------------------------------------------------------------------------------
# What lies in a folder of runs, told by names, sizes and times alone; no file is opened, no link is followed.


Kind = Literal["run", "evolution", "page"]
"""``page``: results of another kind, of which the page that was written with them is shown."""

MAX_DEPTH = 3
"""Folders between the root and a run: ``runs/experiment/seed-1/run`` is found."""
LOCK = ".lock"
"""Held by the process that writes to a run (`truegrade.store.Run.locked`)."""
SUITE = "a suite"
_EVOLUTION = "evolution.json"


class _Marker(NamedTuple):
    """The file by which a kind of folder is told."""

    file: str
    kind: Kind
    name: str
    page: str


@cache
def _markers() -> tuple[_Marker, ...]:
    """Of every kind that is written here: an app's first, as its folders may hold a manifest as well."""
    return (
        *(
            _Marker(kind.marker, "evolution" if kind.marker == _EVOLUTION else "page", kind.name, kind.page)
            for app in usable_apps()
            for kind in app.folders
        ),
        _Marker("manifest.json", "run", "a run", "report.html"),
        _Marker("suite.json", "page", SUITE, "suite.html"),
    )


class Stamp(NamedTuple):
    """What changes when a file does."""

    size: int
    mtime_ns: int
    inode: int


class Folder(msgspec.Struct, frozen=True, kw_only=True):
    """A run, an evolution, or other results."""

    id: str
    """Its path below the root; the only name by which a client can ask for it."""
    path: Path
    kind: Kind
    name: str
    """What it is, in words: ``an assay``."""
    page: str
    """Name of the file in it that a browser shows."""
    files: Mapping[str, Stamp]
    """Of its regular files."""

    def newest_ns(self, *suffixes: str) -> int:
        """When a file with one of these endings last changed; 0 where there is none."""
        return max((stamp.mtime_ns for name, stamp in self.files.items() if name.endswith(suffixes)), default=0)

    @property
    def verdict_files(self) -> list[str]:
        """Names of the journals of verdicts."""
        return sorted(name for name in self.files if name.startswith("verdicts.") and name.endswith(".jsonl"))

    @property
    def journals_ns(self) -> int:
        """When a completion or a verdict was last written."""
        names = ("completions.jsonl", *self.verdict_files)
        return max((self.files[name].mtime_ns for name in names if name in self.files), default=0)


def walk(root: Path) -> Iterator[Folder]:
    """Every folder of results below a folder, or the folder itself; of them only suites are looked into."""
    yield from _walk(root, root, MAX_DEPTH + 1)


def look(root: Path, folder: Path) -> Folder | None:
    """One folder as it is now; None if it holds no results, or is gone."""
    files, _ = _scan(folder)
    for file, kind, name, page in _markers():
        if file in files:
            return Folder(id=_id(root, folder), path=folder, kind=kind, name=name, page=page, files=files)
    return None


def locked_inodes() -> frozenset[int] | None:
    """Inodes of the files that a process has locked; None where the system does not tell (``/proc/locks``, Linux).

    Asking for the lock would tell everywhere, but a run that begins in that instant would find it taken.
    """
    try:
        lines = Path("/proc/locks").read_text().splitlines()
    except OSError:
        return None
    fields = (line.split() for line in lines if " FLOCK " in line and "->" not in line)
    return frozenset(int(field[5].rpartition(":")[2]) for field in fields)


def _walk(root: Path, folder: Path, depth: int) -> Iterator[Folder]:
    found = look(root, folder)
    if found is not None:
        yield found
    if depth and (found is None or found.name == SUITE):
        for name in sorted(_scan(folder)[1]):
            yield from _walk(root, folder / name, depth - 1)


def _scan(folder: Path) -> tuple[dict[str, Stamp], list[str]]:
    """Regular files with their stamps, and names of visible folders."""
    files: dict[str, Stamp] = {}
    folders: list[str] = []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    if not entry.name.startswith("."):
                        folders.append(entry.name)
                elif entry.is_file(follow_symlinks=False):
                    status = entry.stat(follow_symlinks=False)
                    files[entry.name] = Stamp(status.st_size, status.st_mtime_ns, status.st_ino)
    except OSError:  # removed meanwhile, or not ours to read
        return {}, []
    return files, folders


def _id(root: Path, folder: Path) -> str:
    return root.resolve().name if folder == root else folder.relative_to(root).as_posix()


# ----------------------------------------------------- How far a run is, counted in its journals as they grow.


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """How far a profile's grading is, counted in the journal; not an estimate."""

    profile: str
    graded: int
    passed: int


class _Asked(msgspec.Struct, frozen=True):
    text: str | None = None
    cost_usd: float | None = None


class _Judged(msgspec.Struct, frozen=True):
    profile: str
    passed: bool


class Counts:
    """Running totals of the journals of one run; each look reads what is new."""

    def __init__(self, folder: Folder) -> None:
        self._path = folder.path
        self._clear()

    def _clear(self) -> None:
        self._asked = Follower(self._path / "completions.jsonl", _Asked)
        self._judged: dict[str, Follower[_Judged]] = {}
        self.answered = 0
        self.cost_usd: float | None = None
        self._tallies: dict[str, list[int]] = {}

    def update(self, folder: Folder) -> None:
        """Read on.

        Raises:
            BadRecord: a line is no record.
        """
        for name in folder.verdict_files:
            self._judged.setdefault(name, Follower(self._path / name, _Judged))
        replaced = [follower.replaced() for follower in self._judged.values()]
        if self._asked.replaced() or any(replaced):
            self._clear()
            return self.update(folder)
        for _, asked in self._asked.news():
            self.answered += asked.text is not None
            if asked.cost_usd is not None:
                self.cost_usd = (self.cost_usd or 0.0) + asked.cost_usd
        for follower in self._judged.values():
            for _, judged in follower.news():
                tally = self._tallies.setdefault(judged.profile, [0, 0])
                tally[0] += 1
                tally[1] += judged.passed
        return None

    @property
    def standings(self) -> tuple[Standing, ...]:
        """By profile."""
        return tuple(Standing(profile=name, graded=n, passed=c) for name, (n, c) in self._tallies.items())


# --------------- A run as one line of the list: what it is, how far it is, and its headline with the interval.


State = Literal["running", "unfinished", "finished", "unreadable"]
FRESH_S = 30.0
"""Where the system does not tell who holds a lock, a run that was written to so recently counts as running."""


class ProfileNumbers(msgspec.Struct, frozen=True, kw_only=True):
    """The part of a profile's summary that the viewer shows."""

    profile: str
    estimates: list[Estimate]
    reasons: dict[str, int] = {}
    level: int | None = None


class _Usage(msgspec.Struct, frozen=True):
    cost_usd: float | None = None


class Numbers(msgspec.Struct, frozen=True, kw_only=True):
    """The part of ``summary.json`` that the viewer shows."""

    model: str
    tasks: int
    expected: int
    answered: int
    profiles: list[ProfileNumbers]
    warnings: list[Caution] = []
    usage: _Usage = _Usage()


class Headline(msgspec.Struct, frozen=True, kw_only=True):
    """The first number under one profile."""

    profile: str
    metric: str
    value: float
    low: float | None
    high: float | None
    confidence: float


class RunLine(msgspec.Struct, frozen=True, kw_only=True):
    """A run in the list."""

    id: str
    state: State
    benchmark: str = ""
    model: str = ""
    agent: str | None = None
    profiles: tuple[str, ...] = ()
    headlines: tuple[Headline, ...] = ()
    """By profile, of the last summary; empty where there is none."""
    grown: bool = False
    """Whether the journals hold more than the headlines rest on."""
    so_far: tuple[Standing, ...] = ()
    """By profile, where there is no summary or it has been outgrown."""
    tasks: int = 0
    samples_per_task: int = 0
    expected: int = 0
    answered: int = 0
    cost_usd: float | None = None
    created: str = ""
    changed: str = ""
    """When a completion or a verdict was last written; UTC, ISO 8601."""
    problem: str = ""
    """Why the run cannot be read."""


def read_numbers(folder: Folder) -> Numbers | None:
    """What the last summary says; None without one.

    Raises:
        UserError: it is no summary.
    """
    if "summary.json" not in folder.files:
        return None
    path = folder.path / "summary.json"
    try:
        return msgspec.json.decode(path.read_bytes(), type=Numbers)
    except UNREADABLE as error:
        raise UserError(f"{path}: {error}; grade the run again to rewrite it") from None


def read_line(folder: Folder, counts: Counts, *, running: bool) -> RunLine:
    """Read a run's line; one that cannot be read says why."""
    try:
        return _counted_line(folder, counts, read_manifest(folder.path / "manifest.json"), running)
    except (UserError, OSError) as error:
        changed = iso(folder.newest_ns(".json", ".jsonl"))
        return RunLine(id=folder.id, state="unreadable", created=changed, changed=changed, problem=str(error))


def is_running(folder: Folder, locked: frozenset[int] | None, now_ns: int) -> bool:
    """Whether a process is writing to a run."""
    lock = folder.files.get(LOCK)
    if lock is None:
        return False
    return lock.inode in locked if locked is not None else now_ns - folder.journals_ns < FRESH_S * 1e9


def iso(time_ns: int) -> str:
    """A time of the file system as UTC, ISO 8601; empty for 0."""
    return datetime.fromtimestamp(time_ns / 1e9, UTC).isoformat(timespec="seconds") if time_ns else ""


def _counted_line(folder: Folder, counts: Counts, manifest: Manifest, running: bool) -> RunLine:
    numbers = read_numbers(folder)
    generation = manifest.generation
    # A file's own problems are what an import was to answer.
    tasks = numbers.tasks if generation is None and numbers is not None else manifest.wanted
    outgrown = numbers is None or folder.journals_ns > folder.files["summary.json"].mtime_ns
    if outgrown:
        counts.update(folder)
    # Copied files may lie about their times, so what they hold decides.
    grown = outgrown and (numbers is None or _holds_more(counts, numbers))
    expected = tasks * manifest.samples_per_task
    answered = counts.answered if numbers is None or grown else numbers.answered
    finished = numbers is not None and not grown and answered >= expected
    headlines = () if numbers is None else tuple(map(_headline, numbers.profiles))
    standings = counts.standings if grown else ()
    named = [*(one.profile for one in headlines), *(one.profile for one in standings)]
    return RunLine(
        id=folder.id,
        state="running" if running else "finished" if finished else "unfinished",
        benchmark=manifest.benchmark.label,
        model=generation.model if generation else numbers.model if numbers else "imported",
        agent=generation.agent.name if generation and generation.agent else None,
        profiles=tuple(dict.fromkeys(named)),
        headlines=headlines,
        grown=grown and numbers is not None,
        so_far=standings,
        tasks=tasks,
        samples_per_task=manifest.samples_per_task,
        expected=expected,
        answered=answered,
        cost_usd=counts.cost_usd if numbers is None or grown else numbers.usage.cost_usd,
        created=manifest.created,
        changed=iso(folder.journals_ns) or manifest.created,
    )


def _holds_more(counts: Counts, numbers: Numbers) -> bool:
    counted = {profile.profile: sum(profile.reasons.values()) for profile in numbers.profiles}
    graded = {one.profile: one.graded for one in counts.standings}
    return counts.answered > numbers.answered or any(n > counted.get(name, 0) for name, n in graded.items())


def _headline(profile: ProfileNumbers) -> Headline:
    first = profile.estimates[0]
    return Headline(
        profile=profile.profile,
        metric=first.metric,
        value=first.value,
        low=first.low,
        high=first.high,
        confidence=first.confidence,
    )


FRESH_FOR_S = 0.5
"""Two requests within this time see the same list."""


class _Known(msgspec.Struct):
    folder: Folder
    counts: Counts
    seen: tuple[Mapping[str, Stamp], bool] | None = None
    """Files and running, as the line was read; None before the first time."""
    line: RunLine | None = None


class RunCatalogue:
    """Knows every run and other results below a folder; safe to ask from several threads.

    Args:
        root: the folder.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self._known: dict[str, _Known] = {}
        self._lock = threading.Lock()
        self._looked_at = -FRESH_FOR_S

    def lines(self) -> list[RunLine]:
        """Every run, in the order of the ids, but those that began and ended without a reply."""
        with self._lock:
            self._refresh()
            locked, now_ns = locked_inodes(), time.time_ns()
            runs = [known for known in self._known.values() if known.folder.kind == "run"]
            lines = [(known.folder, _line(known, locked, now_ns)) for known in runs]
            return [line for folder, line in lines if line.state != "unfinished" or _has_replies(folder)]

    def line(self, run_id: str) -> RunLine:
        """One run, as it is now.

        Raises:
            Refusal: 404, there is none of that id.
        """
        with self._lock:
            return _line(self._find(run_id, "run"), locked_inodes(), time.time_ns())

    def folders(self, kind: Kind) -> list[Folder]:
        """Every folder of a kind."""
        with self._lock:
            self._refresh()
            return [known.folder for known in self._known.values() if known.folder.kind == kind]

    def folder(self, wanted: str, kind: Kind) -> Folder:
        """A folder by its id, as it is now. No path is made of what a client sends: ids are looked up.

        Raises:
            Refusal: 404, there is none of that id.
        """
        with self._lock:
            return self._find(wanted, kind).folder

    def _find(self, wanted: str, kind: Kind) -> _Known:
        if wanted not in self._known:
            self._refresh()
        known = self._known.get(wanted)
        found = None if known is None else look(self.root, known.folder.path)
        if known is None or found is None or found.kind != kind:
            ids = [name for name, one in self._known.items() if one.folder.kind == kind]
            close = get_close_matches(wanted[:200], ids, n=1)
            hint = f"did you mean {close[0]}?" if close else "the page lists what there is"
            raise Refusal(HTTPStatus.NOT_FOUND, f"no {kind} {wanted[:200]!r} here; {hint}")
        known.folder = found
        return known

    def _refresh(self) -> None:
        if time.monotonic() - self._looked_at < FRESH_FOR_S:
            return
        known = {}
        for folder in walk(self.root):
            one = self._known.get(folder.id)
            if one is None or one.folder.kind != folder.kind:
                one = _Known(folder, Counts(folder))
            one.folder = folder
            known[folder.id] = one
        self._known = known
        self._looked_at = time.monotonic()


def _has_replies(folder: Folder) -> bool:
    completions = folder.files.get("completions.jsonl")
    return bool(completions and completions.size) or bool(folder.verdict_files)


def _line(known: _Known, locked: frozenset[int] | None, now_ns: int) -> RunLine:
    seen = (known.folder.files, is_running(known.folder, locked, now_ns))
    if known.line is None or seen != known.seen:
        known.line = read_line(known.folder, known.counts, running=seen[1])
        known.seen = seen
    return known.line


# -------------------------------------------- The list of runs as it is asked for: filtered, sorted, a page of it.


Offset = Annotated[int, msgspec.Meta(ge=0)]
Limit = Annotated[int, msgspec.Meta(ge=1, le=500)]
Order = Literal["created", "changed", "benchmark", "model", "profile", "value", "n", "cost", "state"]


class RunQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What ``/api/runs`` takes."""

    q: str = ""
    """Words that id, benchmark, model, agent or profile must contain, each of them."""
    benchmark: str = ""
    model: str = ""
    profile: str = ""
    """Also decides whose number is shown."""
    state: State | Literal[""] = ""
    sort: Order = "created"
    descending: bool = True
    offset: Offset = 0
    limit: Limit = 100


class ListedRun(msgspec.Struct, frozen=True, kw_only=True):
    """A run and the one number of it that the list shows."""

    run: RunLine
    headline: Headline | None
    so_far: Standing | None


class RunPage(msgspec.Struct, frozen=True, kw_only=True):
    """What ``/api/runs`` gives."""

    total: int
    matching: int
    runs: list[ListedRun]
    benchmarks: dict[str, int]
    """Names among all runs and how many bear them."""
    models: dict[str, int]
    profiles: dict[str, int]
    states: dict[str, int]


def page(lines: Sequence[RunLine], query: RunQuery) -> RunPage:
    """Choose from all runs."""
    words = query.q.lower().split()
    rows = [_listed(line, query.profile) for line in lines if _fits(line, query, words)]
    rows.sort(key=lambda row: row.run.id)
    key = _KEYS[query.sort]
    # Runs without the value come last whichever way the others are sorted.
    with_value = [row for row in rows if key(row) is not None]
    with_value.sort(key=key, reverse=query.descending)
    without = [row for row in rows if key(row) is None]
    ordered = [*with_value, *without]
    return RunPage(
        total=len(lines),
        matching=len(ordered),
        runs=ordered[query.offset : query.offset + query.limit],
        benchmarks=_names(line.benchmark for line in lines),
        models=_names(line.model for line in lines),
        profiles=_names(profile for line in lines for profile in line.profiles),
        states=_names(line.state for line in lines),
    )


def _listed(line: RunLine, profile: str) -> ListedRun:
    return ListedRun(
        run=line,
        headline=next((one for one in line.headlines if profile in ("", one.profile)), None),
        so_far=next((one for one in line.so_far if profile in ("", one.profile)), None),
    )


def _fits(line: RunLine, query: RunQuery, words: Sequence[str]) -> bool:
    text = " ".join((line.id, line.benchmark, line.model, line.agent or "", *line.profiles)).lower()
    return (
        query.benchmark in ("", line.benchmark)
        and query.model in ("", line.model)
        and query.state in ("", line.state)
        and (not query.profile or query.profile in line.profiles)
        and all(word in text for word in words)
    )


def _names(values: Any) -> dict[str, int]:
    counted = Counter(value for value in values if value)
    return {name: counted[name] for name in sorted(counted)}


def _value(row: ListedRun) -> float | None:
    if row.headline is not None:
        return row.headline.value
    return row.so_far.passed / row.so_far.graded if row.so_far is not None and row.so_far.graded else None


_KEYS: dict[Order, Callable[[ListedRun], Any]] = {
    "created": lambda row: row.run.created or None,
    "changed": lambda row: row.run.changed or None,
    "benchmark": lambda row: row.run.benchmark or None,
    "model": lambda row: row.run.model.lower() or None,
    "profile": lambda row: row.run.profiles[0] if row.run.profiles else None,
    "value": _value,
    "n": lambda row: row.run.expected or None,
    "cost": lambda row: row.run.cost_usd,
    "state": lambda row: row.run.state,
}
