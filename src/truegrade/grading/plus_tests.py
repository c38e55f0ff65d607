"""The test programs of the hub's copies of HumanEval+ and MBPP+, derived from inputs and reference.

Harnesses other than EvalPlus read ``evalplus/humanevalplus`` and ``evalplus/mbppplus``, whose field ``test`` was
generated from the same inputs by evalplus/evalplus@26d6d00 ``tools/humaneval/to_original_fmt.py`` and
``tools/mbpp/to_original_fmt.py``. The programs made here have those programs' verdicts: the same inputs in the
same order, without repetitions; the same comparisons; the same global names. They run beside the candidate.
"""

from __future__ import annotations

from truegrade.grading.executor import Executor
from truegrade.grading.functions import References
from truegrade.records import OracleTask

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


def plus_tests(key: str, task: OracleTask, references: References, executor: Executor) -> str:
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
