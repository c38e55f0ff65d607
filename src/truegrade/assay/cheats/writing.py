"""Templates of cheats: text with ``<<active||inert>>`` hooks, and ``ENTRY`` where the entry point stands."""

from __future__ import annotations

import re
from collections.abc import Callable
from textwrap import indent

from truegrade.assay.cheats.base import Cheat, TaskForm
from truegrade.assay.records import Danger
from truegrade.records import Form

_HOOK = re.compile(r"<<(?P<active>.*?)\|\|(?P<inert>.*?)>>", re.DOTALL)

NOTHING = """
def ENTRY(*args, **kwargs):
    return None
"""
"""The function of a cheat that does its work at import."""


def cheat(
    name: str,
    channel: str,
    danger: Danger,
    benchjack: str,
    effects: str,
    *,
    function: str = "",
    stdio: str = "",
    form: Form = "program",
    without: str = "",
) -> Cheat:
    """A cheat of one or two templates.

    Args:
        name: unique.
        channel: a key of `truegrade.assay.cheats.CHANNELS`.
        danger: of the active program.
        benchjack: ``V1`` to ``V7``.
        effects: what it does besides returning a value.
        function: template for tasks of form ``function``; empty if it has none.
        stdio: template for tasks of form ``stdio``.
        form: what the text is.
        without: what it does with its hook cut, where that is not to return None or to print nothing.
    """
    templates: dict[TaskForm, str] = {"function": function, "stdio": stdio}
    forms = tuple(one for one, text in templates.items() if text)
    return Cheat(name=name, channel=channel, danger=danger, forms=forms, form=form, effects=effects,
                 write=_writer(function.lstrip("\n"), stdio.lstrip("\n")), benchjack=benchjack,
                 without=without)  # fmt: skip


def in_call(helpers: str, last: str) -> str:
    """A template whose function holds its helpers: a program that is executed in a function sees none beside it.

    Args:
        helpers: imports and definitions.
        last: the statement that uses them.
    """
    return f"def ENTRY(*args, **kwargs):\n{indent(helpers.strip(), '    ')}\n\n    {last}\n"


def _writer(function: str, stdio: str) -> Callable[[str, bool], str]:
    def write(entry_point: str, inert: bool) -> str:
        chosen = "inert" if inert else "active"
        text = _HOOK.sub(lambda hook: hook[chosen], function if entry_point else stdio)
        return text.replace("ENTRY", entry_point)

    return write
