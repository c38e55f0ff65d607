"""Where a data set that is built on this machine lies, so that its benchmark finds it without ``--data``."""

from __future__ import annotations

from pathlib import Path

from truegrade.datasets.download import cache_folder


def built_path(name: str, variant: str = "") -> Path:
    """The file of a built data set in the cache; nothing says that it exists.

    Args:
        name: of the set.
        variant: what it was built with besides the defaults; a file of its own for each.
    """
    return cache_folder() / "built" / f"{name}{variant and '-'}{variant}.jsonl"


def built_variants(name: str) -> list[str]:
    """The variants of a data set that were built, in order; the one of the defaults is not among them."""
    files = (cache_folder() / "built").glob(f"{name}-*.jsonl")
    return sorted(file.stem.removeprefix(f"{name}-") for file in files)
