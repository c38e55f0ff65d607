"""EvalScope's grading of contest problems in its container: a script for every test, judged by what it prints.

modelscope/evalscope@fde259d2 ``evalscope/benchmarks/live_code_bench/sandbox_evaluate_utils.py``. The container is
ours; a script passes on its exit code as in modelscope/ms-enclave@61ce09f ``python_executor.py``. Names in the
scripts are the original's: a program shares its globals with them.
"""

from __future__ import annotations

import os

import msgspec

from truegrade.grading.contests import inside
from truegrade.grading.contests.harness import right
from truegrade.grading.contests.screen import plain_without
from truegrade.grading.contests.tests import Tests
from truegrade.grading.executor import Executor
from truegrade.grading.functions import TESTS_INSIDE
from truegrade.grading.judgement import Judgement, from_outcome, shortened
from truegrade.grading.marks import TAMPERING
from truegrade.records import Reason
from truegrade.sandbox.outcome import Outcome

_START_S = 1.0
"""Wall seconds beyond a test's own: a program that sleeps through its limit is ended, a delayed one is not."""
_STDIN = """
import io
import sys

sys.stdin = io.TextIOWrapper(io.BytesIO({input!r}.encode('utf-8')), encoding='utf-8')

{code}
"""

_FUNCTIONAL_HEAD = """
import json
import sys
from typing import TYPE_CHECKING, Dict, List, Tuple, Set, Sequence, Mapping
import ast

def parse_mixed_data(data_string):
    result = []
    for line in data_string.strip().split('\\n'):
        if not line.strip():
            continue
        try:
            result.append(ast.literal_eval(line.strip()))
        except (ValueError, SyntaxError):
            result.append(line.strip())
    return result

"""

_FUNCTIONAL_TAIL = """

try:
    test_input = {input!r}
    expected_output = {expected!r}
    if 'class Solution' in '''{code}''':
        solution = Solution()
        method = getattr(solution, '{function}')
    else:
        method = {function}
    parse_multi_type = False
    try:
        if '\\n' in test_input:
            test_input = parse_mixed_data(test_input)
            parse_multi_type = True
        else:
            test_input = json.loads(test_input)
    except:
        pass
    result = method(*test_input) if parse_multi_type else method(test_input)
    try:
        expected_output = json.loads(expected_output)
    except:
        pass
    if isinstance(result, tuple):
        result = list(result)
    {decision}
except Exception as e:
    print(f"EXECUTION_ERROR: {{str(e)}}")
    import traceback
    traceback.print_exc()
"""

_COMPARE = """if result == expected_output:
        print("TEST_PASSED")
    else:
        print(f"TEST_FAILED: expected {expected_output}, got {result}")"""
_TELL = """teller = {{}}
    exec({source!r}, teller)
    print({token!r} + teller['as_told'](result))"""

_PASSED = "TEST_PASSED\n"
_SPEAKS = frozenset({"print", "input", "stdout", "write", "writelines"})
"""Without these a plain program cannot print the marker itself."""
_COMPARES = frozenset({"json", "ast", "isinstance", "tuple", "list", "Exception", "parse_mixed_data"})
_TESTS = frozenset({"expected_output", "test_input"})
"""What the script reads after the program's own code, or while that runs: its tools, and what it compares with."""
_ATTEMPTS = 3
"""Runs of one test without its expected output in which a program may show that it is right."""


class _Trial(msgspec.Struct, frozen=True):
    """What a test's script says."""

    wrong: tuple[str, ...] | None
    """What is wrong, in the harness' words, or nothing where these miss; None if nothing is."""
    reason: Reason
    outcome: Outcome


def grade_sandboxed(code: str, tests: Tests, executor: Executor, *, timeout_s: float) -> Judgement:
    """Run a script a test, to the first that fails.

    Args:
        code: the program, as extracted.
        tests: decoded; without any, every program passes.
        executor: runs the scripts.
        timeout_s: seconds for each.
    """
    functional = bool(tests.function)
    marks = (TESTS_INSIDE,) if functional else ()
    judgement = Judgement(reason=Reason.PASSED, cpu_s=0.0, wall_s=0.0, marks=marks)
    passed = 0
    wrong: tuple[str, ...] = ()
    quiet = True
    for index in range(len(tests.inputs)):
        trial = (_call if functional else _read)(code, tests, index, executor, timeout_s)
        latest = from_outcome(trial.outcome, marks=marks)
        judgement = msgspec.structs.replace(
            latest,
            reason=trial.reason,
            cpu_s=(judgement.cpu_s or 0.0) + (latest.cpu_s or 0.0),
            wall_s=(judgement.wall_s or 0.0) + (latest.wall_s or 0.0),
            time_sensitive=judgement.time_sensitive or latest.time_sensitive,
        )
        if trial.wrong is not None:
            wrong = trial.wrong
            break
        passed += 1
        quiet = quiet and trial.outcome.stdout == _PASSED
    harmless = not functional or (quiet and _harmless(code))
    if judgement.passed and not harmless and not _right(code, tests, executor, timeout_s):
        judgement = msgspec.structs.replace(judgement, marks=(*marks, TAMPERING))
    details = {"total_tests": len(tests.inputs), "passed_tests": passed, "failed_cases": list(wrong)}
    detail = f"{passed} tests" if judgement.passed else shortened(" ".join(" ".join(wrong).split()))
    published = {"results": [judgement.passed], "metadata": details}
    return msgspec.structs.replace(judgement, detail=detail, harness=published)


