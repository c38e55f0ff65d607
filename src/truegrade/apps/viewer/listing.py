"""The list of runs as it is asked for: filtered, sorted, a page of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal

import msgspec

from truegrade.apps.viewer.run_catalogue import Headline, RunLine, Standing, State

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
