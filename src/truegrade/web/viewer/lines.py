"""A run as one line of the list: what it is, how far it is, and its headline with the interval."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Literal

import msgspec

from truegrade.errors import UserError
from truegrade.files.json_text import UNREADABLE
from truegrade.pipeline.cautions import Caution
from truegrade.records import Estimate
from truegrade.store import Manifest
from truegrade.store.manifest import read_manifest
from truegrade.web.viewer.counting import Counts, Standing
from truegrade.web.viewer.run_folders import LOCK, Folder

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
        return _line(folder, counts, read_manifest(folder.path / "manifest.json"), running)
    except (UserError, OSError) as error:
        changed = iso(folder.newest_ns(".json", ".jsonl"))
        return RunLine(id=folder.id, state="unreadable", created=changed, changed=changed, problem=str(error))


def is_running(folder: Folder, locked: frozenset[int] | None, now_ns: int) -> bool:
    """Whether a process is writing to a run."""
    lock = folder.files.get(LOCK)
    if lock is None:
        return False
    return lock.inode in locked if locked is not None else now_ns - folder.journals_ns < FRESH_S * 1e9


def expected_tasks(manifest: Manifest) -> int:
    """Tasks that a run was to answer, those shown in its prompts left out."""
    if manifest.selected is None:
        return manifest.benchmark.problems - len(manifest.excluded)
    return sum(problem not in manifest.excluded for problem in manifest.selected)


def iso(time_ns: int) -> str:
    """A time of the file system as UTC, ISO 8601; empty for 0."""
    return datetime.fromtimestamp(time_ns / 1e9, UTC).isoformat(timespec="seconds") if time_ns else ""


def _line(folder: Folder, counts: Counts, manifest: Manifest, running: bool) -> RunLine:
    numbers = read_numbers(folder)
    generation = manifest.generation
    # A file's own problems are what an import was to answer.
    tasks = numbers.tasks if generation is None and numbers is not None else expected_tasks(manifest)
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
