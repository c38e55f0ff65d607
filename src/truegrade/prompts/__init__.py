"""Byte-exact prompts: one text file each, described by ``prompts/index.toml``, loaded and rendered."""

from __future__ import annotations

import hashlib
import re
from functools import cache
from pathlib import Path

import msgspec

from truegrade.errors import TruegradeError, UnknownName, UserError
from truegrade.files.json_text import OWN, TomlTables

_FOLDER = Path(__file__).parent


class PromptEntry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the index says of one text."""

    source: str
    """Repository path at a version, or ``ours``."""
    placeholders: dict[str, str] = {}
    """Each name and what its ``<name>`` is replaced by."""


PROMPTS = TomlTables(_FOLDER / "index.toml", PromptEntry)
"""By id; the text of each is the file ``<id>.txt``, byte for byte as its origin has it."""


class PromptText(msgspec.Struct, frozen=True, kw_only=True):
    """A template as its origin has it, placeholders in place."""

    id: str
    text: str
    sha256: str
    """Hash of the text's UTF-8 bytes."""
    source: str
    placeholders: tuple[str, ...]
    """Names, without the angle brackets that mark them in the text."""


@cache
def load(prompt_id: str) -> PromptText:
    """The template of that id.

    Raises:
        UnknownName: there is none.
        TruegradeError: the package lacks its file.
    """
    if prompt_id not in PROMPTS:
        raise UnknownName("prompt", prompt_id, PROMPTS)
    entry, path = PROMPTS[prompt_id], _FOLDER / f"{prompt_id}.txt"
    try:
        content = path.read_bytes()
    except OSError as error:
        raise TruegradeError(f"{path}: cannot be read ({error.strerror}); {OWN}") from None
    return PromptText(
        id=prompt_id,
        text=content.decode("utf-8"),
        sha256=hashlib.sha256(content).hexdigest(),
        source=entry.source,
        placeholders=tuple(entry.placeholders),
    )


def render(prompt_id: str, /, **values: str) -> str:
    """Replace every ``<placeholder>`` in one pass, so that inserted text is never searched again.

    Raises:
        UserError: a placeholder is left out, or a value has none.
    """
    template = load(prompt_id)
    missing = [name for name in template.placeholders if name not in values]
    unknown = [name for name in values if name not in template.placeholders]
    if missing or unknown:
        problem = (
            f"lacks a value for {', '.join(missing)}" if missing else f"has no place for {', '.join(unknown)}"
        )
        takes = ", ".join(template.placeholders) or "nothing"
        raise UserError(f"prompt {prompt_id!r} {problem}; it takes {takes}")
    if not template.placeholders:
        return template.text
    tokens = re.compile("<(" + "|".join(map(re.escape, template.placeholders)) + ")>")
    return tokens.sub(lambda token: values[token[1]], template.text)
