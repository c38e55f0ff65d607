"""Our own grading of contest problems: a process for every test, its output compared outside.

A program on standard input is a real script: `input`, `sys.stdin` in any form and ``open(0)`` read it, threads are
joined, every stream counts that reaches standard output, an exit code other than 0 fails. A method is called in a
fresh process as well, so nothing survives from test to test.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from decimal import Decimal
from functools import lru_cache
from typing import Any, NamedTuple

from truegrade.grading.contests import inside
from truegrade.grading.contests.driver import import_string
from truegrade.grading.contests.output_comparison import as_json
from truegrade.grading.contests.tests import Tests, decoded
from truegrade.grading.executor import Executor
from truegrade.grading.judgement import Judgement, TestCount, shortened, shown
from truegrade.grading.programs import assemble
from truegrade.records import Answer, Reason
from truegrade.sandbox.outcome import CallResult, Outcome, as_returned

PREAMBLE = f"{import_string}sys.set_int_max_str_digits(50000)\n"
"""LiveCodeBench's preamble and its limit of digits (@28fef95 ``compute_code_generation_metrics.py``)."""

_BLANKS = " \t\n\r\f\v"
_WORD = re.compile(rf"[^{_BLANKS}]+")
_NUMERAL = re.compile(r"[+-]?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
"""What ``print``, ``printf`` and numpy write for a finite number. Digits that begin with a further 0 are a text,
as binary strings and codes are: 011 is not 11. ``nan`` and ``inf`` are right as the same text alone."""

Failure = tuple[Reason, str]


def grade_separately(code: str, tests: Tests, executor: Executor) -> Judgement:
    """Run every test until one fails.

    Args:
        code: the program, as extracted.
        tests: decoded; none at all is the grader's error.
        executor: bound to the limits of one test.
    """
    count = len(tests.inputs)
    if not count:
        return Judgement(reason=Reason.GRADER_ERROR, detail="the problem has no tests")
    try:
        wanted = _accepted_values(tests)
    except ValueError as error:
        return Judgement(reason=Reason.GRADER_ERROR, detail=str(error))
    # Limits are of one test; what is reported is the sum over those that were run.
    cpu_s = wall_s = 0.0
    time_sensitive = False
    failure: Failure | None = None
    passed = 0
    for trial in _trials(code, tests, wanted, executor):
        cpu_s += trial.outcome.cpu_s
        wall_s += trial.outcome.wall_s
        time_sensitive |= trial.outcome.time_sensitive
        passed += trial.passed
        if trial.failure is not None:
            given = shortened(tests.inputs[passed])
            failure = trial.failure[0], f"test {passed + 1} of {count}: {trial.failure[1]}; input {given!r}"
            break
    reason, detail = failure or (Reason.PASSED, f"{count} tests")
    return Judgement(reason=reason, detail=detail, cpu_s=cpu_s, wall_s=wall_s, time_sensitive=time_sensitive)


def count_passed(code: str, tests: Tests, executor: Executor) -> TestCount | None:
    """How many tests a program passes, each in a process of its own; those behind one out of time are not run.

    Args:
        code: the program, as extracted.
        tests: decoded.
        executor: bound to the limits of one test.

    Returns:
        None where there are no tests, or one is not JSON.
    """
    try:
        wanted = _accepted_values(tests)
    except ValueError:
        return None
    passed = 0
    for trial in _trials(code, tests, wanted, executor):
        passed += trial.passed
        if trial.failure is not None and trial.failure[0] is Reason.TIME_LIMIT:
            break
    return TestCount(passed, len(tests.inputs)) if tests.inputs else None


def grade_script(code: str, given: str, expected: str, executor: Executor, *, cpu_s: float) -> Judgement:
    """One test of a program on standard input.

    Args:
        code: the program, as extracted.
        given: what it reads.
        expected: what it is to print.
        executor: runs it.
        cpu_s: limit of the test.
    """
    program = assemble(PREAMBLE, Answer(value=code, found=""))
    outcome, wrong = _read(program, given, expected, executor, cpu_s)
    reason, detail = wrong or (Reason.PASSED, "")
    return Judgement(
        reason=reason,
        detail=detail,
        cpu_s=outcome.cpu_s,
        wall_s=outcome.wall_s,
        time_sensitive=outcome.time_sensitive,
    )


def printed_right(printed: str, expected: str) -> bool:
    """Whether an output is the expected one under `strict`: lines equal, or all their words equal as numerals.

    LiveCodeBench's rule (`truegrade.grading.contests.output_comparison`) with blanks and numerals of ASCII only:
    there whatever ``Decimal`` reads is a number, full-width and Arabic digits and ``0_1`` too.
    """
    got, wanted = (text.strip(_BLANKS).split("\n") for text in (printed, expected))
    pairs = zip(got, wanted, strict=False)
    return len(got) == len(wanted) and all(
        one == two or _same_line(one.strip(_BLANKS), two.strip(_BLANKS)) for one, two in pairs
    )


def _same_line(got: str, wanted: str) -> bool:
    return got == wanted or ((numbers := _numbers(got)) is not None and numbers == _numbers(wanted))


def _numbers(line: str) -> list[Decimal] | None:
    """The words of a line as numbers; None if one of them is no numeral, or its exponent exceeds Decimal's."""
    words = _WORD.findall(line)
    try:
        return [Decimal(word) for word in words] if all(map(_NUMERAL.fullmatch, words)) else None
    except ArithmeticError:
        return None


class _Trial(NamedTuple):
    """One run: of a program on standard input it is one test, of a function all up to the first that fails."""

    outcome: Outcome
    passed: int
    """Tests."""
    failure: Failure | None
    """Of the test behind these."""


def _trials(code: str, tests: Tests, wanted: Sequence[_Accepted], executor: Executor) -> Iterator[_Trial]:
    """Runs, until every test has passed or failed."""
    if tests.function is None:
        program = assemble(PREAMBLE, Answer(value=code, found=""))
        for given, expected in zip(tests.inputs, tests.outputs, strict=True):
            outcome, wrong = _read(program, given, expected, executor)
            yield _Trial(outcome, int(wrong is None), wrong)
        return
    tried = 0
    while tried < len(tests.inputs):
        yield (trial := _call(code, tests, wanted, tried, executor))
        tried += trial.passed + (trial.failure is not None)


def _read(
    program: str, given: str, expected: str, executor: Executor, cpu_s: float | None = None
) -> tuple[Outcome, Failure | None]:
    outcome = executor.script(program, given, cpu_s=cpu_s)
    if outcome.status != Reason.PASSED:
        return outcome, (Reason(outcome.status), outcome.detail)
    if outcome.stdout.strip(_BLANKS) == expected.strip(_BLANKS):
        return outcome, None  # as most right answers: no need to look at lines, or to do so in another process
    try:
        if executor.decide(printed_right, outcome.stdout, expected):
            return outcome, None
    except ValueError as error:
        return outcome, (Reason.OUTPUT_LIMIT, f"printed {error}")
    words = f"printed {shortened(outcome.stdout)!r}, expected {shortened(expected)!r}"
    return outcome, (Reason.WRONG_ANSWER, words)


def _call(code: str, tests: Tests, wanted: Sequence[_Accepted], tried: int, executor: Executor) -> _Trial:
    """The tests from this one on, each in a process of its own, which all are forks of one that runs nothing of
    the program."""
    assert tests.function is not None
    program, modules = inside.solution(code)
    calls = [(modules, code, PREAMBLE), *((b"", tests.function, given) for given in tests.inputs[tried:])]
    failures: list[Failure] = []
    passed = 0

    def keep(index: int, result: CallResult) -> bool:
        nonlocal passed
        test = tried + index - 1
        if result.error is not None:
            failures.append(_raised(result.error))
        elif index:
            right = bool(result.encoded) and result.encoded in wanted[test].returned
            returned = None if right else executor.decide(_other, result, *wanted[test].values)
            if returned is not None:
                words = f"{tests.function} returned {returned}, expected {shortened(tests.outputs[test])}"
                failures.append((Reason.WRONG_ANSWER, words))
            passed += returned is None
        return not failures

    outcome = executor.call(program, inside.ENTRY_POINT, calls, keep, forks=True)
    if outcome.status != Reason.PASSED:
        failures = [(Reason(outcome.status), outcome.detail)]
    return _Trial(outcome, passed, next(iter(failures), None))


def _raised(error: str) -> Failure:
    # Compiled inside the program's process, where a SyntaxError arrives as any exception of a call.
    kind = error.partition(":")[0]
    syntax = kind in {"SyntaxError", "IndentationError", "TabError"}
    reason = Reason.SYNTAX_ERROR if syntax else Reason.RUNTIME_ERROR
    return Reason.MEMORY_LIMIT if kind == "MemoryError" else reason, shortened(error)


def _other(got: Any, *wanted: object) -> str | None:
    """What was returned, if it is none of these values."""
    value = as_json(got)
    return None if any(value == as_json(one) for one in wanted) else shown(got)


class _Accepted(NamedTuple):
    """What a function may return for a test."""

    values: tuple[Any, ...]
    returned: tuple[bytes, ...]
    """Those of them that equal their like, as programs send them: most right answers are equal byte by byte."""


@lru_cache(maxsize=4)
def _accepted_values(tests: Tests) -> tuple[_Accepted, ...]:
    """What a function may return for each test, read once for all samples of a problem; nothing for programs.

    Raises:
        ValueError: a test is not JSON, whatever any program does; says which.
    """
    if tests.function is None:
        return ()
    wanted = []
    also = tests.or_outputs or (None,) * len(tests.inputs)
    for index, (given, expected, other) in enumerate(zip(tests.inputs, tests.outputs, also, strict=True)):
        try:
            for line in given.strip("\n").split("\n"):
                decoded(line)
            values = {text: decoded(text) for text in (expected, other) if text is not None}
            returned = [as_returned(value) for text, value in values.items() if "NaN" not in text]
            wanted.append(_Accepted(tuple(values.values()), tuple(returned)))
        except (ValueError, RecursionError) as error:
            raise ValueError(f"test {index + 1} is not JSON: {shortened(str(error))}") from None
    return tuple(wanted)
