"""The published grader of LiveCodeBench, as it runs beside one program in the sandbox.

Program and expected outputs share a process on purpose: a profile owes the published results, also those of a
program that reaches into its grader. Names that such a program can find (of this module's functions, of locals on
the stack) are therefore the original's.

Rules: LiveCodeBench/LiveCodeBench@28fef95 ``lcb_runner/evaluation/testing_util.py``;
modelscope/evalscope@fde259d2 ``evalscope/benchmarks/live_code_bench/testing_util.py`` has the same but for what
`Rules` says. The text of this file is sent to the sandbox; nothing of it runs in our own process but in tests.
"""

import ast
import faulthandler
import importlib
import json
import os
import pickle
import signal
import sys
import time
from contextlib import suppress
from types import ModuleType
from typing import Any

from truegrade.grading.contests import Rules
from truegrade.grading.contests.output_comparison import first_difference, get_stripped_lines
from truegrade.grading.contests.prime import run_test
from truegrade.grading.contests.told import as_told
from truegrade.grading.contests.worlds import (
    Alarm,
    Capturing,
    Observed,
    allclose,
    as_text,
    call_method,
    clean_if_name,
)

_MODULES = (
    *("string", "re", "datetime", "collections", "heapq", "bisect", "copy", "math", "random", "statistics"),
    *("itertools", "functools", "operator", "io", "sys", "json"),
)
import_string = (
    "".join(f"from {name} import *\n" for name in (*_MODULES, "builtins", "typing"))
    + "".join(f"import {name}\n" for name in _MODULES)
    + "sys.setrecursionlimit(50000)\n"
)
"""What stands in front of every program."""

Result = tuple[list[Any], dict[str, Any]]
"""One entry a test, to the first that fails; and the metadata."""


def grade_sample(
    code: str, all_inputs: list[str], all_outputs: list[str] | None, fn_name: str | None, rules: Rules
) -> tuple[list[Any], dict[str, Any], list[str | None], dict[str, Any]]:
    """Grade one program.

    Args:
        code: the program, as extracted.
        all_inputs: of all tests, as stored.
        all_outputs: expected ones; None to only watch: a test that ends without an error then counts as right.
        fn_name: the function to call; None for a program on standard input.
        rules: the variant.

    Returns:
        Results, those of other than plain types and numbers as ``{"repr": text}``; metadata; what the program
        printed or, as JSON, returned, test by test; facts for our own verdict.

    Raises:
        BaseException: whatever would have ended the grader's process: SystemExit, a failure of pickling.
    """
    seen = Observed(_MAX_OBSERVED if all_outputs is not None else _MAX_WATCHED)
    alarm = _prepare(rules)
    alarm.set(rules["timeout_s"])
    try:
        if rules.get("prime"):
            graded: Result | None = run_test(code, all_inputs, all_outputs, fn_name, rules, alarm, seen)
        elif fn_name is None:
            graded = grade_stdio(code, all_inputs, all_outputs, rules, alarm, seen)
        else:
            graded = grade_call_based(code, all_inputs, all_outputs, fn_name, rules, alarm, seen)
        results, metadata = graded  # type: ignore[misc]  # None: unpacking it is the published error
    except Exception as error:
        seen.syntax = isinstance(error, SyntaxError)
        results, metadata = [-4], {"error_code": -4, "error_message": f"Error during testing: {error}"}
    finally:
        alarm.set(0)
    for value in (*results, *metadata.values()):
        if type(value) not in _PLAIN:
            pickle.dumps(value)  # they cross to the grader in this form, and a failure ends the process
    results = [value if _carried(type(value)) else {"repr": repr(value)} for value in results]
    facts = {"total_s": alarm.total_s, "longest_s": alarm.longest_s, "fired": alarm.fired, "syntax": seen.syntax}
    return results, metadata, seen.outputs, facts


# ------------------------------------------------------------------------------------------ both kinds of problem


