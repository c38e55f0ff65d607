"""Which modules a zygote has loaded before it forks: two kinds, chosen by what a program imports."""

from __future__ import annotations

import re

# What the LiveCodeBench runner imports ahead of every program (lcb_runner/evaluation/testing_util.py), by far the
# most imported by programs of the other benchmarks as well.
_STANDARD = (
    *("string", "re", "datetime", "collections", "heapq", "bisect", "copy", "math", "random", "statistics"),
    *("itertools", "functools", "operator", "io", "sys", "json", "typing"),
)
PRELOADED = {"standard": _STANDARD, "numpy": (*_STANDARD, "numpy")}
_IMPORTS_NUMPY = re.compile(r"^[ \t]*(?:import|from)[ \t].*\b(?:numpy|pandas|scipy|sklearn)\b", re.MULTILINE)


def kind_of(*sources: str) -> str:
    """The kind of zygote for these sources; a wrong guess costs time and nothing else."""
    return "numpy" if any(_IMPORTS_NUMPY.search(source) for source in sources) else "standard"
