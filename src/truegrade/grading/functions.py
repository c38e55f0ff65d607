"""Grading a function by tests or by comparison with a reference, and the rules that compare."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import msgspec

from truegrade.errors import UnknownName
from truegrade.grading.executor import Executor
from truegrade.grading.judgement import Judgement, TestCount, from_outcome, shortened, shown, shown_call
from truegrade.grading.names_in_tests import may_execute, reads_state, seeds
from truegrade.grading.programs import arrange
from truegrade.grading.references import References
from truegrade.grading.values_in_tests import are_plain, compare_with_fixed_values, identity_code
from truegrade.records import FunctionTask, OracleTask, Reason
from truegrade.sandbox.outcome import CallResult, Outcome

# ----------------- Named rules that decide whether a function's output is right, given the reference's output.
# The rules are those of evalplus/evalplus@26d6d00 (evalplus/eval/__init__.py, _special_oracle.py), with five
# changes: a tolerance never outlives the input that asked for it (there it sticks to all later inputs of a
# task); floats inside lists, tuples and dicts always get it, which there depends on that sticking; integers never
# do; two NaN are equal; and an exact integer is right where the reference returns the float that it rounds to
# (Mbpp/14, 267 and 287 divide with ``/``), or a large one that lost further bits on its way.
#
# Outputs and inputs are plain values (see `truegrade.grading.executor`); nothing here runs foreign code.

RTOL = 1e-07
"""Relative tolerance, the default of numpy.testing.assert_allclose."""
FLOAT_ATOL = 1e-06
"""Absolute tolerance where the data set names none and the reference returned floats."""
MAX_DEPTH = 200
"""Values nested deeper are not compared within a tolerance: equal or wrong."""

Arguments = Sequence[Any]
Comparator = Callable[[Arguments, Any, Any, float], bool]


def compare(comparator: str, args: Arguments, expected: Any, got: Any, atol: float = 0.0) -> bool:
    """Whether ``got`` is a right output for ``args``.

    Args:
        comparator: name of a rule of `COMPARATORS`.
        args: the call's arguments, for rules that compute their own answer.
        expected: what the reference returned.
        got: what the candidate returned.
        atol: absolute tolerance of the task; 0 asks for equality unless ``expected`` holds floats.

    Raises:
        UnknownName: no such rule.
    """
    if comparator not in COMPARATORS:
        raise UnknownName("comparator", comparator, COMPARATORS)
    try:
        return COMPARATORS[comparator](args, expected, got, atol)
    except (TypeError, ValueError, ArithmeticError, RuntimeError):
        # A value of the wrong type or shape for the rule is a wrong answer; so are one nested too deeply and an
        # iterator with more items than are carried over (RuntimeError).
        return False


def adapter(comparator: str, entry_point: str) -> str:
    """Source to put behind a program, the reference and the candidate alike, so that its output is plain.

    Needed where right programs return objects, such as ``re.Match``, of which only a fact is compared.
    Empty for all other rules.
    """
    if comparator != "not_none":
        return ""
    return _NOT_NONE_ADAPTER.replace("ENTRY_POINT", entry_point)


_NOT_NONE_ADAPTER = """

def _truegrade_plain(function):
    def call(*args):
        value = function(*args)
        return value if value is True or value is False else value is not None
    return call


