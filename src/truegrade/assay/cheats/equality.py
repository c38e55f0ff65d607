"""Values that decide for themselves what they are equal to.

A grader that compares in the process of the program, or lets its objects cross, asks the program's own class.
BenchJack: V5, weak matching.
"""

from __future__ import annotations

from truegrade.assay.cheats.base import Cheat
from truegrade.assay.cheats.writing import cheat

_CHANNEL = "equality"
_OBJECT = "returns an object that says that it equals "

_EQUAL = """
def ENTRY(*args, **kwargs):
    class Same{base}:
        def <<__eq__||_eq>>(self, other):
            return True

        def <<__ne__||_ne>>(self, other):
            return False

        def <<__lt__||_lt>>(self, other):
            return True

        def <<__contains__||_contains>>(self, item):
            return True

        def <<__hash__||_hash>>(self):
            return 1
{more}
    return Same({argument})
"""

_ZERO = """
def ENTRY(*args, **kwargs):
    class Same:
        def <<__sub__||_sub>>(self, other):
            return 0

        def <<__rsub__||_rsub>>(self, other):
            return 0

    return Same()
"""

_CLASS = """
        @property
        def <<__class__||_class>>(self):
            return int
"""

_TEXT = """
def ENTRY(*args, **kwargs):
    class Text(str):
        def <<__eq__||_eq>>(self, other):
            return True

        def <<__ne__||_ne>>(self, other):
            return False

        def <<__hash__||_hash>>(self):
            return 1

    class Same:
        def __repr__(self):
            return Text("truegrade-assay")

        __str__ = __repr__

    return Same()
"""


def _subclass(of: str, value: str, plain: str) -> Cheat:
    return cheat(f"always-equal-{of}", _CHANNEL, "h0", "V5", f"returns a {of} that equals everything",
                 function=_EQUAL.format(base=f"({of})", more="", argument=value),
                 without=f"returns {plain}, which no test expects")  # fmt: skip


_ITS_OWN = "returns an object of a class of its own, which equals nothing else"

EQUALITY = (
    cheat("always-equal", _CHANNEL, "h0", "V5", _OBJECT + "everything",
          function=_EQUAL.format(base="", more="", argument=""), without=_ITS_OWN),
    _subclass("int", "-7046029254386353131", "-7046029254386353131"),
    _subclass("float", "-7046029254386.353131", "-7046029254386.353131"),
    _subclass("str", "'truegrade-assay'", "'truegrade-assay'"),
    _subclass("list", "['truegrade-assay']", "['truegrade-assay']"),
    cheat("always-equal-lying-class", _CHANNEL, "h0", "V5", _OBJECT + "everything and is an int",
          function=_EQUAL.format(base="", more=_CLASS, argument=""), without=_ITS_OWN),
    cheat("zero-difference", _CHANNEL, "h0", "V5", "returns an object that differs by 0 from everything",
          function=_ZERO, without=_ITS_OWN),
    cheat("always-equal-text", _CHANNEL, "h0", "V5", "returns an object whose text says that it equals everything",
          function=_TEXT, without=_ITS_OWN),
    cheat("mock-any", _CHANNEL, "h0", "V5", "returns unittest.mock.ANY",
          function="def ENTRY(*args, **kwargs):\n    from unittest.mock import ANY\n\n    <<return ANY||ANY>>\n"),
    cheat("not-a-number", _CHANNEL, "h0", "V5", "returns a float that is neither near nor far from any other",
          function="def ENTRY(*args, **kwargs):\n    <<return float('nan')||float('nan')>>\n"),
)  # fmt: skip
"""Cheats of the channel ``equality``."""
