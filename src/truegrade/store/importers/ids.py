"""Which problem a foreign file means: exact ids, other spellings of case, bare numbers."""

from __future__ import annotations

import re
from collections.abc import Collection
from difflib import get_close_matches
from pathlib import Path

import msgspec

from truegrade.errors import BadRecord


class IdIndex(msgspec.Struct, frozen=True, kw_only=True):
    """The ids of a benchmark, ready for `match_id`."""

    exact: frozenset[str]
    folded: dict[str, str]
    """Id by its case-folded spelling, where that is unambiguous."""
    numbered: dict[int, str]
    """Id by the number it ends in, where that is unambiguous: ``MBPP/11`` by 11, ``sample_0`` by 0."""
    order: tuple[str, ...]
    """All of them as they were given: the data set's order."""


def index_ids(known_ids: Collection[str]) -> IdIndex:
    """Prepare a benchmark's ids; a spelling that two ids share is left out, never guessed."""
    folded: dict[str, list[str]] = {}
    numbered: dict[int, list[str]] = {}
    for known in dict.fromkeys(known_ids):
        folded.setdefault(known.casefold(), []).append(known)
        if number := re.search(r"(?:^|[/_])([0-9]{1,18})$", known):
            numbered.setdefault(int(number[1]), []).append(known)
    return IdIndex(
        exact=frozenset(known_ids),
        folded={key: ids[0] for key, ids in folded.items() if len(ids) == 1},
        numbered={key: ids[0] for key, ids in numbered.items() if len(ids) == 1},
        order=tuple(dict.fromkeys(known_ids)),
    )


def is_number(raw: str | int) -> bool:
    """Whether an id is a bare number, which problems of several benchmarks can be meant by."""
    return re.fullmatch(r"[0-9]{1,18}", str(raw)) is not None


def match_id(
    raw: str | int, index: IdIndex, *, path: Path, line: int | None = None, field: str | None = None
) -> str:
    """The benchmark's own spelling of a problem id: exact, but for case, or by its bare number.

    Raises:
        BadRecord: no problem is meant; offers the closest ids.
    """
    text = str(raw)
    if text in index.exact:
        return text
    found = index.folded.get(text.casefold())
    if found is None and is_number(text):
        found = index.numbered.get(int(text))
    if found is not None:
        return found
    close = get_close_matches(text, sorted(index.exact), n=3, cutoff=0.5)
    guess = f"did you mean {' or '.join(close)}?" if close else "does the file belong to another benchmark?"
    raise BadRecord(path, f"the benchmark has no problem {raw!r}; {guess}", line=line, field=field)
