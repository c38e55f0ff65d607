"""One line of an index of prompts."""

from __future__ import annotations

import msgspec


class PromptEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One line of the index."""

    sha256: str
    """Hash of the file, placeholders in place."""
    source: str
    """Repository path at a version, or ``ours``."""
    placeholders: dict[str, str]
    """Each name and what its ``<name>`` is replaced by."""
