"""Windows of contest problems: which of them, and in which groups, by their tags.

One rule for the data set (``-T start=…``), for a run that is graded or reported in part, and for a comparison.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from math import sqrt
from types import MappingProxyType

import msgspec

from truegrade.errors import UserError
from truegrade.records import Estimate
from truegrade.statistics.tally import TaskTally, estimate

FILTERS: Mapping[str, str] = MappingProxyType(
    {
        "start": "YYYY-MM-DD: contests of this day or later",
        "end": "YYYY-MM-DD: contests up to this day's midnight",
        "month": "YYYY-MM: contests of this month",
        "platform": "leetcode, codeforces or atcoder",
        "difficulty": "easy, medium or hard",
    }
)
"""Arguments that only leave problems out, each with its meaning."""

Window = Mapping[str, str]
"""Some of `FILTERS` with their values; empty for everything."""
EVERYTHING: Window = MappingProxyType({})

Tags = Mapping[str, str]
"""`truegrade.records.Problem.tags`; read are ``contest_date``, ``platform``, ``difficulty``, ``kind`` and
``hidden_behaviour``."""

GROUPS = ("difficulty", "platform", "kind", "hidden_behaviour", "month")
"""What rates are split by, besides a model's cut-off."""
CUTOFF = "cut-off"

_FORMATS = {"start": ("%Y-%m-%d", "a day written YYYY-MM-DD"), "month": ("%Y-%m", "a month written YYYY-MM")}
_FORMATS["end"] = _FORMATS["start"]


def check_window(window: Window) -> None:
    """Refuse dates that are none.

    Raises:
        UserError: names the argument.
    """
    for name in window.keys() & _FORMATS.keys():
        written, words = _FORMATS[name]
        _parsed(window[name], written, f"`task_args` {name}={window[name]}: must be {words}")


def check_cutoff(text: str | None) -> None:
    """Refuse a cut-off that is no day.

    Raises:
        UserError: it is none.
    """
    if text is not None:
        _parsed(text, "%Y-%m-%d", f"`cutoff` {text}: must be a day written YYYY-MM-DD")


def inside(tags: Tags, window: Window) -> bool:
    """Whether a problem lies in the window; one without the tag that is asked for does not."""
    return all(_fits(tags, name, value) for name, value in window.items())


def narrowed(first: Window, second: Window) -> dict[str, str]:
    """The window that both are: the later start, the earlier end, and else the second's value."""
    both = {**first, **second}
    for name, stricter in (("start", max), ("end", min)):
        values = [window[name] for window in (first, second) if name in window]
        if values:
            both[name] = stricter(values)
    return both


def described(window: Window) -> str:
    """What leaves problems out, in a sentence: ``start=2024-01-01, platform=leetcode``."""
    return ", ".join(f"{name}={value}" for name, value in window.items())


def groups_of(tags: Tags, cutoff: str | None) -> dict[str, str]:
    """Which group of each kind a problem belongs to.

    Args:
        tags: of the problem.
        cutoff: last day of a model's training data, ``YYYY-MM-DD``; contests up to it may have been seen.
    """
    known = {name: tags[name] for name in GROUPS if name in tags}
    day = tags.get("contest_date", "")[:10]
    if day:
        known["month"] = day[:7]
        if cutoff is not None:
            # Days in ISO 8601 sort as texts.
            known[CUTOFF] = f"up to {cutoff}" if day <= cutoff else f"after {cutoff}"
    return known


def split(tasks: Iterable[tuple[str, Tags]], cutoff: str | None) -> dict[tuple[str, str], list[str]]:
    """Problems by kind of group and group, in order; a kind that puts all problems in one group says nothing.

    Args:
        tasks: id and tags of each.
        cutoff: as `groups_of` takes it.
    """
    found: dict[tuple[str, str], list[str]] = {}
    for task, tags in tasks:
        for group in groups_of(tags, cutoff).items():
            found.setdefault(group, []).append(task)
    kinds = [kind for kind, _ in found]
    return {key: found[key] for key in sorted(found, key=_place) if kinds.count(key[0]) > 1}


_ORDER = ("easy", "medium", "hard")


def _place(group: tuple[str, str]) -> tuple[int, int, str]:
    kind, value = group
    kinds = (CUTOFF, *GROUPS)
    rank = _ORDER.index(value) if value in _ORDER else len(_ORDER)
    return kinds.index(kind), 0 if value.startswith("up to ") else 1 + rank, value


def _fits(tags: Tags, name: str, value: str) -> bool:
    if name in ("platform", "difficulty"):
        return tags.get(name) == value
    if "contest_date" not in tags:
        return False
    date = datetime.fromisoformat(tags["contest_date"]).replace(tzinfo=None)
    if name == "month":
        return f"{date:%Y-%m}" == value
    day = datetime.strptime(value, "%Y-%m-%d")
    return day <= date if name == "start" else date <= day


def _parsed(text: str, written: str, refusal: str) -> None:
    try:
        right = datetime.strptime(text, written).strftime(written) == text
    except ValueError:
        right = False
    if not right:  # texts are compared, so 2024-3-1 will not do
        raise UserError(refusal)


# ------ pass@1 by group: difficulty, platform, month, and before and after the end of a model's training data.


class Split(msgspec.Struct, frozen=True, kw_only=True):
    """One group of problems."""

    by: str
    """``difficulty``, ``platform``, ``kind``, ``month`` or ``cut-off``."""
    value: str
    """Which group: ``hard``, ``2024-09``, ``after 2024-08-01``."""
    rate: Estimate
    """pass@1 over its problems."""


class Gap(msgspec.Struct, frozen=True, kw_only=True):
    """The rate of one group less that of another; other problems, so nothing is paired."""

    difference: float
    """A fraction; negative where the newer contests are solved less often."""
    low: float | None
    high: float | None
    """None where one group is a single cluster."""
    confidence: float
    method: str = "MOVER: square-and-add of the two groups' intervals"
    """Zou & Donner 2008, Statistics in Medicine 27:1693-1702; for Wilson intervals Newcombe 1998, 17:873-890."""


def split_rates(tallies: Sequence[TaskTally], tags: Mapping[str, Tags], cutoff: str | None) -> list[Split]:
    """pass@1 of every group that has a graded sample.

    Args:
        tallies: of all problems.
        tags: of each problem, by id.
        cutoff: last day of a model's training data, ``YYYY-MM-DD``.
    """
    known = {tally.task_id: tally for tally in tallies if tally.n}
    groups = split(((task, tags[task]) for task in known), cutoff)
    return [
        Split(by=kind, value=value, rate=estimate("pass@1", [known[task] for task in tasks]))
        for (kind, value), tasks in groups.items()
    ]


def cutoff_gap(splits: Sequence[Split]) -> Gap | None:
    """pass@1 of contests after the cut-off less that of those up to it; None without a group on each side."""
    rates = [found.rate for found in splits if found.by == CUTOFF]
    if len(rates) != 2:
        return None
    before, after = rates
    difference = after.value - before.value
    if before.low is None or before.high is None or after.low is None or after.high is None:
        return Gap(difference=difference, low=None, high=None, confidence=after.confidence)
    # Each end takes from either group the half-width that faces it.
    below = sqrt((after.value - after.low) ** 2 + (before.high - before.value) ** 2)
    above = sqrt((after.high - after.value) ** 2 + (before.value - before.low) ** 2)
    return Gap(difference=difference, low=difference - below, high=difference + above, confidence=after.confidence)
