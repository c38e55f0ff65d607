"""The five objectives of CORAL-X, and the weighted sum of them, exactly as its description has them.

Source: skishore23/coralx@93e9490 docs/archive/QUIXBUGS_USAGE_ANALYSIS.md, "Objective Calculation Details". Code
that ``ast.parse`` refuses scores 0 in all five. Per objective the mean over problems is taken, then the weighted
sum.

What the text leaves open is fixed here: a style *violation* is one line of flake8's default report, not one of the
summary that ``--count --statistics`` adds; ``nested_loops`` is the depth of the deepest nest of ``for`` and
``while`` statements; the security score has no lower bound. One departure: comments that waive findings are
ignored, and where a linter cannot read a program style and security are 0, for a search would find both.

Anomalies, each shown by a test:

- Extraction strips the last newline, so flake8 reports W292 on every program, and style is at most .75. The .97 is
  reached by an empty reply alone.
- An empty reply, or a stub that returns None, passes no test and scores more than the buggy program unchanged: bug
  fix gives .2 for passing nothing, and a short text has fewer findings.
- Bug fix is not monotone: passing 1 of 6 tests scores .17, passing none .2.
- Security is constant on QuixBugs: bandit finds nothing in any of its programs.
- ``[::-1]`` anywhere in the text, a comment included, is worth a tenth of runtime.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from types import MappingProxyType

WEIGHTS = MappingProxyType({"bugfix": 0.30, "style": 0.15, "security": 0.25, "runtime": 0.10, "syntax": 0.20})
"""Of the objectives, in the weighted sum; together 1. Source: the same section."""

WEIGHTED_SUM = "weighted_sum"
VALID_SYNTAX = 0.9
"""The syntax score of code that ``ast.parse`` reads."""


def weighted_sum(objectives: Mapping[str, float]) -> float:
    """CORAL-X's fitness; .9655 at most."""
    return sum(weight * objectives[name] for name, weight in WEIGHTS.items())


def bugfix(passed: int, tests: int) -> float:
    """Of valid code: the share of tests passed, and .2 where none is."""
    return passed / tests if passed else 0.2


def style(violations: int) -> float:
    """From the number of flake8's findings."""
    return 0.97 if violations == 0 else max(0.0, 0.8 - violations * 0.05)


def security(severities: Sequence[str]) -> float:
    """From the severities of bandit's issues; those of low severity cost nothing."""
    return 1.0 - 0.3 * severities.count("HIGH") - 0.1 * severities.count("MEDIUM")


def runtime(code: str, nested_loops: int) -> float:
    """From the text of the code: nothing is measured."""
    score = 0.7
    if "[::-1]" in code:
        score += 0.1
    if nested_loops > 2:
        score -= 0.1
    return max(0.0, min(0.9, score))


def deepest_loop(tree: ast.AST) -> int:
    """Depth of the deepest nest of ``for`` and ``while`` statements; comprehensions do not count."""
    deepest, pending = 0, [(tree, 0)]
    while pending:
        node, depth = pending.pop()
        depth += isinstance(node, ast.For | ast.AsyncFor | ast.While)
        deepest = max(deepest, depth)
        pending += [(child, depth) for child in ast.iter_child_nodes(node)]
    return deepest
