"""Load a prompt's exact bytes and fill in its placeholders."""

from __future__ import annotations

import hashlib
import re
from functools import cache
from importlib.resources import files

import msgspec

from truegrade.errors import TruegradeError, UnknownName, UserError
from truegrade.prompts.index import PROMPTS


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
        TruegradeError: the installed file is not the one that the index describes.
    """
    if prompt_id not in PROMPTS:
        raise UnknownName("prompt", prompt_id, PROMPTS)
    entry = PROMPTS[prompt_id]
    content = files("truegrade.prompts").joinpath(f"{prompt_id}.txt").read_bytes()
    found = hashlib.sha256(content).hexdigest()
    if found != entry.sha256:
        raise TruegradeError(
            f"prompt {prompt_id!r} was changed on disk: its sha256 is {found}, not {entry.sha256};"
            " reinstall truegrade"
        )
    return PromptText(
        id=prompt_id,
        text=content.decode("utf-8"),
        sha256=found,
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
