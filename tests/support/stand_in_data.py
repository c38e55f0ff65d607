"""Small stand-ins for data files that are on few machines, in the form of the real ones.

What a page says of such a benchmark is run on them, and the fuzzer takes its problems from them.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

MODIFIED = {"allow_modified": "true"}
"""The argument without which a stand-in is refused."""

HELPER = "def twice(n: int) -> int:\n    return 2 * n\n\n\n"
DOC = '    """ Four times n.\n    >>> four(1)\n    4\n    """\n'


def _pack_row(number: int, helper: str, body: str, bug: str, checks: str) -> dict[str, str]:
    declaration = f"{helper}def four(n: int) -> int:\n"
    return {
        "task_id": f"Python/{number}",
        "declaration": declaration,
        "prompt": declaration + DOC,
        "canonical_solution": body,
        "buggy_solution": bug,
        "bug_type": "value misuse",
        "failure_symptoms": "incorrect output",
        "entry_point": "four",
        "instruction": "Write a Python function `four(n: int) -> int` to do this:\nFour times n.\n",
        "test": f"\n\ndef check(four):\n{checks}\ncheck(four)\n",
        "example_test": "",
    }


HUMANEVALPACK = (
    _pack_row(
        0, "", "    return 4 * n\n", "    return 3 * n\n", "    assert four(1) == 4\n    assert four(2) == 8\n"
    ),
    _pack_row(
        1, HELPER, "    return twice(twice(n))\n", "    return twice(n)\n", "    assert four(3) == twice(6)\n"
    ),
)

STAND_INS: dict[str, tuple[str, Sequence[dict[str, Any]]]] = {
    "humanevalfix": ("humanevalpack.jsonl", HUMANEVALPACK),
    "humanevalsynthesize": ("humanevalpack.jsonl", HUMANEVALPACK),
}
"""By benchmark: the name of its file, and rows."""


def write_stand_in(benchmark: str, folder: Path) -> Path:
    """The file of a benchmark, written into a folder."""
    name, rows = STAND_INS[benchmark]
    file = folder / name
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return file


def data_with_stand_ins(data: Path, folder: Path) -> set[str]:
    """Links to all of a folder of data files, and a stand-in for each that is not there.

    Returns:
        Names of the benchmarks that have one.
    """
    for file in data.iterdir():
        (folder / file.name).symlink_to(file)
    lacking = {benchmark for benchmark, (name, _) in STAND_INS.items() if not (data / name).exists()}
    for benchmark in lacking:
        write_stand_in(benchmark, folder)
    return lacking