def _run(executor: Executor, source: str, timeout_s: float) -> Outcome:
    return executor.script(source, cpu_s=timeout_s, wall_s=timeout_s + _START_S)


def _read(code: str, tests: Tests, index: int, executor: Executor, timeout_s: float) -> _Trial:
    """A program on standard input: whole stripped texts must be equal."""
    outcome = _run(executor, _STDIN.format(input=tests.inputs[index], code=code), timeout_s)
    if outcome.status != Reason.PASSED:
        wrong = f"Test {index}: Execution error - Result: {_as_told(outcome)}"
        return _Trial((wrong,), Reason(outcome.status), outcome)
    got, expected = outcome.stdout.strip(), tests.outputs[index].strip()
    if got == expected:
        return _Trial(None, Reason.PASSED, outcome)
    return _Trial((f"Test {index}: Expected '{expected}', got '{got}'",), Reason.WRONG_ANSWER, outcome)


def _call(code: str, tests: Tests, index: int, executor: Executor, timeout_s: float) -> _Trial:
    """A function: the script compares, and prints what it finds."""
    outcome = _run(executor, _functional(code, tests, index, _COMPARE), timeout_s)
    if outcome.status != Reason.PASSED:
        wrong = f"Test {index}: Sandbox execution failed - Result: {_as_told(outcome)}"
        return _Trial((wrong,), Reason(outcome.status), outcome)
    if "TEST_PASSED" in outcome.stdout:
        return _Trial(None, Reason.PASSED, outcome)
    words = (("TEST_FAILED:", Reason.WRONG_ANSWER), ("EXECUTION_ERROR:", Reason.RUNTIME_ERROR))
    for word, reason in words:
        if word in outcome.stdout:
            lines = [line for line in outcome.stdout.split("\n") if line.startswith(word)]
            return _Trial(
                tuple(f"Test {index}: {line.replace('TEST_FAILED: ', '')}" for line in lines[:1]), reason, outcome
            )
    wrong = f"Test {index}: Unknown error in output. Result: {_as_told(outcome)}"
    return _Trial((wrong,), Reason.RUNTIME_ERROR, outcome)


def _harmless(code: str) -> bool:
    """Whether only the script can have printed the marker, and nothing was told it what to compare with."""
    # The script quotes the program between three apostrophes.
    return "'''" not in code and plain_without(code, _SPEAKS, _COMPARES | _TESTS)


def _right(code: str, tests: Tests, executor: Executor, timeout_s: float) -> bool:
    """Whether the function is right on every test, seen from outside, without expected outputs in its process."""
    unknown = msgspec.structs.replace(tests, outputs=("",) * len(tests.outputs))
    return all(
        _answers(code, unknown, index, expected, executor, timeout_s)
        for index, expected in enumerate(tests.outputs)
    )


def _answers(code: str, unknown: Tests, index: int, expected: str, executor: Executor, timeout_s: float) -> bool:
    """Whether a call gives the right value in at most twice its time."""
    for _ in range(_ATTEMPTS):
        token = os.urandom(16).hex()
        source = _functional(code, unknown, index, _TELL.format(token=token, source=inside.teller()))
        outcome = _run(executor, source, 2 * timeout_s)
        if right(outcome.stdout.rpartition(token)[2].partition("\n")[0], expected, stdin=False):
            return True
        if outcome.status == Reason.TIME_LIMIT:
            return False
    return False


def _functional(code: str, tests: Tests, index: int, decision: str) -> str:
    tail = _FUNCTIONAL_TAIL.format(
        input=tests.inputs[index],
        expected=tests.outputs[index],
        code=code,
        function=tests.function,
        decision=decision,
    )
    return f"{_FUNCTIONAL_HEAD}{code}{tail}"


def _as_told(outcome: Outcome) -> dict[str, str]:
    """The container's answer; of a script that was stopped it has no output."""
    if outcome.status == Reason.TIME_LIMIT:
        return {"status": "error", "output": ""}
    return {"status": "success" if outcome.status == Reason.PASSED else "error", "output": outcome.stdout}
