"""How AgentCoder's scripts cut an answer out and execute it: with ``exec`` inside a function."""

from __future__ import annotations

import re
from collections.abc import Sequence
from importlib import import_module

import msgspec

from truegrade.grading.executor import Executor
from truegrade.grading.functions import TESTS_INSIDE
from truegrade.grading.judgement import Judgement, from_outcome
from truegrade.records import Reason

# -------------------------------- ``exec(program)`` called inside a function, as some published scripts grade.
# The top level of the program then runs with the function's local names, a dict of its own: what it defines or
# imports there is seen by its other top-level statements, and by no function, because functions look names up in
# the globals of the script that grades. Recursion, helper functions and imported modules raise NameError.


_SYNTAX = ("SyntaxError", "IndentationError", "TabError")


def grade_in_function_scope(
    program: str, script_imports: Sequence[str], executor: Executor, *, swallow: bool = False
) -> Judgement:
    """Execute a program in function scope; ending without an exception is passing.

    Args:
        program: candidate and tests.
        script_imports: import lines whose names are globals of the grading script, seen by every function.
        executor: bound to the profile's limits.
        swallow: whether the script replaces the streams.
    """
    visible = needed_imports(script_imports, program)
    # The scripts are run as such, so main blocks of candidates run too.
    source = f"{visible}\n__name__ = '__main__'\nexec({program!r}, globals(), {{}})\n"
    preload = ("numpy",) if "numpy" in source else ()
    judgement = from_outcome(executor.inside(source, preload=preload, swallow=swallow), marks=(TESTS_INSIDE,))
    if judgement.reason is Reason.RUNTIME_ERROR and judgement.detail.startswith(_SYNTAX):
        return msgspec.structs.replace(judgement, reason=Reason.SYNTAX_ERROR)
    return judgement


def needed_imports(lines: Sequence[str], program: str) -> str:
    """The import lines that bind a name which the program mentions.

    The scripts have loaded these modules before their clock starts; here loading counts, so what is not used is
    not loaded.
    """
    words = frozenset(re.findall(r"\w+", program))
    return "\n".join(line for line in lines if not words.isdisjoint(_bound(line)))


def _bound(line: str) -> tuple[str, ...]:
    """Names that an import line binds."""
    if line.endswith(" *"):
        module = import_module(line.split()[1])
        return tuple(module.__all__)
    return (line.rsplit(maxsplit=1)[-1].partition(".")[0],)


# ----------------------------------------------------------------------------------------------------------------
# AgentCoder's fence cutter (huangd1999/AgentCoder@dddd1b9 ``src/programmer_humaneval.py`` preprocess_data).


_OPENING = "```python"
_CLOSING = "```"


def cut_fence(reply: str) -> tuple[str, str]:
    """The text between the first ```` ```python ```` and the next fence, else the reply; and how it was found.

    Where the fence never closes, the last character is lost.
    """
    start = reply.find(_OPENING)
    if start < 0:
        return reply, "no python fence: the whole reply"
    code = reply[start + len(_OPENING) :]
    end = code.find(_CLOSING)
    # -1, for a fence that never closes, is taken for a position.
    return code[:end], "first python fence" if end >= 0 else "unclosed python fence, less its last character"


# ----------------------------------------- The import lines that AgentCoder puts in front of every completion.


IMPORT_HELPER = (
    *("import math", "import re", "import sys", "import copy", "import datetime", "import itertools"),
    *("import collections", "import heapq", "import statistics", "import functools", "import hashlib"),
    *("import numpy", "import numpy as np", "import string", "from typing import *", "from collections import *"),
)
"""THUDM/CodeGeeX ``codegeex/benchmark/utils.py``."""
