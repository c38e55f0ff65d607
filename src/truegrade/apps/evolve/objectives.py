"""What a repair is scored by: CORAL-X's five heuristics, or quantities that were measured.

Both take graded samples (`samples`) and give `truegrade.apps.evolve.genomes.Scores`, everything to be maximised.
"""

from __future__ import annotations

import io
import threading
import tokenize
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from statistics import fmean
from typing import Protocol

import msgspec

from truegrade.apps.evolve.genomes import Scores
from truegrade.apps.evolve.roles import repair_of
from truegrade.builders.mutation.mutants import MutationOptions
from truegrade.builders.mutation.observing import Observer
from truegrade.errors import UserError
from truegrade.extraction.parsing import Fault, parse_module
from truegrade.grading.executor import Executor
from truegrade.grading.repairs import SKIPPED, Suite
from truegrade.grading.static_findings import Linter
from truegrade.kinds import kind_of
from truegrade.profiles.coralx import objective_scores
from truegrade.profiles.coralx_objectives import WEIGHTED_SUM, WEIGHTS, weighted_sum
from truegrade.records import Completion, Problem, Reason, Verdict

# -------------------------- The input of objectives: a reply, the extracted code, and the result of each test.


class GradedReply(msgspec.Struct, frozen=True, kw_only=True):
    """One graded reply."""

    problem: str
    """Id."""
    text: str
    """The reply."""
    code: str | None
    """What was graded; None if nothing was found in the reply."""
    results: tuple[str, ...]
    """A word a test, in order: a `Reason`, ``skipped`` or ``not_run``."""
    tokens: int | None = None
    """Generated, as the model's service counted them."""

    @property
    def tests(self) -> int:
        """Tests that count."""
        return sum(result != SKIPPED for result in self.results)

    @property
    def passed(self) -> int:
        """Tests passed."""
        return sum(result == Reason.PASSED for result in self.results)

    @property
    def solved(self) -> bool:
        """Whether every test that counts is passed."""
        return 0 < self.tests == self.passed


class Scorer(Protocol):
    """A way to score. Scoring the same samples gives the same scores."""

    @property
    def name(self) -> str:
        """``coralx`` or ``measured``."""

    @property
    def names(self) -> tuple[str, ...]:
        """Of the objectives, in order."""

    def score(self, problems: Sequence[Problem], samples: Sequence[GradedReply], executor: Executor) -> Scores:
        """Mean over the samples of a problem, then over the problems; one without a sample has the worst."""


def sample_of(reply: Completion, verdict: Verdict) -> GradedReply:
    """A reply with its verdict.

    Raises:
        UserError: the verdict does not say what became of each test.
    """
    results = (verdict.harness or {}).get("results")
    if results is None and verdict.answer is not None:
        raise UserError(
            f"{verdict.problem_id} sample {verdict.sample}: the verdict of {verdict.profile} does not count tests;"
            " grade a repair benchmark as strict or as coralx"
        )
    return GradedReply(
        problem=verdict.problem_id,
        text=reply.text or "",
        code=verdict.answer,
        results=tuple(results or ()),
        tokens=None if reply.usage is None else reply.usage.output_tokens,
    )


def by_problem(problems: Sequence[Problem], samples: Iterable[GradedReply]) -> dict[str, list[GradedReply]]:
    """The samples of each problem, of which some may have none.

    Raises:
        UserError: a sample is of a problem that is not among them.
    """
    found: dict[str, list[GradedReply]] = {problem.id: [] for problem in problems}
    for sample in samples:
        if sample.problem not in found:
            raise UserError(f"{sample.problem} is not among the problems that are scored")
        found[sample.problem].append(sample)
    return found


def repair_suite(problem: Problem) -> Suite:
    """The tests of a problem that shows a program to repair.

    Raises:
        UserError: it shows none.
    """
    kind, task = kind_of(problem.task), problem.task
    suite = kind.suite(task)
    if suite is None or not kind.buggy(task):
        raise UserError(f"{problem.id} shows no program to repair; quixbugs and micro-repair do")
    return suite


def mean_scores(
    names: Sequence[str], scored: Mapping[str, Sequence[Mapping[str, float]]], facts: Mapping[str, float]
) -> Scores:
    """Mean over samples, then over problems.

    Args:
        names: of the objectives.
        scored: by problem, the objectives of each of its samples; at least one.
        facts: to be kept beside them.
    """
    problems: dict[str, dict[str, float]] = defaultdict(dict)
    for problem, samples in scored.items():
        for name in names:
            problems[problem][name] = fmean(sample[name] for sample in samples)
    means = {name: fmean(scores[name] for scores in problems.values()) for name in names}
    return Scores(objectives=means, problems=dict(problems), facts=dict(facts))


# ----------------------- Genomes scored by CORAL-X's five objectives (`truegrade.profiles.coralx_objectives`).


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
            facts={**scores.facts, WEIGHTED_SUM: weighted_sum(scores.objectives)},
        )

    def of(self, sample: GradedReply) -> dict[str, float]:
        """The five scores of one sample."""
        return objective_scores(sample.code, sample.passed, sample.tests, self._linter)


