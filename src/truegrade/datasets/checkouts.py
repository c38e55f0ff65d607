"""QuixBugs, which its authors keep as folders, made into the rows of one file: the bytes that its source pins."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from truegrade.errors import BadRecord, UserError

#     python_programs/NAME.py           with a bug of one line
#     correct_python_programs/NAME.py   without
#     json_testcases/NAME.json          one ``[[arguments], expected]`` a line; 31 of 40 programs have them
#     python_testcases/test_NAME.py     pytest modules; the tests of the 9 others, about graphs and linked lists
#
# What only the pytest modules say of the 31 (how outputs are compared, which cases are too slow to run) is
# written down here, from jkoppel/QuixBugs@4257f44 ``python_testcases``. The bytes made are those that the source
# pins.


COMPARE: Mapping[str, str] = MappingProxyType(
    {"flatten": "list", "hanoi": "tuple_rows", "kheapsort": "list", "sqrt": "approx_abs_last_input"}
)
"""How outputs are compared where ``==`` is not enough."""
SLOW: Mapping[str, tuple[int, ...]] = MappingProxyType({"knapsack": (9,), "levenshtein": (2, 3)})
"""0-based tests on which the correct program takes over a second of CPU: 4 minutes; 2 seconds and for ever."""
SKIPPED: Mapping[str, tuple[int, ...]] = MappingProxyType({"knapsack": (9,), "levenshtein": (3,)})
"""0-based tests that upstream skips, unless told to run slow ones."""


def is_quixbugs_checkout(folder: Path) -> bool:
    """Whether a folder is laid out as upstream's repository."""
    return (folder / "python_programs").is_dir() and (folder / "correct_python_programs").is_dir()


def rows_of_quixbugs(folder: Path) -> bytes:
    """The JSON Lines of a checkout: a row a program, by name.

    Raises:
        UserError: a file is missing or cannot be read.
        BadRecord: a line of a JSON file is no test.
    """
    names = sorted(path.stem for path in (folder / "correct_python_programs").glob("*.py"))
    programs = [name for name in names if name != "node" and not name.endswith("_test")]
    if not programs:
        raise UserError(f"{folder / 'correct_python_programs'}: holds no programs; check QuixBugs out again")
    return "".join(json.dumps(_program_row(folder, name)) + "\n" for name in programs).encode()


def _program_row(folder: Path, name: str) -> dict[str, Any]:
    row: dict[str, Any] = {
        "name": name,
        "buggy": _text(folder / "python_programs" / f"{name}.py"),
        "correct": _text(folder / "correct_python_programs" / f"{name}.py"),
    }
    cases = folder / "json_testcases" / f"{name}.json"
    if cases.is_file():
        compare = COMPARE.get(name, "eq")
        slow, skipped = SLOW.get(name, ()), SKIPPED.get(name, ())
        row |= {"tests": _cases(cases), "test_kind": "json", "compare": compare}
        return row | {"slow_tests": slow, "upstream_skipped": skipped}
    module = _text(folder / "python_testcases" / f"test_{name}.py")
    row |= {"tests": None, "test_kind": "pytest", "pytest_source": module}
    if "from node import" in module:
        row["node_source"] = _text(folder / "python_testcases" / "node.py")
    return row


def _cases(path: Path) -> list[Any]:
    cases = []
    for number, line in enumerate(_text(path).splitlines(), 1):
        if not line.strip():
            continue
        try:
            case = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise BadRecord(path, f"is not JSON ({error}); check QuixBugs out again", line=number) from None
        if not isinstance(case, list) or len(case) != 2 or not isinstance(case[0], list):
            raise BadRecord(path, "must be [[arguments], expected]", line=number)
        cases.append(case)
    return cases


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: cannot be read ({error}); check QuixBugs out again") from None


# -------------------------------- The problems of QuixBugs that CORAL-X trains on, selects on, and leaves out.
# The names are those of CORAL-X (skishore23/coralx@93e9490 docs/archive/QUIXBUGS_USAGE_ANALYSIS.md). It says of
# the third group that they have no JSON tests; so has ``reverse_linked_list``, which it trains on all the same.


TRAIN = frozenset(
    {
        *("gcd", "get_factors", "is_valid_parenthesization", "levenshtein", "longest_common_subsequence"),
        *("max_sublist_sum", "pascal", "reverse_linked_list", "hanoi", "mergesort", "bitcount", "bucketsort"),
        *("find_first_in_sorted", "find_in_sorted", "flatten", "knapsack", "kth", "lis", "powerset"),
        *("quicksort", "rpn_eval", "shunting_yard", "sqrt", "subsequences"),
    }
)
"""24 problems that adapters learn from."""

TEST = frozenset(
    {
        *("kheapsort", "lcs_length", "next_palindrome", "next_permutation"),
        *("possible_change", "sieve", "to_base", "wrap"),
    }
)
"""8 problems that genomes are selected on."""

REST = frozenset(
    {
        *("breadth_first_search", "depth_first_search", "detect_cycle", "minimum_spanning_tree"),
        *("shortest_path_length", "shortest_path_lengths", "shortest_paths", "topological_ordering"),
    }
)
"""8 problems that CORAL-X filters out."""

SPLITS: Mapping[str, frozenset[str]] = MappingProxyType(
    {"coralx-train": TRAIN, "coralx-test": TEST, "coralx-rest": REST}
)
"""Names of programs by the name of their split."""


def split_of(program: str) -> str:
    """The split of a program.

    Raises:
        KeyError: QuixBugs has no such program.
    """
    for split, programs in SPLITS.items():
        if program in programs:
            return split
    raise KeyError(program)
