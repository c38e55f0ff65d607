"""The colours of the page, read from its own style sheet, so that files and tests use the very same."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from typing import Literal

Scheme = Literal["light", "dark"]


def asset(name: str) -> str:
    """The text of a file of ``assets/``."""
    return files("truegrade.report").joinpath("assets", name).read_text(encoding="utf-8")


@cache
def colours(scheme: Scheme) -> dict[str, str]:
    """``#rrggbb`` by name."""
    pairs = re.findall(r"--([\w-]+): light-dark\((#\w{6}), (#\w{6})\)", asset("colours.css"))
    return {name: light if scheme == "light" else dark for name, light, dark in pairs}


def resolved(css: str, scheme: Scheme) -> str:
    """A style sheet with its colours put in, for readers that know no variables."""
    known = colours(scheme)
    return re.sub(r"var\(--([\w-]+)\)", lambda found: known[found[1]], css)