def grade_call_based(
    code: str,
    all_inputs: list[Any],
    all_outputs: list[Any] | None,
    fn_name: str,
    rules: Rules,
    alarm: Alarm,
    seen: Observed,
) -> Result | None:
    """Call one function of one object on every input; plain ``==`` decides."""
    compiled_sol = compile_code(rules["preamble"] + "\n\n" + code, rules, alarm)
    method = get_function(compiled_sol, fn_name)
    if method is None:
        return None
    all_inputs = [[json.loads(line) for line in inputs.split("\n")] for inputs in all_inputs]
    watched = all_outputs is None
    all_outputs = [None] * len(all_inputs) if all_outputs is None else [json.loads(text) for text in all_outputs]
    total_execution = 0.0
    all_results: list[Any] = []
    for gt_inp, gt_out in zip(all_inputs, all_outputs, strict=False):
        _begin(rules, alarm)
        try:
            start = time.time()
            prediction = method(*gt_inp)
            total_execution += time.time() - start
            alarm.set(0)
            if isinstance(prediction, tuple):
                prediction = list(prediction)
            # Before it is compared: an object's __eq__ is shown the expected value.
            told = as_told(prediction) if watched else as_text(prediction)
            seen.add(told or (as_text(prediction) if rules.get("close") else ""))
            tmp_result = True if watched else prediction == gt_out
            if rules.get("close") and not watched:
                tmp_result = tmp_result or close(prediction, gt_out)
            all_results.append(tmp_result)
            if not tmp_result:
                shown = {"output": prediction, "inputs": gt_inp, "expected": gt_out}
                cut = {key: truncatefn(value) for key, value in shown.items()}
                return all_results, {**cut, "error_code": -2, "error_message": "Wrong Answer"}
        except Exception as error:
            return failed(error, all_results, gt_inp, gt_out, alarm)
        finally:
            _end(rules, alarm)
    return all_results, {"execution time": total_execution}


def grade_stdio(
    code: str, all_inputs: list[str], all_outputs: list[str] | None, rules: Rules, alarm: Alarm, seen: Observed
) -> Result | None:
    """Call the program, made a function, on every input; compare what it prints."""
    compiled_sol = compile_code(make_function(clean_if_name(code), rules["preamble"]), rules, alarm)
    method = get_function(compiled_sol, "wrapped_function")
    if method is None:
        return None
    watched = all_outputs is None
    total_execution_time = 0.0
    all_results: list[Any] = []
    for gt_inp, gt_out in zip(all_inputs, all_inputs if all_outputs is None else all_outputs, strict=False):
        _begin(rules, alarm)
        with Capturing() as captured_output:
            try:
                start = time.time()
                call_method(method, gt_inp, rules["world"])
                total_execution_time += time.time() - start
                alarm.set(0)
            except Exception as error:
                return failed(error, all_results, gt_inp, gt_out, alarm)
            finally:
                _end(rules, alarm)
        prediction = captured_output[0]
        seen.add(prediction)
        wrong = None if watched else wrong_answer(prediction, gt_out)
        if wrong is not None:
            all_results.append(-2)
            told = {"output": prediction, "inputs": gt_inp, "expected": gt_out}
            cut = {key: truncatefn(value) for key, value in told.items()}
            return all_results, {**cut, "error_code": -2, "error_message": wrong}
        all_results.append(True)
    return all_results, {"execution time": total_execution_time}


def close(prediction: Any, gt_out: Any) -> bool:
    """Whether two values are the same as JSON, or close as numbers; NVIDIA-NeMo/Gym@07d6b0d alone asks."""
    with suppress(Exception):
        if json.dumps(prediction) == json.dumps(gt_out):
            return True
    with suppress(Exception):
        return allclose([float(prediction)], [float(gt_out)])
    return False


def wrong_answer(prediction: str, gt_out: str) -> str | None:
    """What is wrong with an output, or None."""
    got, expected = get_stripped_lines(prediction), get_stripped_lines(gt_out)
    if len(got) != len(expected):
        return "Wrong answer: mismatched output length"
    index = first_difference(got, expected)
    if index is None:
        return None
    return f"Wrong answer at output_line_idx={index}: {truncatefn(got[index])} != {truncatefn(expected[index])}"


def failed(error: Exception, all_results: list[Any], gt_inp: Any, gt_out: Any, alarm: Alarm) -> Result:
    """The results that end with this exception; its text decides whether it is a matter of time."""
    alarm.set(0)
    late = "timeoutexception" in repr(error).lower()
    all_results.append(-3 if late else -4)
    return all_results, {
        "error": repr(error),
        "error_code": -3 if late else -4,
        "error_message": "Time Limit Exceeded" if late else "Runtime Error",
        "inputs": truncatefn(gt_inp),
        "expected": truncatefn(gt_out),
    }


