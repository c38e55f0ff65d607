"""Grades programs whose values take far more than they weigh; prints a line of JSON for each.

A process of its own, so that its peak of memory is that of a process that grades.
"""

import json
import sys
from pathlib import Path

from truegrade.grading.contests.separate import grade_separately
from truegrade.grading.contests.tests import Tests
from truegrade.grading.functions import expected_outputs, grade_by_oracle
from truegrade.grading.repairs import grade_repair
from truegrade.kinds import kind_of
from truegrade.kinds.input_prediction import grade_input
from truegrade.records import Answer, Case, CasesTask, InputTask, OracleTask
from truegrade.sandbox import Limits, Sandbox

LIMITS = Limits(cpu_s=10, output_bytes=64 << 20)


def by_oracle(returned, expected="1", comparator="equal"):
    task = OracleTask(
        prompt="", entry_point="f", reference=f"def f(x): return {expected}",
        base_inputs=((1,),), plus_inputs=(), comparator=comparator, prefix="",
    )  # fmt: skip
    return lambda jail: grade_by_oracle("p", task, _program(returned), expected_outputs(), jail, min_cpu_s=10)


def by_cases(returned, expected, comparator="eq"):
    case = Case(arguments=(1,), expected=expected)
    task = CasesTask(entry_point="f", buggy="", reference="", cases=(case,), comparator=comparator)
    return lambda jail: grade_repair(kind_of(task).suite(task), _program(returned), jail, cpu_s=10)


def by_contest(code, expected, function=None):
    tests = Tests(function=function, inputs=("1",), outputs=(expected,))
    return lambda jail: grade_separately(code, tests, jail)


def by_input(returned):
    task = InputTask(program=_program(returned), function="f", expected="1", reference_arguments="1")
    return lambda jail: grade_input(task, Answer(value="1", found="as given"), jail)


def _program(returned):
    numpy = "import numpy\n" * ("numpy." in returned)
    return f"import collections, decimal, fractions\n{numpy}def f(x):\n    return {returned}\n"


METHOD = "class Solution:\n    def f(self, x):\n        return "
ATTACKS = {
    "integer": by_oracle("10 ** 5000"),
    "integer in a table": by_oracle("collections.Counter({1: 10 ** 5000})"),
    "fraction": by_oracle("fractions.Fraction(10 ** 5000, 7)"),
    "range of integers": by_oracle("range(10 ** 5000)"),
    "iterator": by_oracle("iter([1])"),
    "iterators in a deque": by_oracle("collections.deque([iter([1])])"),
    "range as a set": by_oracle("range(10 ** 9)", "[1, 2]", "set_equal"),
    "array against a list": by_oracle("numpy.zeros((16_000_000, 1), dtype='i1')", "list(range(300))"),
    "array": by_oracle("numpy.zeros((1 << 25,), dtype='i1')", "0"),
    "deques": by_oracle("[collections.deque() for _ in range(600_000)]"),
    "tables": by_oracle("[{} for _ in range(400_000)]"),
    "text": by_oracle("'x' * 60_000_000"),
    "decimal": by_oracle("decimal.Decimal('1E+999999999999999999')"),
    "integer of a repair": by_cases("10 ** 5000", 1),
    "range as a list": by_cases("range(10 ** 10)", [1, 2], "list"),
    "integer of a prediction": by_input("10 ** 5000"),
    "integer of a contest": by_contest(METHOD + "10 ** 5000", "[1]", "f"),
    "range of a contest": by_contest(METHOD + "range(10 ** 10)", "[1]", "f"),
    "words on a line": by_contest("print('1 ' * 31_000_000)", "1 2"),
    "lines": by_contest("print('\\n' * 60_000_000, 1)", "2"),
}
HONEST = by_oracle("[1, 2]", "[1, 2]")


def peak_mb():
    """Not `ru_maxrss`, in which a process inherits the peak of the one that started it."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) // 1024


def main() -> None:
    with Sandbox(LIMITS, workers=1, allow_unsafe=True, max_level=int(sys.argv[1])) as jail:
        for name, attack in ATTACKS.items():
            judgement, after = attack(jail), HONEST(jail)
            peak = peak_mb()
            line = {"name": name, "reason": judgement.reason, "detail": judgement.detail, "after": after.reason}
            print(json.dumps(line | {"peak_mb": peak}), flush=True)


if __name__ == "__main__":
    main()
