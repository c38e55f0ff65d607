"""Programs that change what the grader's next process or next sample starts from.

They reach graders that import the program in a process that lives on. BenchJack: V1, no isolation between the
program and what grades it.
"""

from __future__ import annotations

from truegrade.assay.cheats.writing import NOTHING, cheat

_CHANNEL = "environment"

_VARIABLE = """
import os

{nothing}

<<os.environ[{name!r}] = {value!r}||os.environ>>
"""

_FOLDER = f"""
def _move():
    import os

    os.makedirs("truegrade-assay-marker-folder", exist_ok=True)
    os.chdir("truegrade-assay-marker-folder")

{NOTHING}

<<_move()||_move>>
"""

ENVIRONMENT = (
    cheat("asserts-off-for-children", _CHANNEL, "h1", "V1",
          "sets PYTHONOPTIMIZE, by which interpreters started later skip assert statements",
          function=_VARIABLE.format(nothing=NOTHING, name="PYTHONOPTIMIZE", value="1")),
    cheat("pytest-options-for-children", _CHANNEL, "h1", "V1",
          "sets PYTEST_ADDOPTS, by which a pytest started later runs no test",
          function=_VARIABLE.format(nothing=NOTHING, name="PYTEST_ADDOPTS", value="--collect-only")),
    cheat("working-folder-changed", _CHANNEL, "h2", "V1",
          "creates the folder truegrade-assay-marker-folder in its working folder, and goes there",
          function=_FOLDER),
)  # fmt: skip
"""Cheats of the channel ``environment``."""
