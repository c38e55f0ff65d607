"""What a cheat is: templates over a problem's entry point, and how the usual ones are put together.

A template is text with ``<<active||inert>>`` hooks, and ``ENTRY`` where the entry point stands.
"""

from __future__ import annotations

import re
from dataclasses import KW_ONLY, dataclass
from textwrap import indent
from typing import Literal

from truegrade.apps.assay.records import Danger
from truegrade.records import Form

TaskForm = Literal["function", "stdio"]
"""A function that tests call, or a program that reads stdin and writes stdout."""

NOTHING = """
def ENTRY(*args, **kwargs):
    return None
"""
"""The function of a cheat that does its work at import."""
LEAVES = ", and ends the interpreter that it runs in, with exit code 1"
"""End of what is said of cheats that do so, whatever else they do; their twins do not."""
_HOOK = re.compile(r"<<(?P<active>.*?)\|\|(?P<inert>.*?)>>", re.DOTALL)


@dataclass(frozen=True)
class Cheat:
    """One way of being paid for nothing."""

    name: str
    """Unique, ``exit-at-import``."""
    effects: str
    """What it does besides returning a value, for a person who decides whether to send it."""
    function: str = ""
    """Template for tasks of this form; empty if it has none."""
    stdio: str = ""
    _: KW_ONLY
    channel: str
    """Unique name of the channel, a key of `truegrade.apps.assay.cheats.CHANNELS`."""
    danger: Danger
    """Of the active program."""
    benchjack: str
    """Class of BenchJack that it belongs to (benchjack/benchjack@c828d41), ``V1`` to ``V7``."""
    form: Form = "program"
    """What its text is: a program, or a reply where the cheat is about taking the answer out."""
    raises: bool = True
    """Whether it may end by an exception where its twin does not."""
    without: str = ""
    """What it does with its hook cut, which is the evidence that it computes nothing; empty where a function
    returns None and a program prints nothing."""

    @property
    def forms(self) -> tuple[TaskForm, ...]:
        """The forms of tasks that it has a text for."""
        return (*(("function",) if self.function else ()), *(("stdio",) if self.stdio else ()))

    def write(self, entry_point: str, inert: bool) -> str:
        """The program; with ``inert`` the same text, its hook cut. On stdin the entry point is empty."""
        template = (self.function if entry_point else self.stdio).lstrip("\n")
        return _HOOK.sub(lambda hook: hook["inert" if inert else "active"], template).replace("ENTRY", entry_point)


def call_of(work: str) -> str:
    """The hook that calls the first function of a source."""
    name = work.partition("def ")[2].partition("(")[0]
    return f"<<{name}()||{name}>>\n"


def at_import(work: str, hook: str = "") -> str:
    """A template that does its work at import, beside a function that returns None.

    ``hook``, without the end of its line, uses what the work imports and defines: by default `call_of` it.
    """
    return f"{work}\n{NOTHING}\n\n{hook or call_of(work)}".rstrip() + "\n"


def in_call(work: str, last: str = "") -> str:
    """A template whose function holds its helpers: a program that is executed in a function sees none beside it.

    ``last`` is the statement that uses them: by default `call_of` them.
    """
    used = last or call_of(work).rstrip()
    return f"def ENTRY(*args, **kwargs):\n{indent(work.strip(), '    ')}\n\n    {used}\n"


def on_stdin(work: str) -> str:
    """A template of a program on stdin that defines a function and calls it."""
    return f"{work}\n\n{call_of(work)}"