ENTRY_POINT = _truegrade_plain(ENTRY_POINT)
"""


def _equal(args: Arguments, expected: Any, got: Any, atol: float) -> bool:
    """Equal as Python says, exact where the reference rounds, or within tolerance and of the same type."""
    if _exactly(expected, got) or _rounds_to(expected, got):
        return True
    # EvalPlus compares later inputs within the tolerance as well, once one output was a float: not taken over.
    if atol == 0 and not holds_float(expected):
        return False
    return type(got) is type(expected) and _close(expected, got, atol or FLOAT_ATOL)


def _set_equal(args: Arguments, expected: Any, got: Any, atol: float) -> bool:
    """The same elements, in whatever order and number."""
    wanted = set(expected)
    if isinstance(got, range) and len(got) != len(wanted):  # its items all differ, and may be any number of them
        return False
    return set(got) == wanted or _rounds_to(wanted, set(got))


def _not_none(args: Arguments, expected: Any, got: Any, atol: float) -> bool:
    """None where the reference gives None or False, something where it does not; a bool must be equal."""
    return _is_something(got) == _is_something(expected)


def _always(args: Arguments, expected: Any, got: Any, atol: float) -> bool:
    """Any output: the task of Mbpp/164 has no agreed answer."""
    return True


def _equal_or_zero(args: Arguments, expected: Any, got: Any, atol: float) -> bool:
    """Mbpp/295: the sum of proper divisors of 1 may be taken for 0; evalplus grants it on every input."""
    return _equal(args, expected, got, atol) or bool(got == 0)


def _digit_distance(args: Arguments, expected: Any, got: Any, atol: float) -> bool:
    """Mbpp/558: digits may also be aligned at the right, the shorter number filled up with zeros."""
    if _equal(args, expected, got, atol):
        return True
    one, other = (str(number) for number in args)
    # EvalPlus' ``_digit_distance_nums``.
    width = max(len(one), len(other))
    pairs = zip(one.zfill(width), other.zfill(width), strict=True)
    return bool(got == sum(abs(int(a) - int(b)) for a, b in pairs))


def _surface_area(args: Arguments, expected: Any, got: Any, atol: float) -> bool:
    """Mbpp/581: the second argument may also be read as the height of the pyramid, not of its sides."""
    if _equal(args, expected, got, atol):
        return True
    base, height = args
    slant = math.sqrt((base / 2) ** 2 + height**2)
    return bool(abs(got - round(base**2 + 2 * base * slant)) <= atol)


def _root(args: Arguments, expected: Any, got: Any, atol: float) -> bool:
    """HumanEval/32: any zero of the polynomial whose coefficients, lowest first, are the argument.

    The reference's own answer counts too: since Python 3.12 ``sum`` rounds otherwise, and its bisection misses the
    zeros of seven inputs.
    """
    if got == expected:
        return True
    (coefficients,) = args
    value = sum(coefficient * math.pow(got, power) for power, coefficient in enumerate(coefficients))
    return bool(abs(value) <= atol)


COMPARATORS: Mapping[str, Comparator] = MappingProxyType(
    {
        "equal": _equal,
        "set_equal": _set_equal,
        "not_none": _not_none,
        "always": _always,
        "equal_or_zero": _equal_or_zero,
        "digit_distance": _digit_distance,
        "surface_area": _surface_area,
        "root": _root,
    }
)
"""Every rule by name."""


def _is_something(value: Any) -> bool:
    return value if isinstance(value, bool) else value is not None


def _exactly(expected: Any, got: Any) -> bool:
    try:
        return bool(got == expected)
    except RecursionError:
        return False


def _rounds_to(expected: Any, got: Any, depth: int = 0) -> bool:
    """Whether two values are equal once each int that stands where a float is expected is rounded to one."""
    if isinstance(expected, float | complex) and isinstance(got, int):
        return _is_rounding(expected, got)
    if type(got) is not type(expected) or depth > MAX_DEPTH:
        return _exactly(expected, got)
    if isinstance(expected, list | tuple):
        return len(got) == len(expected) and all(
            _rounds_to(*pair, depth + 1) for pair in zip(expected, got, strict=True)
        )
    if isinstance(expected, set | frozenset | dict):
        return _elements_round_to(expected, got, depth)
    return _exactly(expected, got)


def _is_rounding(expected: float | complex, got: int) -> bool:
    return bool(_rounded(got) == expected)


def _elements_round_to(expected: Any, got: Any, depth: int) -> bool:
    """The same of sets, or of the keys of dicts and what they map to."""
    whole = {key for key in expected if isinstance(key, int)}
    names = {key: key if key in expected else _rounded(key) for key in got}
    if len(got) != len(expected) or {*names.values()} != {*expected}:
        return False
    if any(name is not key and name in whole for key, name in names.items()):
        return False
    return not isinstance(expected, dict) or all(
        _rounds_to(expected[names[key]], item, depth + 1) for key, item in got.items()
    )


def _rounded(value: Any) -> Any:
    """The float nearest to an int; what is no int, or too large for a float, as it is."""
    try:
        return float(value) if isinstance(value, int) else value
    except OverflowError:
        return value


def holds_float(value: Any, depth: int = 0) -> bool:
    """Whether a float or complex number is in the value, at any depth."""
    if isinstance(value, float | complex):
        return True
    if depth > MAX_DEPTH:
        return False
    if isinstance(value, dict):
        value = value.values()
    elif not isinstance(value, list | tuple):
        return False
    return any(holds_float(item, depth + 1) for item in value)


def _close(expected: Any, got: Any, atol: float, depth: int = 0) -> bool:
    """Equal but for numbers, which may be off by ``atol + RTOL * abs(expected)``; containers of one type."""
    if _is_number(expected) and _is_number(got):
        return _close_numbers(expected, got, atol)
    if type(got) is not type(expected) or depth > MAX_DEPTH:
        return False
    if isinstance(expected, list | tuple):
        return len(got) == len(expected) and all(
            _close(*pair, atol, depth + 1) for pair in zip(expected, got, strict=True)
        )
    if isinstance(expected, dict):
        return got.keys() == expected.keys() and all(
            _close(item, got[key], atol, depth + 1) for key, item in expected.items()
        )
    return _exactly(expected, got)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | complex) and not isinstance(value, bool)


def _close_numbers(expected: Any, got: Any, atol: float) -> bool:
    if isinstance(expected, int) and isinstance(got, int):
        return got == expected
    if got == expected or (expected != expected and got != got):  # noqa: PLR0124 (only NaN differs from itself)
        return True
    difference = abs(got - expected)
    return math.isfinite(difference) and bool(difference <= atol + RTOL * abs(expected))


TESTS_INSIDE = "tests-inside"
"""Mark of a verdict whose tests shared a process with the candidate."""

REFERENCE_CPU_S = 120.0
"""CPU seconds that a data set's own program may take for all its inputs together."""

