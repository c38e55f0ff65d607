"""The problems of QuixBugs that CORAL-X trains on, selects on, and leaves out.

The names are those of CORAL-X (skishore23/coralx@93e9490 docs/archive/QUIXBUGS_USAGE_ANALYSIS.md). It says of
the third group that they have no JSON tests; so has ``reverse_linked_list``, which it trains on all the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

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