# -------------------------------------------------------- Measured objectives, which conflict with each other.
# | objective | is | worst |
# | --- | --- | --- |
# | ``pass_rate`` | share of the tests passed | 0 |
# | ``patch`` | minus the token edit distance to the buggy program, per token (`patch`) | -1 |
# | ``cost`` | minus the executed lines per line of the reference (`cost`) | -`COST_CAP` |
# | ``findings`` | minus the findings (`lint`) that the buggy program does not have | -`MOST_FINDINGS` |
# | ``tokens`` | minus the tokens generated | |
#
# All are to be maximised. A reply without valid code has the worst of the first four. What the adapter itself
# costs (its parameters, seconds of training) is known to the loop, which adds it.


# --------------- The cost of running a program, as a number that is the same on every machine: executed lines.
# Line events of `sys.settrace` are identical in every process, where wall time of such short calls varies by a
# quarter. They are counted in the sandbox, by the watcher that also watches mutants; a program could spoil the
# count, and one that names the means to (`_TRACERS`) is not measured.


COST_CAP = 4.0
"""Times the reference's lines beyond which a program is not followed; what an unpassed test costs, too."""

_EVENTS_PER_LINE = 3
"""At most, calls and returns included, for programs like the reference."""
_LEAST_EVENTS = 200
_REFERENCE_EVENTS = 100_000
"""A test on which the reference has more is not counted: being watched, it would take seconds."""
_CPU_S = 10.0
"""Backstop for all tests of a program together."""
_CALL_ENDS = frozenset({"value", "raised", "endless", "unwritable"})
_TRACERS = ("settrace", "setprofile", "monitoring", "f_trace", "gettrace", "_getframe")


class CostMeter:
    """Counts the lines of programs and of their references, which are remembered."""

    def __init__(self) -> None:
        self._references: dict[tuple[str, str], tuple[int | None, ...]] = {}
        self._lock = threading.Lock()

    def cost(self, problem: Problem, code: str, passed: Sequence[bool], executor: Executor) -> float:
        """Executed lines per line of the reference, mean over the tests, each at most `COST_CAP`.

        Args:
            problem: that shows a program to repair.
            code: the program.
            passed: by test; one not passed costs `COST_CAP`.
            executor: the jail.
        """
        reference = self._of_reference(problem, executor)
        counted = [index for index, steps in enumerate(reference) if steps is not None]
        if not counted:
            return COST_CAP
        wanted = [index for index in counted if index < len(passed) and passed[index]]
        if any(word in code for word in _TRACERS):
            wanted = []
        longest = max((reference[index] or 0 for index in wanted), default=0)
        most = _LEAST_EVENTS + int(_EVENTS_PER_LINE * COST_CAP * longest)
        steps = _steps(problem, code, wanted, most, executor)
        costs = [
            min(COST_CAP, max(0, steps[i]) / (reference[i] or 1)) if i in steps else COST_CAP for i in counted
        ]
        return sum(costs) / len(costs)

    def _of_reference(self, problem: Problem, executor: Executor) -> tuple[int | None, ...]:
        """Lines of the reference by test; None for a test that is not counted."""
        key = (problem.dataset_sha256, problem.id)
        with self._lock:
            if key in self._references:
                return self._references[key]
        reference = repair_of(problem).reference
        steps = _steps(problem, reference, countable(problem), _REFERENCE_EVENTS, executor)
        counts = tuple(steps.get(index) for index in range(repair_suite(problem).size))
        with self._lock:
            return self._references.setdefault(key, counts)


def countable(problem: Problem) -> list[int]:
    """Tests whose lines are counted: those that are expressions, and not the slow ones."""
    suite = repair_suite(problem)
    return [
        index for index in range(suite.size) if index not in {*suite.slow, *suite.skipped} and _call(suite, index)
    ]


def _call(suite: Suite, index: int) -> str:
    """A test as an expression; empty if it is none."""
    if suite.statements:
        return "" if suite.statements[index].startswith("assert") else suite.statements[index]
    call = f"{suite.entry_point}({', '.join(map(repr, suite.cases[index].arguments))})"
    return f"list({call})" if suite.comparator == "list" else call


def _steps(problem: Problem, code: str, wanted: Sequence[int], most: int, executor: Executor) -> dict[int, int]:
    """Lines executed, by test, of those that end within ``most`` events."""
    suite, pending = repair_suite(problem), list(wanted)
    found: dict[int, int] = {}
    preamble = f"{suite.trusted}\n{suite.context}"
    options = MutationOptions(cpu_s=_CPU_S, max_steps=most, max_chars=1_000_000, preamble=preamble)
    while pending:
        observer = Observer(executor, [_call(suite, index) for index in pending], options)
        cases = observer.alone(code, "lines").cases
        found.update(
            (index, case.steps) for index, case in zip(pending, cases, strict=False) if case.kind == "value"
        )
        if cases[-1].kind not in _CALL_ENDS:
            break  # the process ended
        pending = pending[len(cases) :]
    return found