_SLOWDOWN = 4.0
"""A candidate may take this many times the reference's CPU time, as in evalplus @26d6d00
(``evalplus/config.py`` DEFAULT_GT_TIME_LIMIT_FACTOR); the profile's own limit is the minimum."""


def grade_by_tests(task: FunctionTask, program: str, executor: Executor) -> Judgement:
    """Run the tests outside the candidate's process.

    Where they saw the candidate and then could not go on, as they can on the reference, the answer is wrong. Where
    they see what it does to its arguments, what they expect may hang on that: so a candidate that changes them, or
    returns one, has to pass on copies of them as well, or, where the reference does not, to do what it does.

    Args:
        task: with its tests.
        program: the candidate, complete.
        executor: bound to the profile's limits.

    Returns:
        With the mark ``tests-inside`` where the tests may run what the program returned, or see what does not
        cross to them; where neither it nor the reference passes on copies of arguments to which it does something
        else; and where it passes on copies alone, since values that cross both ways took too much.
    """
    outcome = _by_tests(task, program, executor)
    draws = "random" in program and seeds(task.tests)
    doubtful = may_execute(task.tests) or reads_state(task.tests, task.entry_point) or draws
    marks = (TESTS_INSIDE,) if doubtful else ()
    if outcome.status in _TOO_MUCH and not are_plain(task.tests, task.entry_point):
        copied = _by_tests(task, program, executor, copies=True)
        outcome, marks = (copied, (TESTS_INSIDE,)) if copied.status == Reason.PASSED else (outcome, marks)
    judged = from_outcome(outcome, marks=marks)
    if outcome.stopped_by_program and task.reference:
        if any(run.status == Reason.PASSED for run in _by_reference(task, executor)):
            return msgspec.structs.replace(judged, reason=Reason.WRONG_ANSWER)
    elif judged.passed and outcome.detail:
        tied, _, doubts = outcome.detail.partition(";")
        judged = msgspec.structs.replace(judged, detail="", marks=(TESTS_INSIDE,) if doubts else marks)
        if tied:
            return _on_copies(task, program, executor, judged, tied)
    return judged


