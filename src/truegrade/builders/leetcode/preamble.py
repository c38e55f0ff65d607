"""What LeetCode imports unseen, as the import statements that a program needs to stand alone.

The modules are those of akshsgaur/code-reasoning-repro@6c43fa8 src/datasets/leetcode/build_dataset.py. There the
imports stay hidden from the model; here they become part of the program, which therefore runs anywhere. As
there, a module's own name wins over a member of that name: ``bisect`` is the module.
"""

from __future__ import annotations

import importlib
from functools import cache

from truegrade.datasets.free_names import free_names

_MODULES = ("string", "math", "collections", "bisect", "heapq", "functools", "random", "itertools", "operator",
            "re", "copy", "sys")  # fmt: skip
_MEMBERS_OF = ("collections", "itertools", "functools", "heapq", "bisect", "math", "string", "copy", "random",
               "operator", "typing")  # fmt: skip
_SPECIAL = {
    "re_search": "from re import search as re_search",
    "commonprefix": "from os.path import commonprefix",
    "maxsize": "from sys import maxsize",
    "np": "import numpy as np",
    "pd": "import pandas as pd",
}

OF_LEETCODE = ("numpy", "pandas")
"""Packages among them; for `truegrade.sandbox.Limits`."""


def with_imports(program: str) -> str:
    """The program preceded by the imports that it relies on and does not make itself.

    Raises:
        SyntaxError: the text is no program.
    """
    lines = imports_of(program)
    return lines + ("\n" if lines else "") + program


def imports_of(program: str) -> str:
    """The imports, one a line, that a program relies on and does not make itself.

    Raises:
        SyntaxError: the text is no program.
    """
    known = _statements()
    return "".join(f"{line}\n" for line in sorted({known[name] for name in free_names(program) if name in known}))


@cache
def _statements() -> dict[str, str]:
    """The import statement of each name."""
    statements: dict[str, str] = {}
    for module in _MEMBERS_OF:
        members = importlib.import_module(module)
        public = getattr(members, "__all__", None) or [name for name in dir(members) if not name.startswith("_")]
        for name in public:
            statements.setdefault(name, f"from {module} import {name}")
    return {**statements, **_SPECIAL, **{module: f"import {module}" for module in _MODULES}}
