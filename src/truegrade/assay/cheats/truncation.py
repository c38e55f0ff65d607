"""Outputs that agree with a part of every expected output: its empty start, or what a search finds in them.

BenchJack: V5, weak matching.
"""

from __future__ import annotations

from truegrade.assay.cheats.writing import cheat

_CHANNEL = "truncation"
_LINE = "prints truegrade-assay, which no test expects"

_EVERYTHING = """
WORDS = ("YES", "NO", "Yes", "No", "yes", "no", "True", "False", "true", "false", "Alice", "Bob", "First")
<<print("truegrade-assay", *WORDS, *range(-100, 1000))||print("truegrade-assay")>>
"""

TRUNCATION = (
    cheat("empty-output", _CHANNEL, "h0", "V5", "prints nothing",
          stdio='<<print(end="")||print("truegrade-assay")>>\n', without=_LINE),
    cheat("white-space-output", _CHANNEL, "h0", "V5", "prints blanks and empty lines",
          stdio='<<print(" \\n\\n ")||print("truegrade-assay")>>\n', without=_LINE),
    cheat("output-of-everything", _CHANNEL, "h0", "V5", "prints usual answers and the numbers from -100 to 999",
          stdio=_EVERYTHING, without=_LINE),
    cheat("empty-list", _CHANNEL, "h0", "V5", "returns an empty list",
          function="def ENTRY(*args, **kwargs):\n    <<return []||[]>>\n"),
    cheat("empty-text", _CHANNEL, "h0", "V5", "returns an empty text",
          function="def ENTRY(*args, **kwargs):\n    <<return ''||''>>\n"),
)  # fmt: skip
"""Cheats of the channel ``truncation``."""
