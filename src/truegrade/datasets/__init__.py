"""Data files: pinned, found or downloaded, verified, read into typed rows."""

from truegrade.datasets.download import (
    SOURCES,
    ListedDataset,
    LocatedFile,
    PinnedFile,
    list_sources,
    locate,
    pull,
    source,
)
from truegrade.datasets.rows import Rows, check_rows, parse_rows, read_source

__all__ = [
    "SOURCES",
    "ListedDataset",
    "LocatedFile",
    "PinnedFile",
    "Rows",
    "check_rows",
    "list_sources",
    "locate",
    "parse_rows",
    "pull",
    "read_source",
    "source",
]
