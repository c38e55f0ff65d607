"""The grader of PRIME, which verl's reward `prime_code` is: an older form of LiveCodeBench's, beside one program.

verl-project/verl@1dda039 ``verl/utils/reward_score/prime_code/testing_util.py``. Names that a program can find are
the original's. The text of this file is sent to the sandbox; `right_output` is used outside too.
"""

import faulthandler
import json
import sys
from contextlib import suppress
from types import ModuleType
from typing import Any

from truegrade.grading.contests import Rules
from truegrade.grading.contests.worlds import (
    Alarm,
    Capturing,
    Observed,
    allclose,
    as_text,
    call_method,
    clean_if_name,
)


def run_test(
    code: str,
    all_inputs: list[str],
    all_outputs: list[str] | None,
    fn_name: str | None,
    rules: Rules,
    alarm: Alarm,
    seen: Observed,
) -> tuple[list[Any], dict[str, Any]]:
    """Load the program once and ask it every test, to the first that fails.

    Returns:
        Results and metadata; of the latter only what tells why a program failed.

    Raises:
        Exception: a test of a function is no JSON; the published grader then fails every test.
    """
    watched = all_outputs is None
    in_outs = {"inputs": list(all_inputs), "outputs": list(all_inputs if all_outputs is None else all_outputs)}
    text = code if fn_name is not None else tabbed(clean_if_name(code))
    alarm.set(rules["timeout_s"])
    try:
        tmp: Any = module_from_string("tmp_sol", rules["preamble"] + text)
        if fn_name is not None and "class Solution" in code:
            tmp = tmp.Solution()
        alarm.set(0)
        method = getattr(tmp, "code" if fn_name is None else fn_name)
    except Exception as error:
        alarm.set(0)
        seen.syntax = isinstance(error, SyntaxError)
        return [-2], _failed(error)
    results: list[Any] = []
    for index, inputs in enumerate(in_outs["inputs"]):
        wanted = in_outs["outputs"][index]
        try:
            if fn_name is None:
                tmp_result: Any = _printed(method, inputs, wanted, rules, alarm, seen, watched)
            else:
                tmp_result = _returned(method, inputs, wanted, rules, alarm, seen, watched)
        except _Failed as failure:
            results.append(-1)
            return results, failure.metadata
        results.append(tmp_result)
        if tmp_result is not True:
            return results, {"error_code": -2, "error_message": "Wrong Answer"}
    return results, {}


class _Failed(Exception):
    """The program raised, or what it returned cannot be compared."""

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.metadata = _failed(error)


def _failed(error: Exception) -> dict[str, Any]:
    return {"error": repr(error), "error_code": -4, "error_message": "Runtime Error"}


def module_from_string(name: str, code: str) -> ModuleType:
    """Run the code in a module that can be imported by this name afterwards."""
    module = ModuleType(name)
    exec(compile(code, "<string>", "exec", dont_inherit=True), module.__dict__)
    sys.modules[name] = module
    return module


def tabbed(code: str) -> str:
    """The program as the body of ``code``, line by line: a tab in front; imports that nothing precedes stay out.

    The tab is also put into texts of several lines.
    """
    text, started = "", False
    for line in code.split("\n"):
        imports = line.startswith(("from ", "import "))
        if not imports and not started:
            text += "stdin = sys.stdin\nstdout = sys.stdout\ndef code():\n"
            started = True
        text += "\t" * (started or not imports) + line + "\n"
    return text


def _returned(
    method: Any, inputs: str, wanted: str, rules: Rules, alarm: Alarm, seen: Observed, watched: bool
) -> Any:
    """Call a function on one test, and compare what it returns."""
    given = _keyed([json.loads(line) for line in inputs.split("\n")])
    expected = None if watched else _expected_value(json.loads(wanted))
    alarm.set(rules["timeout_s"])
    faulthandler.enable()
    try:
        output = method(*given)
        json.dumps(output)
        seen.add(as_text(output))
        tmp_result = True if watched else right_value(output, expected)
        alarm.set(0)
    except Exception as error:
        alarm.set(0)
        raise _Failed(error) from None
    finally:
        faulthandler.disable()
    return tmp_result


def _keyed(values: list[Any]) -> list[Any]:
    """Arguments, or a wanted list; where the first is a dictionary keyed by numbers, that one alone is left."""
    with suppress(Exception):
        if isinstance(values[0], dict):
            return [{int(key): value for key, value in values[0].items()}]
    return values


def _expected_value(value: Any) -> Any:
    """The expected value; a dictionary keyed by numbers in a list."""
    if isinstance(value, dict):
        with suppress(Exception):
            return [{int(key): item for key, item in value.items()}]
        return value
    return _keyed(value)


def right_value(output: Any, expected: Any) -> Any:
    """Whether a returned value is right: it equals the expected one, or the first item of it."""
    if isinstance(output, tuple):
        output = list(output)
    tmp_result = output == expected
    if isinstance(expected, list) and expected:
        tmp_result = tmp_result or (output == expected[0])
    with suppress(Exception):
        if isinstance(output[0], tuple):
            tmp_result = tmp_result or ([list(item) for item in output] == expected[0])
    return tmp_result


def _printed(
    method: Any, inputs: str, wanted: str, rules: Rules, alarm: Alarm, seen: Observed, watched: bool
) -> bool:
    """Call a program on one test, and compare what it prints."""
    faulthandler.enable()
    alarm.set(rules["timeout_s"])
    with Capturing() as output:
        try:
            call_method(method, inputs, rules["world"])
            alarm.set(0)
        except Exception as error:
            alarm.set(0)
            raise _Failed(error) from None
    seen.add(output[0])
    return watched or right_output(output[0].splitlines(), wanted)


def right_output(output: list[str], expected: str) -> bool:
    """Whether lines of output are right, which one of four comparisons has to find."""
    if custom_compare_(output, expected):
        return True
    lines = [line.strip() for line in expected.split("\n") if line]
    if output in ([expected], lines):
        return True
    output = list(filter(len, output))
    if output == lines:
        return True
    with suppress(Exception):
        # Lines that are all whole numbers are no floats; of a different number of them `zip` raises.
        pairs = zip(output, lines, strict=True)
        if not all(one.isdigit() and two.isdigit() for one, two in pairs):
            numbers, wanted = [float(line) for line in output], [float(line) for line in lines]
            return len(numbers) == len(wanted) and allclose(numbers, wanted)
    return False


def custom_compare_(output: list[str], ground_truth: str) -> bool:
    """Whether the lines are the expected text, as they are or each stripped."""
    if stripped_string_compare("\n".join(output), ground_truth):
        return True
    return stripped_string_compare("\n".join([line.strip() for line in output]), ground_truth)


def stripped_string_compare(s1: str, s2: str) -> bool:
    """Whether two texts are the same but for white space around them."""
    return s1.strip() == s2.strip()
