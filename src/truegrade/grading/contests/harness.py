"""A published grader of contest problems, run in the sandbox: our verdict on its results."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from typing import Any

import msgspec

from truegrade.files import syntax
from truegrade.grading.contests import Rules, inside
from truegrade.grading.contests.output_comparison import same_output
from truegrade.grading.contests.screen import plain, supplied
from truegrade.grading.contests.tests import Tests, decoded
from truegrade.grading.executor import Executor
from truegrade.grading.functions import TESTS_INSIDE
from truegrade.grading.judgement import Judgement, shortened
from truegrade.grading.marks import NEAR, TAMPERING
from truegrade.records import Reason
from truegrade.sandbox.outcome import CallResult, Outcome

# ------------------ Whether what a program was seen to answer is right, by the rules of the published graders.
# A profile owes the published verdict, also where a program reaches its grader. Such a pass is marked, and what
# decides is what the program does: unless `screen` finds its text so plain that it cannot reach anything, it is
# run again where no expected output is, and has to give right answers there.

_DIGITS = 50_000
"""Of the longest integer that a published grader reads."""
_LONGER, _LONG = 6, 1000
"""A right value told as JSON has at most so many times the characters of the expected text, and so many more."""
_BY_NUMPY = re.compile(r"bool|u?int(?:8|16|32|64)|float(?:16|32|64)")


def contradicted(
    observed: Sequence[str | None],
    expected: Sequence[str],
    *,
    stdin: bool,
    right: Callable[..., bool],
) -> bool:
    """Whether what was seen of a program that passed is wrong on some test.

    Args:
        observed: what the program printed, or returned as JSON; None where that was not told.
        expected: as stored.
        stdin: which of the two it is.
        right: `right`, or another grader's in its place.
    """
    if len(observed) != len(expected):
        return True
    pairs = zip(observed, expected, strict=True)
    return any(text is not None and not right(text, wanted, stdin=stdin) for text, wanted in pairs)


def right(text: str, wanted: str, *, stdin: bool) -> bool:
    """Whether one answer is right; costs no more than a small multiple of the expected one's length.

    Args:
        text: what the program printed, or `told.as_told` of what it returned.
        wanted: as stored: for a returned value JSON, or itself a text where it is none.
        stdin: which of the two it is.
    """
    if stdin:
        return text.strip() == wanted.strip() or (_same_shape(text, wanted) and same_output(text, wanted))
    if text and text == wanted and "NaN" not in text:  # a NaN equals nothing
        return True  # decoding both would cost more than many a program
    if len(text) > _LONGER * len(wanted) + _LONG:
        return False
    try:
        expected = decoded(wanted, _DIGITS)
    except (ValueError, RecursionError):
        expected = wanted
    try:
        got = decoded(text, _DIGITS)
        return bool((_rebuilt(got) if '"numpy"' in text else got) == expected)
    except Exception:  # no JSON, nested too deeply, arrays that cannot be compared: no published grader passes it
        return False


def _same_shape(text: str, wanted: str) -> bool:
    """Whether two texts have as many lines, and lines that differ as many words: no flood is taken apart."""
    text, wanted = text.strip(), wanted.strip()
    if text.count("\n") != wanted.count("\n"):
        return False
    for got, line in zip(text.split("\n"), wanted.split("\n"), strict=True):
        if got != line and len(got.split(None, words := len(line.split()))) != words:
            return False
    return True


def _rebuilt(value: Any) -> Any:
    """The value with what only numpy compares as it was."""
    if isinstance(value, list):
        return [_rebuilt(item) for item in value]
    if isinstance(value, dict):
        if value.keys() == {"numpy", "type"} and _BY_NUMPY.fullmatch(str(value["type"])):
            import numpy as np

            return np.array(value["numpy"], value["type"])[()]
        return {key: _rebuilt(item) for key, item in value.items()}
    return value


_START_S, _TRANSFER_BYTES_PER_S = 15.0, 10e6
"""Wall seconds for starting the process and for sending the tests: after them the harness' limit has passed,
and the verdict is certain. Neither clock counts time in which the program waits for a core."""
_PATIENCE, _PATIENCE_S = 3.0, 30.0
"""Of a run that only confirms: wall seconds for each of CPU time, and besides, for a program that sleeps."""


class Harness(msgspec.Struct, frozen=True, kw_only=True):
    """A variant of the grader, and what is decided outside the process of the program."""

    rules: Rules
    added_s: float
    """Seconds added to those of the whole process, (timeout + 1) a test."""
    runner_error: Callable[[str], dict[str, Any]]
    """Metadata where the grader itself raised this exception, or its child ended: the repr of the one it gets."""
    passes: Callable[[list[Any]], bool] | None = None
    """Whether results are a pass, or an exception where the harness raises one; None for LiveCodeBench's rule."""
    right: Callable[..., bool] = right
    """Whether one answer is right, seen from outside: as `truegrade.grading.contests.harness.right`."""
    all_tests_s: float | None = None
    """Seconds for the whole process, whatever the number of tests."""
    death_passes: bool = False
    """Whether a process that ends without results passes where there is no test."""

    def limit_s(self, tests: int) -> float:
        """Seconds for the whole process."""
        if self.all_tests_s is not None:
            return self.all_tests_s
        return (self.rules["timeout_s"] + 1) * tests + self.added_s

    def plain(self, code: str, *, stdin: bool) -> bool:
        """Whether nothing in a program can reach this grader; see `screen.plain`."""
        names = _offered(self.rules["preamble"]) if "preamble" in self.rules else frozenset()
        return names.isdisjoint(_WORD.findall(code)) and plain(code, stdin=stdin)


