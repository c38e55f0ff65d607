"""Runs a suite of unit tests beside the program that it tests, in one process of the jail.

The source of this module is sent there, so it imports the standard library alone. What `run_suite` reports is at
the mercy of the program, which shares its process; `run_outside` runs the tests in the judge's.
"""

from __future__ import annotations

import builtins
import contextlib
import importlib
import inspect
import io
import marshal
import os
import sys
import types
import unittest
from collections.abc import Callable
from typing import Any

MARK = "suite-report"
REFUSED = "suite-syntax"
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
MAX_WORDS = 180
OUTCOMES = "-SPHFE"
"""Of a test: not run, skipped, passed, passed in one part and skipped in another or failed as a mark expects,
failed by an assertion, ended by another exception; of parts the last."""
SHARED = "__test__"
"""Name of the module in which program and tests stand together."""
BY_PYTEST = "suite_pytest"
"""Name of the module that has pytest run the tests: `truegrade.sandbox.by_pytest`."""


class Results(unittest.TestResult):
    """Outcomes of the tests that the source of the suite names, and of all others together at the end.

    Args:
        names: of those tests.
        failed: is called when the first one fails.
    """

    def __init__(self, names: list[str], failed: Callable[[], None] = lambda: None) -> None:
        super().__init__()
        self.outcomes = [0] * (len(names) + 1)
        self.words = self._skipped = ""
        self.first: object = None
        """The first exception by which a test failed."""
        self._names, self._failed = names, failed

    def note(self, name: str, outcome: str, error: object = None) -> None:
        """Take over how a test, or a part of one, ended."""
        place = self._names.index(name) if name in self._names else len(self._names)
        before = OUTCOMES[self.outcomes[place]]
        both = "H" if {before, outcome} == {"S", "P"} else outcome
        self.outcomes[place] = OUTCOMES.index(max(before, both, key=OUTCOMES.index))
        if outcome in "FE" and not self.words:
            self.words, self.first = f"{name}: {said_of(error)}", error
            self._failed()
        if outcome == "S" and not self._skipped:
            self._skipped = f"; {name} was skipped: {said_of(error)}"

    def ended(self) -> str:
        """Why there is no pass, where no test failed; empty where one passed."""
        if not {OUTCOMES.index("P"), OUTCOMES.index("H")}.isdisjoint(self.outcomes):
            return ""
        cores = len(os.sched_getaffinity(0)) if self._skipped and hasattr(os, "sched_getaffinity") else 0
        return f"no test was run{self._skipped}" + (f" ({cores} core{'s' * (cores > 1)} here)" if cores else "")

    def addSuccess(self, test: unittest.TestCase) -> None:  # noqa: N802
        """It passed."""
        self.note(name_of(test), "P")

    def addFailure(self, test: unittest.TestCase, err: Any) -> None:  # noqa: N802
        """An assertion failed."""
        self.note(name_of(test), "F", err[1])

    def addError(self, test: unittest.TestCase, err: Any) -> None:  # noqa: N802
        """Another exception came out."""
        self.note(name_of(test), "E", err[1])

    def addSkip(self, test: unittest.TestCase, reason: str) -> None:  # noqa: N802
        """It was left out."""
        self.note(name_of(test), "S", reason)

    def addExpectedFailure(self, test: unittest.TestCase, err: Any) -> None:  # noqa: N802
        """It failed as it should."""
        self.note(name_of(test), "P")

    def addUnexpectedSuccess(self, test: unittest.TestCase) -> None:  # noqa: N802
        """It should have failed."""
        self.note(name_of(test), "F", "it passed, and was expected to fail")

    def addSubTest(self, test: unittest.TestCase, subtest: unittest.TestCase, err: Any) -> None:  # noqa: N802
        """A part of a test ended."""
        if err is not None:
            self.note(name_of(test), "F" if issubclass(err[0], test.failureException) else "E", err[1])


def name_of(test: object) -> str:
    """``Class.method`` as the source has it: of an inherited test that of the class which holds it."""
    method = getattr(type(test), getattr(test, "_testMethodName", ""), None)
    if method is None:
        return getattr(test, "description", "") or type(test).__name__  # what stands for setUpClass
    return getattr(inspect.unwrap(method), "__qualname__", "")


def said_of(error: object) -> str:
    """An exception in one line, whatever its own code does."""
    try:
        text = " ".join(str(error)[: 4 * MAX_WORDS].split())
    except Exception:
        text = ""
    if isinstance(error, BaseException):
        text = f"{type(error).__name__}: {text}"
    return text[:MAX_WORDS]


def packed(digits: list[int], base: int, each: int) -> str:
    """Small numbers as text, several to a letter."""
    text = []
    for start in range(0, len(digits), each):
        number = 0
        for digit in reversed(digits[start : start + each]):
            number = number * base + digit
        text.append(LETTERS[number])
    return "".join(text)