def truncatefn(value: object, length: int = 300) -> str:
    """The text of a value; of a long one the first and the last half of ``length`` characters."""
    text = value if isinstance(value, str) else str(value)
    if len(text) <= length:
        return text
    return text[: length // 2] + "...(truncated) ..." + text[-length // 2 :]


# ------------------------------------------------------------------------------------------- from text to function


def make_function(code: str, preamble: str) -> str:
    """The preamble, the program's top-level imports, and all else as the body of ``wrapped_function``."""
    try:
        body = ast.parse(code).body
        imports = [statement for statement in body if isinstance(statement, ast.Import | ast.ImportFrom)]
        nothing = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
        function = ast.FunctionDef(
            name="wrapped_function",
            args=nothing,
            body=[statement for statement in body if not isinstance(statement, ast.Import | ast.ImportFrom)],
            decorator_list=[],
            lineno=-1,
        )
        return f"{preamble}\n{ast.unparse(imports)}\n{ast.unparse(function)}"  # type: ignore[arg-type]
    except Exception:  # it does not parse: left as it is, it fails when compiled
        return code


def compile_code(code: str, rules: Rules, alarm: Alarm) -> Any:
    """Run the code in a module of its own, under the clock; the module, or an object of its class Solution.

    The text decides which: ``class Solution`` in a comment is enough.
    """
    alarm.set(rules["timeout_s"])
    try:
        tmp_sol = ModuleType("tmp_sol", "")
        exec(compile(code, "<string>", "exec", dont_inherit=True), tmp_sol.__dict__)
        compiled_sol = tmp_sol.Solution() if "class Solution" in code else tmp_sol
        if compiled_sol is None:
            raise AssertionError  # by an assert there; ours are compiled away
    finally:
        alarm.set(0)
    return compiled_sol


def get_function(compiled_sol: Any, fn_name: str) -> Any:
    """The attribute of that name; None if there is none or asking for it fails."""
    try:
        return getattr(compiled_sol, fn_name) if hasattr(compiled_sol, fn_name) else None
    except Exception:
        return None


# -------------------------------------------------------------------------------------------------- surroundings


def _prepare(rules: Rules) -> Alarm:
    """Make the process what the grader's child is: null device for streams, clock, guard, importable grader."""
    null = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    sys.stdin.close()
    sys.stdin = open(null, encoding="utf-8", closefd=False)  # noqa: SIM115 - left open
    sys.set_int_max_str_digits(rules["int_digits"])
    prime = rules.get("prime", False)
    alarm = Alarm(whole_seconds=rules["whole_seconds"], announced=rules["announces_alarm"], deadly=prime)
    signal.signal(signal.SIGALRM, alarm.handle)
    for name in rules["preload"]:
        with suppress(ImportError):
            importlib.import_module(name)
    if rules["forked"] and "tempfile" in rules["preload"]:
        sys.modules["tempfile"].gettempdir()  # which is remembered, and under the guard could not be found out
    rules["preamble"] = _importable(rules.get("preamble", import_string))
    _publish(rules["module"])
    os.environ["OMP_NUM_THREADS"] = "1"
    for name in rules["disabled"]:
        _disable(name)
    return alarm


def _importable(preamble: str) -> str:
    """The preamble without those packages that the program does not name, or that are not installed here."""
    lines = (line for line in preamble.splitlines(keepends=True))
    return "".join(line for line in lines if " as " not in line or line.split()[1] in sys.modules)


def _disable(name: str) -> None:
    table, _, entry = name.partition(":")
    if entry:
        sys.modules[entry] = None  # type: ignore[assignment]  # what makes an import of it fail
        return
    owner, _, attribute = table.rpartition(".")
    setattr(importlib.import_module(owner), attribute, None)


def _publish(dotted: str) -> None:
    """Make this module importable under the grader's name."""
    child: ModuleType = ModuleType(dotted)
    own = globals()["__name__"]
    for key, value in globals().items():
        if not key.startswith("__"):
            setattr(child, key, value)
            if isinstance(value, type) and value.__module__ == own:
                value.__module__ = dotted  # which the repr of their objects shows
    sys.modules[dotted] = child
    while "." in dotted:
        dotted, _, name = dotted.rpartition(".")
        parent = sys.modules.setdefault(dotted, ModuleType(dotted))
        parent.__path__ = []
        setattr(parent, name, child)
        child = parent


def _begin(rules: Rules, alarm: Alarm) -> None:
    alarm.set(rules["timeout_s"])
    if rules["faulthandler"]:
        faulthandler.enable()


def _end(rules: Rules, alarm: Alarm) -> None:
    alarm.set(0)
    if rules["faulthandler"]:
        faulthandler.disable()


def _carried(kind: type) -> bool:
    return kind in _CARRIED or kind.__module__ in {"numpy", "fractions", "decimal"}


_MAX_OBSERVED, _MAX_WATCHED = 3 << 20, 24 << 20
_PLAIN = frozenset({bool, int, float, str, type(None)})
_CARRIED = _PLAIN | {complex, bytes, list, tuple}