@cache
def _offered(preamble: str) -> frozenset[str]:
    """Names that a preamble offers and LiveCodeBench's does not, as `screen` knows it."""
    names = {alias.asname or alias.name for node in ast.walk(syntax.parse(preamble))
             if isinstance(node, ast.Import | ast.ImportFrom) for alias in node.names}  # fmt: skip
    return frozenset(names - supplied() - {"*"})


class Published(msgspec.Struct, frozen=True):
    """What the harness itself would have written of a sample, and what we saw of it."""

    results: list[Any]
    metadata: dict[str, Any]
    passed: bool | None
    """None where the harness' aggregation raises, and with it the whole run."""
    observed: list[str | None] = []
    facts: dict[str, Any] = {}
    late: bool = False
    """Whether the process went on for longer than the harness waits for it."""


_WORD = re.compile(r"\w+")
_EARLY_S = 0.05
"""So much less than its time a test may have used when the alarm goes off; one that a program sets comes early."""
_ATTEMPTS = 3
"""Runs without expected outputs in which a program may show that it is right."""
DIED = "IndexError('list index out of range')"
"""What the grader meets when its child has ended without a word."""


def grade_as(harness: Harness, code: str, tests: Tests, executor: Executor) -> Judgement:
    """Grade a program as the harness does; what it would have written is in ``Judgement.harness``.

    Args:
        harness: the variant.
        code: the program, as extracted; "" is graded like any other.
        tests: decoded.
        executor: runs it.
    """
    published, outcome = _run(harness, code, tests, tests.outputs, executor)
    marks = [TESTS_INSIDE]
    reached = published.passed is None or (outcome is not None and outcome.status == Reason.TAMPERING)
    if reached or (
        published.passed and outcome is not None and _forged(harness, code, tests, published, outcome, executor)
    ):
        marks.append(TAMPERING)
    reason = _reason(published, outcome)
    limit_s = harness.rules["timeout_s"]
    return Judgement(
        reason=reason,
        detail=_detail(published, outcome),
        cpu_s=0.0 if outcome is None else outcome.cpu_s,
        wall_s=0.0 if outcome is None else outcome.wall_s,
        time_sensitive=reason is Reason.TIME_LIMIT
        or published.facts.get("longest_s", 0.0) >= NEAR * limit_s
        or (outcome is not None and outcome.time_sensitive),
        marks=tuple(marks),
        harness={"results": [_storable(value) for value in published.results], "metadata": published.metadata},
    )


