"""A call of a function as a script: arguments on standard input, a JSON value a line, and the result printed.

verl-project/verl@1dda039 ``verl/utils/reward_score/sandbox_fusion/utils.py`` ``_process_single_case``. A failing
call prints nothing and still ends with exit code 0. Global names are the original's: a program shares them.
"""

from __future__ import annotations

from truegrade.grading.contests.driver import import_string

_PREAMBLE = "\nimport traceback\n" + import_string.removesuffix("sys.setrecursionlimit(50000)\n")
_TAIL = """
_SANDBOX_FN_NAME = "{name}"

def _execute_user_function():
    _raw_input_str = sys.stdin.read()
    _args = []
    if _raw_input_str.strip():
        try:
            _args = [json.loads(line) for line in _raw_input_str.split("\\n")]
        except json.JSONDecodeError:
            return None, True
    try:
        _target_callable = None
        if _SANDBOX_FN_NAME in globals():
            _target_callable = globals()[_SANDBOX_FN_NAME]
        elif "Solution" in globals():
            _Solution_class = globals()["Solution"]
            _solution_instance = _Solution_class()
            _target_callable = getattr(_solution_instance, _SANDBOX_FN_NAME)
        if not _target_callable:
            return None, True
        return _target_callable(*_args), False
    except Exception:
        return None, True

if __name__ == "__main__":
    _result, _error_occurred = _execute_user_function()
    if not _error_occurred:
        if isinstance(_result, (dict, list, tuple)) or _result is None or isinstance(_result, bool):
            print(json.dumps(_result))
        else:
            print(str(_result))
"""


def wrapped(code: str, name: str) -> str:
    """The script of a program that defines this function, or a class Solution with a method of that name."""
    return f"{_PREAMBLE}\n{code}\n{_TAIL.format(name=name)}"
