"""Text of models, programs and files on a terminal, with control characters escaped.

An escape sequence can move the cursor over other lines, change the window's title, or answer in the user's name.
On a terminal every control character but newline and tab is therefore written out, as ``\\x1b``; a pipe or a file
gets the text as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.segment import Segment

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def visible(text: str) -> str:
    """The text with its control characters written out."""
    return _CONTROL.sub(lambda control: f"\\x{ord(control.group()):02x}", text)


def open_terminal(*, stderr: bool = False) -> Console:
    """A console on standard output or error that writes control characters out where it is a terminal.

    Its own colours and movements, of progress bars, are not text and stay.
    """
    return _console_class()(stderr=stderr, highlight=False)


@cache
def _console_class() -> type[Console]:
    """rich is imported when something is to be shown."""
    from rich.console import Console as RichConsole
    from rich.segment import Segment as RichSegment

    class TerminalConsole(RichConsole):
        def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterator[Segment]:
            """Whatever is shown comes through here, in pieces of text of one style."""
            for piece in super().render(renderable, options):
                told = piece.control is not None or not self.is_terminal
                yield piece if told else RichSegment(visible(piece.text), piece.style)

    return TerminalConsole
