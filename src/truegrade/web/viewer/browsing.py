"""The list of a run's samples as it is asked for: filtered, sorted, a page of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import msgspec

from truegrade.web.viewer.listing import Limit, Offset
from truegrade.web.viewer.sample_table import Row, SampleTable

Outcome = Literal["", "passed", "failed", "disputed", "ungraded"]
Order = Literal["failing", "written", "task", "disputed", "longest", "slowest"]


class SampleQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What ``/api/samples`` takes."""

    run: str
    profile: str = ""
    """Whose verdicts count; empty for the first that graded."""
    outcome: Outcome = ""
    reason: str = ""
    q: str = ""
    """Looked for in ``task#sample``, the line of detail and, where these do not begin so, in every text."""
    order: Order = "failing"
    offset: Offset = 0
    limit: Limit = 100


class SampleLine(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A sample in the list, its verdict under the profile asked for."""

    task: str
    sample: int
    reason: str | None = None
    """None where that profile has not graded it."""
    passed: bool = False
    line: str = ""


class SamplePage(msgspec.Struct, frozen=True, kw_only=True):
    """What ``/api/samples`` gives."""

    total: int
    matching: int
    version: int
    """Another number means that the run has grown, and positions may have moved."""
    profile: str
    profiles: list[str]
    reasons: list[str]
    """All that this profile gave."""
    offset: int
    samples: list[SampleLine]


def page(table: SampleTable, query: SampleQuery) -> SamplePage:
    """Choose from all samples of a run.

    Args:
        table: up to date.
        query: its profile may be one that has not graded the run; then nothing is graded.
    """
    profile = query.profile or (table.profiles[0] if table.profiles else "")
    wanted = msgspec.structs.replace(query, profile=profile, offset=0, limit=1)
    rows = table.chosen(wanted, lambda every: _choose(table, every, wanted))
    every = list(table.rows.values())
    reasons = {row.verdicts[profile].reason for row in every if profile in row.verdicts}
    return SamplePage(
        total=len(every),
        matching=len(rows),
        version=table.version,
        profile=profile,
        profiles=list(table.profiles),
        reasons=sorted(reasons),
        offset=query.offset,
        samples=[_line(row, profile) for row in rows[query.offset : query.offset + query.limit]],
    )


def _choose(table: SampleTable, every: list[Row], query: SampleQuery) -> list[Row]:
    rows = [row for row in every if _fits(row, query)]
    words = query.q.strip().lower()
    if words:
        rows = _searched(table, rows, words, query.profile)
    key = _KEYS[query.order]
    return rows if key is None else sorted(rows, key=lambda row: key(row, query.profile))


def _fits(row: Row, query: SampleQuery) -> bool:
    judged = row.verdicts.get(query.profile)
    if query.reason and (judged is None or judged.reason != query.reason):
        return False
    if query.outcome == "disputed":
        return _disputed(row)
    if query.outcome == "ungraded":
        return judged is None
    return not query.outcome or (judged is not None and judged.passed == (query.outcome == "passed"))


def _searched(table: SampleTable, rows: list[Row], words: str, profile: str) -> list[Row]:
    """Rows that hold the words; a task's name given from its beginning asks for that task, not for texts."""
    named = [row for row in rows if f"{row.key.problem_id}#{row.key.sample}".lower().startswith(words)]
    if named:
        return named
    found = {row.key for row, text in table.texts(rows) if words in text.lower()}
    for row in rows:
        judged = row.verdicts.get(profile)
        if words in f"{row.key.problem_id}#{row.key.sample}".lower() or (judged and words in judged.line.lower()):
            found.add(row.key)
    return [row for row in rows if row.key in found]


def _disputed(row: Row) -> bool:
    return len({judged.passed for judged in row.verdicts.values()}) > 1


def _failing(row: Row, profile: str) -> int:
    judged = row.verdicts.get(profile)
    return 2 if judged is None else int(judged.passed)


_KEYS: dict[Order, Callable[[Row, str], Any] | None] = {
    "written": None,
    "failing": _failing,
    "task": lambda row, _: (row.key.problem_id, row.key.sample),
    "disputed": lambda row, _: not _disputed(row),
    "longest": lambda row, _: -row.chars,
    "slowest": lambda row, _: -(row.latency_s or 0.0),
}


def _line(row: Row, profile: str) -> SampleLine:
    judged = row.verdicts.get(profile)
    key = row.key
    if judged is None:
        return SampleLine(task=key.problem_id, sample=key.sample)
    return SampleLine(
        task=key.problem_id, sample=key.sample, reason=judged.reason, passed=judged.passed, line=judged.line
    )