def _run(
    harness: Harness,
    code: str,
    tests: Tests,
    outputs: Sequence[str] | None,
    executor: Executor,
    *,
    limit_s: float | None = None,
    wall_s: float | None = None,
) -> tuple[Published, Outcome | None]:
    """One run beside the expected outputs, or without them; no outcome where the limit is no time at all.

    Args:
        harness: the variant.
        code: the program.
        tests: their inputs are taken from here.
        outputs: the expected ones; None to keep them away.
        executor: runs it.
        limit_s: CPU seconds for the whole process, instead of the harness' own.
        wall_s: wall seconds for it, instead of those after which the harness would have ended it.
    """
    if limit_s is None:
        limit_s = harness.limit_s(len(tests.inputs))
    died = Published([-2], harness.runner_error(DIED), passed=harness.death_passes and not tests.inputs)
    # Where a harness adds nothing to (timeout + 1) a test it waits 0 s for no tests, and finds no result.
    if limit_s <= 0:
        return died, None
    answers: list[Any] = []

    def keep(_: int, result: CallResult) -> bool:
        answers.append(result.value)  # None if it raised
        return True

    preloaded = inside.preload(code, harness.rules.get("preamble", ""))
    rules = {**harness.rules, "preload": preloaded}
    program, compiled = inside.grader(preloaded)
    expected = None if outputs is None else list(outputs)
    arguments = (compiled, code, list(tests.inputs), expected, tests.function, rules)
    if wall_s is None:
        sent = sum(map(len, tests.inputs)) + sum(map(len, outputs or ()))
        wall_s = limit_s + _START_S + sent / _TRANSFER_BYTES_PER_S
    outcome = executor.call(program, inside.ENTRY_POINT, [arguments], keep, cpu_s=limit_s, wall_s=wall_s)
    if outcome.status != Reason.PASSED:
        return died, outcome
    match answers[0]:
        case (list(results), dict(metadata), list(observed), dict(facts)) if _credible(observed, facts):
            if facts["total_s"] > limit_s:
                return msgspec.structs.replace(died, late=True), outcome
            return _published_outcome(harness, results, metadata, observed, facts), outcome
        case _:  # the program has put something of its own in the grader's place
            return died, outcome


def _published_outcome(
    harness: Harness, raw: list[Any], metadata: dict[str, Any], observed: list[str | None], facts: dict[str, Any]
) -> Published:
    """What the grader's parent process makes of its child's results.

    LiveCodeBench/LiveCodeBench@28fef95 ``lcb_runner/evaluation/compute_code_generation_metrics.py``
    ``evaluate_generations_by_problem``; ``pass_k_utils.py`` ``compute_metrics_from_results``.
    """
    if harness.passes is not None:
        with suppress(Exception):  # an array of several values is neither true nor false
            return Published(raw, metadata, harness.passes(raw), observed, facts)
        return Published(raw, metadata, None, observed, facts)
    # Plain results need no numpy, whose import costs more than grading most programs.
    if all(type(value) in (bool, int, float) for value in raw):
        return Published(raw, metadata, all(value > 0 for value in raw), observed, facts)
    import numpy as np

    results, passed = raw, None
    try:
        results = [value.item(0) if isinstance(value, np.ndarray) else value for value in raw]
        results = [bool(value) if isinstance(value, np.bool_) else value for value in results]
        np.all(results)
    except Exception as error:
        metadata = harness.runner_error(repr(error))
    try:
        passed = bool(np.all(np.array(results) > 0))
    except Exception:
        passed = None
    return Published(results, metadata, passed, observed, facts)


def _credible(observed: list[Any], facts: dict[Any, Any]) -> bool:
    """Whether what came back has the form of what was sent; a program may have sent something else."""
    return (
        all(text is None or isinstance(text, str) for text in observed)
        and all(isinstance(facts.get(name), float) for name in ("total_s", "longest_s"))
        and all(isinstance(facts.get(name), bool) for name in ("fired", "syntax"))
    )


def _forged(
    harness: Harness, code: str, tests: Tests, published: Published, outcome: Outcome, executor: Executor
) -> bool:
    """Whether a program that passes has reached its grader, an expected output or the clock for it."""
    if not tests.inputs:
        return False
    if published.facts["fired"] and published.facts["longest_s"] >= harness.rules["timeout_s"] - _EARLY_S:
        return True  # the alarm's exception ends a test, unless the program catches it
    stdin = tests.function is None
    seen = published.observed
    if harness.plain(code, stdin=stdin) and not contradicted(
        seen, tests.outputs, stdin=stdin, right=harness.right
    ):
        return bool(published.facts["longest_s"] > _most_s(harness))  # nothing could touch the grader's own clock
    return not (
        _confirmed(harness, code, tests, outcome, executor)
        and (outcome.wall_s <= _most_s(harness) or _in_time(harness, code, tests, executor))
    )


