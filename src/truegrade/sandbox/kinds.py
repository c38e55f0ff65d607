"""Which modules a zygote has loaded before it forks: a kind for programs of each sort."""

from __future__ import annotations

import re
from collections.abc import Sequence

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
# Of a suite, `truegrade.sandbox.by_pytest`, and what pytest has loaded besides once it has run a test.
_PYTEST = ("suite_pytest", "_pytest.skipping", "_pytest.tracemalloc", "pdb")
# What suites of unit tests need (`truegrade.grading.suite_runs`).
_SUITE = (*_GRADING, "csv", "marshal", "shutil", "unittest", "unittest.mock")
PRELOADED = {
    "standard": _STANDARD, "guarded": _GUARDED, "grading": _GRADING, "numpy": (*_GRADING, "numpy"),
    "measured": _MEASURED, "suite": _SUITE, "suite with numpy": (*_SUITE, "numpy"),
    "pytest": (*_SUITE, *_PYTEST), "science": (*_SUITE, *_PYTEST),
}  # fmt: skip
LATER = {
    "science": (
        *("numpy", "pandas", "scipy.stats", "matplotlib.pyplot", "seaborn", "sklearn.linear_model"),
        *("sklearn.model_selection", "sklearn.preprocessing", "sklearn.metrics"),
    )
}
"""What is loaded once the zygote has its folder of temporary files, which matplotlib writes to. To load all of it
takes seconds."""
APART = frozenset({"suite", "suite with numpy", "pytest", "science"})
"""Whose programs share a process with their tests, so that one run must tell the next nothing
(`truegrade.sandbox.fresh`)."""
_IMPORTS_NUMPY = re.compile(r"^[ \t]*(?:import|from)[ \t].*\b(?:numpy|pandas|scipy|sklearn)\b", re.MULTILINE)
_DATA = frozenset({"pandas", "matplotlib", "scipy", "sklearn", "seaborn"})
_IMPORTS_PYTEST = re.compile(r"^import pytest$", re.MULTILINE)
_IMPORTS_AS_GRADERS = re.compile(r"import .*\bfaulthandler\b")


def kind_of(*sources: str, guarded: bool = False, preload: Sequence[str] = ()) -> str:
    """The kind of zygote for these sources; a wrong guess costs time and nothing else.

    Args:
        sources: what will run.
        guarded: whether names of `shutil` and `subprocess` are disabled first.
        preload: modules that will be imported ahead.
    """
    of_suite = {"unittest", "pytest"}.intersection(preload)
    if of_suite and _DATA.intersection(preload):
        return "science"
    if "pytest" in preload or any(map(_IMPORTS_PYTEST.search, sources)):
        return "pytest"
    if of_suite:
        return "suite with numpy" if "numpy" in preload else "suite"
    if any(_IMPORTS_NUMPY.search(source) for source in sources):
        return "numpy"
    if any(_IMPORTS_AS_GRADERS.match(source) for source in sources):
        return "grading"
    return "guarded" if guarded else "standard"
