"""The Python exercises of Aider's polyglot benchmark, in folders upstream, made into the rows of one file.

    python/exercises/practice/NAME/.docs/     introduction.md, instructions.md, instructions.append.md
    python/exercises/practice/NAME/.meta/     config.json, which names the files; example.py, a right program
    python/exercises/practice/NAME/FILE.py    what the program is written into: names without what they do
    python/exercises/practice/NAME/*_test.py  a module of unittest

Layout of Aider-AI/polyglot-benchmark@7e0611e; which texts are the instructions, and their order, is the rule of
Aider-AI/aider@5dc9490 ``benchmark/benchmark.py`` run_test_real. The bytes made are those that the source pins.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from truegrade.datasets.quixbugs_files import checkout_text
from truegrade.errors import BadRecord, UserError

_PRACTICE = Path("python/exercises/practice")
_TEXTS = ("introduction.md", "instructions.md", "instructions.append.md")


def is_checkout(folder: Path) -> bool:
    """Whether a folder is laid out as upstream's repository."""
    return (folder / _PRACTICE).is_dir()


def rows_of_checkout(folder: Path) -> bytes:
    """The JSON Lines of a checkout: a row an exercise, by name.

    Raises:
        UserError: a file is missing or cannot be read.
        BadRecord: a ``config.json`` names no file to write, no tests or no example.
    """
    exercises = sorted(path for path in (folder / _PRACTICE).iterdir() if path.is_dir())
    if not exercises:
        raise UserError(f"{folder / _PRACTICE}: holds no exercises; check the repository out again")
    return "".join(json.dumps(_row(exercise)) + "\n" for exercise in exercises).encode()


def _row(folder: Path) -> dict[str, Any]:
    solution, tests, example = (_named(folder, kind) for kind in ("solution", "test", "example"))
    texts = [folder / ".docs" / name for name in _TEXTS]
    return {
        "name": folder.name,
        "instructions": "".join(checkout_text(path, "the repository") for path in texts if path.is_file()),
        "file": solution[0],
        "starter": checkout_text(folder / solution[0], "the repository"),
        "tests": checkout_text(folder / tests[0], "the repository"),
        "files": {name: checkout_text(folder / name, "the repository") for name in tests[1:]},
        "reference": checkout_text(folder / example[0], "the repository"),
    }


def _named(folder: Path, kind: str) -> list[str]:
    """The files of one kind that the exercise's ``config.json`` names."""
    path = folder / ".meta" / "config.json"
    try:
        names = json.loads(checkout_text(path, "the repository"))["files"][kind]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise BadRecord(path, f"names no such file ({error}); check it out again", field=f"files.{kind}") from None
    if not (isinstance(names, list) and names and all(isinstance(name, str) for name in names)):
        raise BadRecord(path, "must be a list of names; check the repository out again", field=f"files.{kind}")
    return names
