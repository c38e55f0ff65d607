"""Windows of contest problems: which of them, and in which groups, by their tags.

One rule for the data set (``-T start=…``), for a run that is graded or reported in part, and for a comparison.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from types import MappingProxyType

from truegrade.errors import UserError

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
"""`truegrade.records.Problem.tags`; read are ``contest_date``, ``platform``, ``difficulty`` and ``kind``."""

GROUPS = ("difficulty", "platform", "kind", "month")
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