_TOO_MUCH = frozenset({Reason.TIME_LIMIT, Reason.OUTPUT_LIMIT, Reason.MEMORY_LIMIT, Reason.GRADER_ERROR})
"""How a run may end for what it takes that values cross both ways."""


def _on_copies(task: FunctionTask, program: str, executor: Executor, judged: Judgement, tied: str) -> Judgement:
    """The judgement on a candidate that passed, and did something to its arguments, which is told by a hash."""
    copied = _by_tests(task, program, executor, copies=True)
    if copied.status == Reason.PASSED:
        return judged
    if any(run.status == Reason.PASSED for run in _by_reference(task, executor, copies=True)):
        refused = from_outcome(copied)
        reason = Reason.WRONG_ANSWER if copied.stopped_by_program else refused.reason
        detail = f"on copies of its arguments: {refused.detail}"
        return msgspec.structs.replace(refused, reason=reason, detail=detail)
    passing = (run.detail for run in _by_reference(task, executor) if run.status == Reason.PASSED)
    if any(detail.partition(";")[0] == tied for detail in passing):
        return judged
    if compare_with_fixed_values(task.tests, task.entry_point):
        return judged
    return msgspec.structs.replace(judged, marks=(TESTS_INSIDE,))


def _by_reference(task: FunctionTask, executor: Executor, *, copies: bool = False) -> Iterator[Outcome]:
    """How the tests run on the reference, which of some tasks is a body."""
    for whole in dict.fromkeys((task.reference, task.prefix + task.reference) if task.reference else ()):
        yield _by_tests(task, whole, executor, copies=copies)


def _by_tests(task: FunctionTask, program: str, executor: Executor, *, copies: bool = False) -> Outcome:
    """How the tests run on a program, which is given copies where that is asked for."""
    a = arrange(task)
    carries = not are_plain(task.tests, task.entry_point)
    tests = a.setup + task.tests
    return executor.judge(
        program,
        tests,
        [task.entry_point],
        trusted=a.trusted,
        code=identity_code(tests) if carries and not copies else b"",
        classes=() if carries and a.classes is None else a.classes,
        carries=carries and not copies,
        cpu_s=task.cpu_s,
    )


class Expected(msgspec.Struct, frozen=True):
    """What the reference program returns, input by input."""

    results: tuple[CallResult, ...]
    cpu_s: float
    """CPU seconds the reference took for all inputs together."""


OF_REFERENCE = "the data set's reference "
"""How the message of a `ReferenceFailed` begins."""


class ReferenceFailed(Exception):
    """The data set's own program did not answer one of its inputs: nothing can be graded against it."""


def expected_outputs() -> References[Expected]:
    """References whose outputs, and the time that they took, are asked for."""
    return References(_run_reference, _encode_expected, _decode_expected)


def _encode_expected(expected: Expected) -> bytes:
    return msgspec.msgpack.encode(([one.packed for one in expected.results], expected.cpu_s))


def _decode_expected(encoded: bytes) -> Expected:
    results, cpu_s = msgspec.msgpack.decode(encoded, type=tuple[list[tuple[bytes, bytes, bool]], float])
    return Expected(tuple(CallResult.unpacked(*one) for one in results), cpu_s)


