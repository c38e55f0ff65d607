"""The Python part of CWEval as its authors keep it, two files a task, made into the rows of one file.

    benchmark/core/py/NAME_task.py    head, docstring and a secure solution behind ``# BEGIN SOLUTION``
    benchmark/core/py/NAME_test.py    pytest module; each case is marked ``functionality`` or ``security``

The texts are kept as they are; `truegrade.benchmarks.cweval` says what is made of them. The bytes made are those
that the source pins.
"""

from __future__ import annotations

import json
from pathlib import Path

from truegrade.errors import UserError

_FOLDER = Path("benchmark", "core", "py")


def is_cweval_checkout(folder: Path) -> bool:
    """Whether a folder is laid out as upstream's repository."""
    return (folder / _FOLDER).is_dir()


def rows_of_cweval(folder: Path) -> bytes:
    """The JSON Lines of a checkout: a row a task, by name.

    Raises:
        UserError: a file is missing or cannot be read.
    """
    programs = sorted((folder / _FOLDER).glob("*_task.py"))
    if not programs:
        raise UserError(f"{folder / _FOLDER}: holds no tasks; check CWEval out again")
    return "".join(json.dumps(_row(path)) + "\n" for path in programs).encode()


def _row(program: Path) -> dict[str, str]:
    name = program.stem.removesuffix("_task")
    return {"name": name, "task": _text(program), "test": _text(program.with_name(f"{name}_test.py"))}


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: cannot be read ({error}); check CWEval out again") from None