def as_module(name: str, code: Any, path: str) -> types.ModuleType:
    """Run code as a module of this name, which imports find."""
    module = types.ModuleType(name)
    module.__file__ = path
    parent, _, child = name.rpartition(".")
    if parent:
        if parent not in sys.modules:
            above = as_module(parent, compile("", parent, "exec", dont_inherit=True), "")
            above.__path__ = [os.path.dirname(path)]  # noqa: PTH120
        setattr(sys.modules[parent], child, module)
        module.__package__ = parent
    sys.modules[name] = module
    exec(code, module.__dict__)
    return module


def compiled(source: str, path: str) -> Any:
    """Code of the program; what Python refuses ends the run with words of its own."""
    try:
        return compile(source, path, "exec", dont_inherit=True)
    except (SyntaxError, ValueError, OverflowError, RecursionError, MemoryError) as error:
        raise AssertionError(f"{REFUSED} {said_of(error)}") from None


def write_files(files: dict[str, str]) -> None:
    """Lay the suite's files in the working directory."""
    for path, text in files.items():
        if folder := os.path.dirname(path):  # noqa: PTH120
            os.makedirs(folder, exist_ok=True)  # noqa: PTH103
        with io.open(path, "w", encoding="utf-8", newline="") as file:  # noqa: UP020
            file.write(text)


def load(program: str, module: str, tests: Any) -> dict[str, Any]:
    """Run program and tests, and give the namespace of the tests.

    Args:
        program: source.
        module: name by which the tests import it; empty where they share its namespace.
        tests: their source, or compiled and marshalled.
    """
    here = os.getcwd()  # noqa: PTH109
    sys.path.insert(0, here)
    if module:
        path = f"{module.replace('.', '/')}.py"
        write_files({path: program})
        as_module(module, compiled(program, f"{here}/{path}"), f"{here}/{path}")
        name = f"{module.rpartition('.')[2]}_test"
        space = as_module(name, compiled("", name), f"{here}/{name}.py").__dict__
    else:
        space = as_module(SHARED, compiled(program, f"{SHARED}.py"), f"{SHARED}.py").__dict__
    if isinstance(tests, str):
        code = compile(tests, f"{SHARED}.py", "exec", dont_inherit=True)
    else:
        code = marshal.loads(tests)
    exec(code, space)
    return space


def run_tests(space: dict[str, Any], classes: list[str], results: Results, framework: str) -> None:
    """Run the test cases of these classes or, of a suite for pytest, all that pytest collects."""
    if framework == "pytest":
        importlib.import_module(BY_PYTEST).run_functions(space, classes, results.note)
        return
    loader = unittest.TestLoader()
    suites = [
        loader.loadTestsFromTestCase(kind)
        for kind in (space.get(name) for name in classes)
        if isinstance(kind, type) and issubclass(kind, unittest.TestCase)
    ]
    unittest.TestSuite(suites).run(results)


def offer_program(
    space: dict[str, Any], names: list[str], errors: dict[str, str], module: str, values: list[str]
) -> None:
    """Prepare the namespace of tests that run in a process of their own.

    Args:
        space: holds what stands for the program, by name.
        names: of those.
        errors: the program's own exceptions, and the built-in one that each is below: made here anew, since an
            exception crosses by its name.
        module: what the tests import the program as; empty where they share its namespace.
        values: other names of the program that the tests use; it is asked for them each time, since a call may
            bind them to something else.
    """
    for name, base in errors.items():
        space[name] = type(name, (getattr(builtins, base),), {})
    if module:
        offered = as_module(module, compile("", module, "exec", dont_inherit=True), f"{module}.py")
        offered.__dict__.update({name: space.pop(name) for name in names})
        offered.__dict__.update({name: space[name] for name in errors})
        ask = space["truegrade_value"]

        def value(name: str) -> Any:
            if not name.startswith("__"):
                with contextlib.suppress(NameError):
                    return ask(name)
            raise AttributeError(name)

        offered.__dict__.update(__getattr__=value, __all__=[*names, *errors, *values])


def run_outside(space: dict[str, Any], classes: list[str], names: list[str], framework: str) -> None:
    """Run the tests of a namespace, and leave a letter for each and one for all others in it, packed.

    Raises:
        BaseException: the first by which a test failed, once all have run.
    """
    results = Results(names, space.pop("suite_failed"))
    run_tests(space, classes, results, framework)
    space["suite_outcomes"] = packed(results.outcomes, len(OUTCOMES), 2)
    if getattr(results.first, "__traceback__", None) is not None:
        raise results.first  # type: ignore[misc]
    space["suite_words"] = results.words or results.ended()
    if space["suite_words"]:
        raise AssertionError(space["suite_words"])


def run_suite(job: dict[str, Any]) -> None:
    """Run a suite and report, as an AssertionError whose text is for `truegrade.grading.suite_runs` to read."""
    write_files(job["files"])
    results = Results(job["names"])
    space = load(job["program"], job["module"], job["tests"])
    run_tests(space, job["classes"], results, job["framework"])
    raise AssertionError(f"{MARK} {packed(results.outcomes, len(OUTCOMES), 2)};{results.words or results.ended()}")
