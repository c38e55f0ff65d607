"""The five objectives of CORAL-X, exactly as its description has them.

Source: skishore23/coralx@4f939f1^ docs/archive/QUIXBUGS_USAGE_ANALYSIS.md, "Objective Calculation Details". Code
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

from truegrade.evolution.coralx.tables import WEIGHTS
from truegrade.evolution.genomes import Scores
from truegrade.evolution.objectives.lint import Linter
from truegrade.evolution.objectives.scorers import GradedReply, by_problem, mean_scores
from truegrade.extraction.parsing import Fault, parse_module
from truegrade.grading.executor import Executor
from truegrade.records import Problem

_NOTHING = dict.fromkeys(WEIGHTS, 0.0)


class CoralxObjectives:
    """Bug fix, style, security, runtime and syntax.

    Raises:
        UserError: flake8 or bandit is not installed.
    """

    name = "coralx"
    names = tuple(WEIGHTS)

    def __init__(self) -> None:
        self._linter = Linter()

    def score(self, problems: Sequence[Problem], samples: Sequence[GradedReply], executor: Executor) -> Scores:
        """Score every sample from its code and its tests; nothing is run."""
        grouped = by_problem(problems, samples)
        scored = {
            problem: [self.of(sample) for sample in found] or [_NOTHING] for problem, found in grouped.items()
        }
        unanswered = sum(not found for found in grouped.values())
        scores = mean_scores(self.names, scored, {"unanswered": float(unanswered)})
        return Scores(
            objectives=scores.objectives,
            problems=scores.problems,
            facts={**scores.facts, "weighted_sum": weighted_sum(scores.objectives)},
        )

    def of(self, sample: GradedReply) -> dict[str, float]:
        """The five scores of one sample."""
        tree = None if sample.code is None else parse_module(sample.code)
        if sample.code is None or tree is None or isinstance(tree, Fault):
            return dict(_NOTHING)
        findings = self._linter.check(tree, sample.code)
        return {
            "bugfix": bugfix(sample.passed, sample.tests),
            "style": style(len(findings.style)) if findings.complete else 0.0,
            "security": security(findings.security) if findings.complete else 0.0,
            "runtime": runtime(sample.code, deepest_loop(tree)),
            "syntax": 0.9,
        }


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
