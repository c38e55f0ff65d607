"""Which modules a zygote has loaded before it forks: a kind for programs of each sort."""

from __future__ import annotations

import re

# What the LiveCodeBench runner imports ahead of every program (lcb_runner/evaluation/testing_util.py), by far the
# most imported by programs of the other benchmarks as well.
_STANDARD = (
    *("string", "re", "datetime", "collections", "heapq", "bisect", "copy", "math", "random", "statistics"),
    *("itertools", "functools", "operator", "io", "sys", "json", "typing"),
    "traceback",  # `truegrade.sandbox.child` prints one for each script that fails
)
# What the guards of published harnesses take names from. Loaded in each child, they cost more than the program.
_GUARDED = (*_STANDARD, "shutil", "subprocess")
# What a published grader that runs beside each of its programs loads besides.
_GRADING = (*_GUARDED, "ast", "faulthandler", "importlib", "pickle", "signal")
# What `truegrade.assay.targets.host` loads ahead of each grader under measurement.
_MEASURED = (*_GRADING, "importlib.util", "inspect", "pathlib", "tempfile", "types")
PRELOADED = {
    "standard": _STANDARD, "guarded": _GUARDED, "grading": _GRADING, "numpy": (*_GRADING, "numpy"),
    "measured": _MEASURED,
}  # fmt: skip
_IMPORTS_NUMPY = re.compile(r"^[ \t]*(?:import|from)[ \t].*\b(?:numpy|pandas|scipy|sklearn)\b", re.MULTILINE)
_IMPORTS_AS_GRADERS = re.compile(r"import .*\bfaulthandler\b")


def kind_of(*sources: str, guarded: bool = False) -> str:
    """The kind of zygote for these sources; a wrong guess costs time and nothing else.

    Args:
        sources: what will run.
        guarded: whether names of `shutil` and `subprocess` are disabled first.
    """
    if any(_IMPORTS_NUMPY.search(source) for source in sources):
        return "numpy"
    if any(_IMPORTS_AS_GRADERS.match(source) for source in sources):
        return "grading"
    return "guarded" if guarded else "standard"