def grade_by_oracle(
    key: str,
    task: OracleTask,
    program: str,
    references: References[Expected],
    executor: Executor,
    *,
    min_cpu_s: float,
) -> Judgement:
    """Call the candidate on every input and compare outside its process; stop at the first difference.

    Args:
        key: identifies the problem among ``references``.
        task: with its inputs and reference.
        program: the candidate, complete.
        references: expected outputs, shared by the samples of a problem.
        executor: runs both programs.
        min_cpu_s: CPU limit, unless the reference's own time asks for more.
    """
    try:
        expected = references.of(key, task, executor)
    except ReferenceFailed as failure:
        return Judgement(reason=Reason.GRADER_ERROR, detail=str(failure))
    inputs = task.base_inputs + task.plus_inputs
    failures: list[tuple[Reason, str]] = []

    def compare(index: int, result: CallResult) -> bool:
        failure = _failure(task, inputs[index], expected.results[index], result, executor)
        if failure is not None:
            failures.append(failure)
        return failure is None

    # One limit for all calls together, of CPU time: what else runs on this machine decides nothing.
    cpu_s = max(min_cpu_s, _SLOWDOWN * expected.cpu_s)
    adapted = program + adapter(task.comparator, task.entry_point)
    judgement = from_outcome(executor.call(adapted, task.entry_point, inputs, compare, cpu_s=cpu_s))
    if failures and judgement.passed:
        reason, detail = failures[0]
        return msgspec.structs.replace(judgement, reason=reason, detail=detail)
    return judgement


def count_by_oracle(
    key: str,
    task: OracleTask,
    program: str,
    references: References[Expected],
    executor: Executor,
    *,
    min_cpu_s: float,
) -> TestCount | None:
    """How many inputs the candidate answers as the reference does; arguments as of `grade_by_oracle`.

    All calls share a process, so those behind one that ends it count as failed.

    Returns:
        None where the reference fails, or there are no inputs.
    """
    inputs = task.base_inputs + task.plus_inputs
    try:
        expected = references.of(key, task, executor)
    except ReferenceFailed:
        return None
    right: set[int] = set()

    def compare(index: int, result: CallResult) -> bool:
        if _failure(task, inputs[index], expected.results[index], result, executor) is None:
            right.add(index)
        return True

    cpu_s = max(min_cpu_s, _SLOWDOWN * expected.cpu_s)
    adapted = program + adapter(task.comparator, task.entry_point)
    executor.call(adapted, task.entry_point, inputs, compare, cpu_s=cpu_s)
    return TestCount(len(right), len(inputs)) if inputs else None


def _failure(
    task: OracleTask, arguments: tuple[Any, ...], expected: CallResult, result: CallResult, executor: Executor
) -> tuple[Reason, str] | None:
    """Why one result is not right, or None."""
    if result.error is not None:
        call = shown_call(task.entry_point, arguments)
        return Reason.RUNTIME_ERROR, f"{call} raised {shortened(result.error)}"
    # Equal bytes need no look at the value: most right answers are never rebuilt.
    if result.same_as(expected):
        return None
    words = executor.decide(_difference, result, expected, arguments, task.entry_point, task.comparator, task.atol)
    return None if words is None else (Reason.WRONG_ANSWER, words)


def _difference(
    got: Any, expected: Any, arguments: tuple[Any, ...], function: str, comparator: str, atol: float
) -> str | None:
    """What is wrong with an output, or None."""
    if compare(comparator, arguments, expected, got, atol):
        return None
    return f"{shown_call(function, arguments)} gave {shown(got)}, expected {shown(expected)}"


def _run_reference(task: OracleTask, executor: Executor) -> Expected:
    results: list[CallResult] = []
    errors: list[str] = []

    def keep(_: int, result: CallResult) -> bool:
        results.append(result)
        if result.error is not None:
            errors.append(result.error)
        return not errors

    inputs = task.base_inputs + task.plus_inputs
    program = task.reference + adapter(task.comparator, task.entry_point)
    outcome = executor.call(program, task.entry_point, inputs, keep, cpu_s=task.cpu_s or REFERENCE_CPU_S)
    if errors or outcome.status != Reason.PASSED:
        cause = errors[0] if errors else f"{outcome.status}: {outcome.detail}"
        raise ReferenceFailed(f"{OF_REFERENCE}failed on input {len(results)}: {cause}")
    return Expected(tuple(results), outcome.cpu_s)
