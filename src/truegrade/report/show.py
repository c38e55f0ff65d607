"""One document, whatever shows it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from truegrade.errors import UnknownName
from truegrade.report.document import Document
from truegrade.report.page_parts import render_page
from truegrade.report.terminal import print_parts
from truegrade.report.text_files import TEXTS, write_texts

if TYPE_CHECKING:
    from rich.console import Console


def show(document: Document, form: str, *, console: Console | None = None) -> Mapping[str, str]:
    """Show a document: print it, or make the text of its files.

    Args:
        document: what is shown.
        form: ``terminal``, ``html``, ``csv``, ``latex`` or ``markdown``.
        console: where ``terminal`` prints; None for standard output.

    Returns:
        Name of each file and its text; nothing for ``terminal``.

    Raises:
        UnknownName: no such form.
    """
    if form == "terminal":
        print_parts(*document.sections, console=console)
        return {}
    if form == "html":
        return {f"{document.kind}.html": render_page(document)}
    if form not in TEXTS:
        raise UnknownName("form of a document", form, ("terminal", "html", *TEXTS))
    return dict(write_texts(document, form))
