"""One source of the modules that run beside a program."""

from __future__ import annotations
import __future__

import marshal
import re
from functools import cache
from importlib.resources import files

PREPARED_NAMES = "PREPARED_NAMES"
"""As `truegrade.sandbox.child` calls what it has run ahead: its text, and the names that it defines."""
ENTRY_POINT = "run"
"""What both programs define: takes the compiled modules, none if it has them, then what their function takes."""
_LOADED = {
    r"numpy|pandas|scipy|sklearn|sympy|networkx": ("numpy",),
    r"multiprocessing|concurrent": (
        "multiprocessing.managers",
        "multiprocessing.pool",
        "concurrent.futures.process",
    ),
    r"tempfile": ("tempfile",),
    r"unittest|mock": ("unittest.mock",),
    r"inspect|traceback|linecache|tokenize|pdb|breakpoint|doctest|timeit|logging": ("linecache",),
}
"""What the published graders have imported before their guard goes up, and what in a program's text calls for it.

Imported later it fails, or keeps hold of the replaced `open`. All of it, always, would cost every sample 100 ms.
"""
_NUMPY = "try:\n    import numpy\nexcept ImportError:\n    pass\n"
_TELLER = "told.py"
_GRADER = ("output_comparison.py", "worlds.py", _TELLER, "prime.py", "driver.py")
_IMPORTED = "ast, faulthandler, importlib, pickle, random, shutil, signal, subprocess"
"""What the grader imports, said where the sandbox sees it and hands out a process that has it loaded; `random`,
because a program may draw from it by the preamble's names alone."""
_PACKAGE = re.compile(r"^import (\w+) as (\w+)$", re.MULTILINE)
_OWN_IMPORT = re.compile(r"^from truegrade\.\S+ import (?:\([^)]*\)|.*)\n", re.MULTILINE)


def preload(code: str, preamble: str = "") -> list[str]:
    """Modules to import ahead of the guard for this program.

    Args:
        code: the program.
        preamble: what stands in front of it: its packages are imported where the program has their name or alias.
    """
    packages = {rf"{name}|{alias}": (name,) for name, alias in _PACKAGE.findall(preamble)}
    return [
        name
        for words, names in {**_LOADED, **packages}.items()
        if re.search(rf"\b(?:{words})\b", code) is not None
        for name in names
    ]


def grader(preloaded: list[str]) -> tuple[str, bytes]:
    """The program whose `ENTRY_POINT` grades as `driver.grade_sample` does; and its first argument.

    Args:
        preloaded: what `preload` says of the program that it grades.
    """
    graded = "grade_sample(*given)"
    return f"import {_IMPORTED}\n{_with_numpy(preloaded)}{_started(graded, graded)}", _compiled(_GRADER)


def solution(code: str) -> tuple[str, bytes]:
    """The program whose `ENTRY_POINT` takes its first call as `solution.prepare` and others as `solution.call`.

    Returns:
        It, and what its first call takes first. Others take none.
    """
    started = _started(f"prepare({PREPARED_NAMES}, *given)", "call(*given)")
    return f"{_with_numpy(preload(code))}{started}", _compiled(("solution.py",))


@cache
def teller() -> str:
    """The source that defines `told.as_told`."""
    return files("truegrade.grading.contests").joinpath(_TELLER).read_text(encoding="utf-8")


def _with_numpy(preloaded: list[str]) -> str:
    return _NUMPY if "numpy" in preloaded else ""


def _started(first: str, other: str) -> str:
    """What defines `ENTRY_POINT`, of the expression that its first call returns and of that of every other."""
    return (
        f"import marshal\ndef {ENTRY_POINT}(compiled, *given):\n    if not compiled:\n        return {other}\n"
        f"    exec(marshal.loads(compiled), globals())\n    return {first}\n"
    )


@cache
def _compiled(parts: tuple[str, ...]) -> bytes:
    """The modules as one, compiled: every sample has a process of its own, and as text would compile them anew.

    Docstrings are left out and annotations stay texts: nobody reads them there, and each costs every sample.
    """
    folder = files("truegrade.grading.contests")
    texts = [folder.joinpath(part).read_text(encoding="utf-8") for part in parts]
    text, flags = _OWN_IMPORT.sub("", "\n".join(texts)), __future__.annotations.compiler_flag
    return marshal.dumps(compile(text, "<grader>", "exec", flags, dont_inherit=True, optimize=2))