def _most_s(harness: Harness) -> float:
    """Seconds for one test beyond which a program has escaped the alarm: the harness adds one for each."""
    return harness.rules["timeout_s"] + 1


def _confirmed(harness: Harness, code: str, tests: Tests, outcome: Outcome, executor: Executor) -> bool:
    """Whether the program gives right answers where no expected output is, with twice the time that it took.

    One that draws random numbers may be right today and wrong tomorrow: it is asked more than once.
    """
    # Twice, since what is asked is whether it is right: the time was judged in the first run.
    rules = harness.rules | {"timeout_s": 2 * harness.rules["timeout_s"]}
    patient = msgspec.structs.replace(harness, rules=rules)
    limit_s = 2 * (outcome.cpu_s + _most_s(harness))
    for _ in range(_ATTEMPTS):
        wall_s = _PATIENCE * limit_s + _PATIENCE_S
        watched, again = _run(patient, code, tests, None, executor, limit_s=limit_s, wall_s=wall_s)
        if len(watched.observed) == len(tests.outputs) and all(
            text is not None and harness.right(text, wanted, stdin=tests.function is None)
            for text, wanted in zip(watched.observed, tests.outputs, strict=True)
        ):
            return True
        if again is None or again.status == Reason.TIME_LIMIT:
            return False
    return False


def _in_time(harness: Harness, code: str, tests: Tests, executor: Executor) -> bool:
    """Whether no test takes longer than the alarm lets it, by a clock that the program cannot reach."""
    most_s = _most_s(harness)

    def run(inputs: tuple[str, ...], limit_s: float) -> Outcome | None:
        chosen = msgspec.structs.replace(tests, inputs=inputs)
        return _run(harness, code, chosen, None, executor, limit_s=limit_s, wall_s=limit_s)[1]

    start = run((), most_s)
    if start is None or start.status == Reason.TIME_LIMIT:
        return False
    alone = (run((given,), most_s + start.wall_s) for given in tests.inputs)
    return all(outcome is not None and outcome.status != Reason.TIME_LIMIT for outcome in alone)


def _reason(published: Published, outcome: Outcome | None) -> Reason:
    if published.passed:
        return Reason.PASSED
    if published.late or not published.facts:
        return Reason.TIME_LIMIT if published.late else _of_death(outcome)
    if published.passed is None:
        return Reason.TAMPERING
    code, facts = published.metadata.get("error_code"), published.facts
    # An alarm while the program is loaded is no result of a test: upstream writes -4 without an "error".
    if code == -3 or (code == -4 and "error" not in published.metadata and facts["fired"]):
        return Reason.TIME_LIMIT
    if code == -4:
        return Reason.SYNTAX_ERROR if facts["syntax"] else Reason.RUNTIME_ERROR
    return Reason.WRONG_ANSWER


def _of_death(outcome: Outcome | None) -> Reason:
    if outcome is None:
        return Reason.TIME_LIMIT
    return Reason.RUNTIME_ERROR if outcome.status == Reason.PASSED else Reason(outcome.status)


def _detail(published: Published, outcome: Outcome | None) -> str:
    """One line: how many tests, or the first that failed and what the harness says of it."""
    count = len(published.results)
    if published.passed:
        return f"{count} tests"
    if published.late:
        return "the whole process took longer than the harness waits"
    if not published.facts:
        return f"the grader's process ended: {outcome.detail}" if outcome is not None else "no time for no tests"
    if published.passed is None:
        return f"test {count}: a result that is no number ends the harness' whole run"
    words = [str(published.metadata.get(key, "")) for key in ("error_message", "error")]
    return shortened(" ".join(f"test {count}: {': '.join(filter(None, words))}".split()))


def _storable(value: object) -> bool | float | str | None:
    """A result as JSON can hold it."""
    if isinstance(value, dict):
        return str(value["repr"])
    return value if isinstance(value, bool | int | float | str | None) else repr(value)
