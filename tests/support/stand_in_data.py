"""Small stand-ins for data files that are on few machines, in the form of the real ones.

What a page says of such a benchmark is run on them, and the fuzzer takes its problems from them.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Mapping, Sequence
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
        "docstring": "Four times n.\n>>> four(1)\n4",
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

LEETCODE = (
    {
        "task_id": "least",
        "question_id": 3,
        "difficulty": "Easy",
        "estimated_date": "2025-01-05",
        "prompt": "from typing import *\n",
        "completion": "class Solution:\n    def least(self, nums: List[int]) -> int:\n        return min(nums)\n",
        "entry_point": "Solution().least",
        "test": "def check(candidate):\n    assert candidate(nums = [2, 1]) == 1\n"
        "    assert candidate(nums = [5]) == 5\n",
        "query": "Solve it:\n```python\nclass Solution:\n    def least(self, nums: List[int]) -> int:\n```",
    },
)

_HEAD = "import json\ndef task_func(text):\n"
BIGCODEBENCH = (
    {
        "task_id": "BigCodeBench/0",
        "entry_point": "task_func",
        "prompt": f'{_HEAD}    """ Read JSON. """\n',
        "prompt_wo_doc": _HEAD,
        "instruction": f"Read JSON.\nYou should write self-contained code starting with:\n```\n{_HEAD}```",
        "canonical_solution": "    return json.loads(text)\n",
        "test": "import unittest\nclass TestCases(unittest.TestCase):\n    def test_list(self):\n"
        "        self.assertEqual(task_func('[1, 2]'), [1, 2])\n",
    },
)

Rows = Sequence[Mapping[str, Any]]


def _lines(rows: Rows) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def _zipped_lines(rows: Rows) -> bytes:
    return gzip.compress(_lines(rows))


STAND_INS: dict[str, tuple[str, Rows, Callable[[Rows], bytes]]] = {
    "humanevalfix": ("humanevalpack.jsonl", HUMANEVALPACK, _lines),
    "humanevalsynthesize": ("humanevalpack.jsonl", HUMANEVALPACK, _lines),
    "humanevalexplain": ("humanevalpack.jsonl", HUMANEVALPACK, _lines),
    "leetcode-dataset": ("LeetCodeDataset-v0.3.1-test.jsonl.gz", LEETCODE, _zipped_lines),
    "bigcodebench": ("BigCodeBench.jsonl.gz", BIGCODEBENCH, _zipped_lines),
}
"""By benchmark: the name of its file, rows, and what writes them."""


def write_stand_in(benchmark: str, folder: Path) -> Path:
    """The file of a benchmark, written into a folder."""
    name, rows, written = STAND_INS[benchmark]
    file = folder / name
    file.write_bytes(written(rows))
    return file


def data_with_stand_ins(data: Path, folder: Path) -> set[str]:
    """Links to a folder of data files; stand-ins for those that few machines have, whatever this one has.

    Returns:
        Names of the benchmarks that have one.
    """
    stood_in = {name for name, _, _ in STAND_INS.values()}
    for file in data.iterdir():
        if file.name not in stood_in:
            (folder / file.name).symlink_to(file)
    for benchmark in STAND_INS:
        write_stand_in(benchmark, folder)
    return set(STAND_INS)
