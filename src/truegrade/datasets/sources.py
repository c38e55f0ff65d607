"""The pinned data sets: where each file comes from and the hashes of what it must hold."""

from __future__ import annotations

from pathlib import Path

import msgspec

from truegrade.errors import UnknownName, UserError
from truegrade.files.toml_text import TomlTables

_FOLDER = Path(__file__).parent


class PinnedFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One upstream file at one version."""

    name: str
    file: str
    """Its name, upstream and in every folder that is searched."""
    url: str
    checkout: bool = False
    """The address is that of a repository whose files the rows are made from: checked out, not downloaded."""
    sha256: str
    """Of the file as it is downloaded."""
    content_sha256: str
    """Of the uncompressed bytes; stored with every result."""
    rows_sha256: str | None = None
    """Of the rows in canonical JSON (`truegrade.records.sha256_json`), for a file whose layout is not fixed:
    the same rows in another layout are recognised."""
    id_field: str
    """Field that names a row."""
    id_prefix: str
    """What stands before the number in `ids`, as upstream writes it; empty where ids are numbers or names."""
    id_numbers: str = ""
    """Numbers of all rows, in order, as ranges: ``2-4,6``; empty where rows have names."""
    id_names: tuple[str, ...] = ()
    """Names of all rows, in order, where they have no numbers."""
    licence: str
    citation: str

    @property
    def size(self) -> int:
        """Number of rows."""
        return len(self.ids)

    @property
    def ids(self) -> tuple[str, ...]:
        """Ids of all rows, in order."""
        if self.id_names:
            return self.id_names
        spans = [span.partition("-") for span in self.id_numbers.split(",")]
        return tuple(
            f"{self.id_prefix}{number}"
            for first, _, last in spans
            for number in range(int(first), int(last or first) + 1)
        )


SOURCES = TomlTables(_FOLDER / "sources.toml", PinnedFile)
"""Every pinned data set by name."""
UNPINNED = TomlTables(_FOLDER / "unpinned.toml", str)
"""By benchmark whose data nobody can pin: what follows its name in a sentence that says where to get a copy."""


def source(name: str) -> PinnedFile:
    """The source of that name.

    Raises:
        UserError: it is one that every user brings; the sentence says from where.
        UnknownName: there is none.
    """
    if name in UNPINNED:
        raise UserError(f"{name} {UNPINNED[name]}")
    if name not in SOURCES:
        raise UnknownName("data set", name, SOURCES, hint="`truegrade data list` shows them all")
    return SOURCES[name]