# -------------------------------- How much of a program a repair rewrites: edit distance over Python's tokens.


_LAYOUT = frozenset({tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.ENDMARKER, tokenize.ENCODING})


def patch_size(before: str, after: str) -> float:
    """Token edits that lead from one valid program to another, per token of the longer; 0 to 1.

    Comments, blank lines and spacing do not count; a docstring is one token.
    """
    old, new = code_tokens(before), code_tokens(after)
    return edit_distance(old, new) / max(len(old), len(new), 1)


def code_tokens(source: str) -> list[str]:
    """The tokens of a program that say something; indentation counts as one, however deep."""
    found = []
    try:
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            if token.type in {tokenize.INDENT, tokenize.DEDENT}:
                found.append(tokenize.tok_name[token.type])
            elif token.type not in _LAYOUT:
                found.append(token.string)
    except (tokenize.TokenError, SyntaxError, UnicodeError):  # ast reads a little more than tokenize does
        return source.split()
    return found


def edit_distance(one: Sequence[Hashable], other: Sequence[Hashable]) -> int:
    """Levenshtein distance: insertions, deletions and substitutions, each 1.

    Bit-parallel over the columns of the dynamic programme (Hyyro, A bit-vector algorithm for computing Levenshtein
    and Damerau edit distances, 2003): one operation on integers as long as ``one`` for each item of ``other``.
    """
    if not one:
        return len(other)
    places: dict[Hashable, int] = {}
    for index, item in enumerate(one):
        places[item] = places.get(item, 0) | 1 << index
    mask, last = (1 << len(one)) - 1, 1 << (len(one) - 1)
    positive, negative, distance = mask, 0, len(one)
    for item in other:
        match = places.get(item, 0)
        diagonal = (((match & positive) + positive) ^ positive) | match | negative
        up = negative | ~(diagonal | positive) & mask
        down = positive & diagonal
        distance += bool(up & last) - bool(down & last)
        up = (up << 1 | 1) & mask
        down = (down << 1) & mask
        positive = down | ~(diagonal | up) & mask
        negative = up & diagonal
    return distance


MOST_FINDINGS = 20
"""New findings beyond which a program is as bad as any."""

_WORST = {"pass_rate": 0.0, "patch": -1.0, "cost": -COST_CAP, "findings": -float(MOST_FINDINGS)}


class MeasuredObjectives:
    """Pass rate, patch size, deterministic cost, new findings, tokens.

    Raises:
        UserError: flake8 or bandit is not installed.
    """

    name = "measured"
    names = (*_WORST, "tokens")

    def __init__(self) -> None:
        self._linter = Linter()
        self._meter = CostMeter()

    def score(self, problems: Sequence[Problem], samples: Sequence[GradedReply], executor: Executor) -> Scores:
        """Score every sample; what passes a test is run once more, with its lines counted.

        ``facts``: problems without a sample (``unanswered``), and samples whose tokens were counted here because
        the model's service did not (``tokens_counted_here``).
        """
        grouped = by_problem(problems, samples)
        scored = {
            problem.id: [self.of(problem, sample, executor) for sample in grouped[problem.id]]
            or [{**_WORST, "tokens": 0.0}]
            for problem in problems
        }
        facts = {
            "unanswered": float(sum(not found for found in grouped.values())),
            "tokens_counted_here": float(sum(sample.tokens is None for sample in samples)),
        }
        return mean_scores(self.names, scored, facts)

    def of(self, problem: Problem, sample: GradedReply, executor: Executor) -> dict[str, float]:
        """The objectives of one sample."""
        tokens = -float(len(code_tokens(sample.text)) if sample.tokens is None else sample.tokens)
        tree = None if sample.code is None else parse_module(sample.code)
        if sample.code is None or tree is None or isinstance(tree, Fault):
            return {**_WORST, "tokens": tokens}
        buggy = kind_of(problem.task).buggy(problem.task)
        passed = [result == Reason.PASSED for result in sample.results]
        return {
            "pass_rate": sample.passed / max(1, sample.tests),
            "patch": -patch_size(buggy, sample.code),
            "cost": -self._meter.cost(problem, sample.code, passed, executor),
            "findings": -float(min(MOST_FINDINGS, self.new_findings(buggy, sample.code))),
            "tokens": tokens,
        }

    def new_findings(self, before: str, after: str) -> int:
        """Findings of each kind that a program has more of than another; both as files that end properly.

        `MOST_FINDINGS` where a linter cannot read all of ``after``.
        """
        found = self._findings(after)
        if found is None:
            return MOST_FINDINGS
        return (found - (self._findings(before) or Counter())).total()

    def _findings(self, code: str) -> Counter[str] | None:
        """Findings by kind; None where a linter cannot read all of the program."""
        text = code.strip() + "\n"
        tree = parse_module(text)
        if isinstance(tree, Fault):
            return None
        found = self._linter.check(tree, text)
        return Counter((*found.style, *found.security)) if found.complete else None
