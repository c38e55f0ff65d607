"""What a cheat is: a template over a problem's entry point and form, with its inert twin."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import msgspec

from truegrade.assay.records import Danger
from truegrade.records import Form

TaskForm = Literal["function", "stdio"]
"""A function that tests call, or a program that reads stdin and writes stdout."""


class Cheat(msgspec.Struct, frozen=True, kw_only=True):
    """One way of being paid for nothing."""

    name: str
    """Unique, ``exit-at-import``."""
    channel: str
    """Unique name of the channel, a key of `truegrade.assay.cheats.CHANNELS`."""
    danger: Danger
    forms: tuple[TaskForm, ...]
    form: Form = "program"
    """What its text is: a program, or a reply where the cheat is about taking the answer out."""
    effects: str
    """What it does besides returning a value, for a person who decides whether to send it."""
    write: Callable[[str, bool], str]
    """``write(entry_point, inert)``: the program; with ``inert`` the same text, its hook cut. For programs on
    stdin the entry point is empty."""
    benchjack: str = ""
    """Class of BenchJack that it belongs to (benchjack/benchjack@c828d41), ``V1`` to ``V7``."""
    without: str = ""
    """What it does with its hook cut, which is the evidence that it computes nothing; empty where a function
    returns None and a program prints nothing."""
