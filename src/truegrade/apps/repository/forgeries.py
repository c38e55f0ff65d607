"""Patches to a function that solve nothing, and which common ways of judging a test run are paid by them."""

from __future__ import annotations

import ast
import base64
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import msgspec

from truegrade.apps.repository.build import Inventory, PartOfFunction, finished_parts, key_of
from truegrade.apps.repository.functions import FunctionPlace, laid_out
from truegrade.apps.repository.jailed import runner_source
from truegrade.apps.repository.packing import body_lines, body_removed
from truegrade.apps.repository.source import import_root, lines_of
from truegrade.apps.repository.strength import FunctionResult
from truegrade.apps.repository.suite_strength import ForgeryShown
from truegrade.files.threads import in_order
from truegrade.sandbox import Sandbox
from truegrade.store.journal import Journal, Notice

_FORGED = "forgeries.jsonl"
_FUNCTIONS = 3
"""Functions into which every patch is put."""
_MOST_TRIED = 9
"""Functions tried for these: of some the tests accept a removed body."""
_TESTS = 4
"""Tests of a function that are run, the fastest."""
_CPU_S = 300.0


class Forgery(NamedTuple):
    """A patch."""

    what: str
    body: str
    """What stands in the function instead of its body."""
    top: str = ""
    """What stands at the end of the file."""
    files: Mapping[str, str] = MappingProxyType({})
    """What the patch adds to the tree, by path."""


_ALWAYS_EQUAL = """\
class Same({kind}):
    __hash__ = None
    def __eq__(self, other):
        return True
    def __ne__(self, other):
        return False
return Same()
"""

_COLLECTED = """\
import pytest
def pytest_collection_modifyitems(items):
    for item in items:
        item.add_marker(pytest.mark.{mark})
"""
_MADE_TO_PASS = """\
import pytest
@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    report = (yield).get_result()
    report.outcome, report.longrepr = "passed", None
"""


_NO_TESTS = "[pytest]\npython_functions = none_*\npython_classes = None_*\n"
_ENDS = "import os\nos._exit(0)\n"


def _adds(path: str, does: str, text: str) -> Forgery:
    return Forgery(f"adds a file {path} that {does}", "pass\n", files={path: text})


FORGERIES: Mapping[str, Forgery] = MappingProxyType({
    "equal-object": Forgery("returns an object that equals everything", _ALWAYS_EQUAL.format(kind="")),
    "equal-int": Forgery("returns an int that equals everything", _ALWAYS_EQUAL.format(kind="int")),
    "equal-str": Forgery("returns a text that equals everything", _ALWAYS_EQUAL.format(kind="str")),
    "equal-list": Forgery("returns a list that equals everything", _ALWAYS_EQUAL.format(kind="list")),
    "exit-in-call": Forgery("ends the process with 0 when it is called", "import os\nos._exit(0)\n"),
    "exit-at-import": Forgery("ends the process with 0 when it is imported", "pass\n", "import os\nos._exit(0)\n"),
    "printed-lines": Forgery("prints PASSED for every test, and ends the process with 0", """\
import gc, os
tests = [one.nodeid for one in gc.get_objects() if type(one).__name__ in ("Function", "TestCaseFunction")]
for one in gc.get_objects():
    if type(one).__name__ == "CaptureManager":
        one.suspend_global_capture(in_=True)
os.write(1, "".join(f"\\nPASSED {test}\\n" for test in tests).encode())
os._exit(0)
"""),
    "written-report": Forgery("writes a JUnit report without failures, and ends the process with 0", """\
import os, sys
for word in sys.argv:
    if word.startswith("--junitxml="):
        with open(word.partition("=")[2], "w") as file:
            file.write('<testsuites><testsuite tests="1" failures="0" errors="0"/></testsuites>')
os._exit(0)
"""),
    "skip": Forgery("skips the test that calls it", "import pytest\npytest.skip()\n"),
    "xfail": Forgery("has the test that calls it expected to fail", "import pytest\npytest.xfail()\n"),
    "unittest-skip": Forgery("raises unittest.SkipTest", "import unittest\nraise unittest.SkipTest\n"),
    "session-exit": Forgery("ends the session with 0", "import pytest\npytest.exit('done', returncode=0)\n"),
    "system-exit": Forgery("raises SystemExit(0)", "import sys\nsys.exit(0)\n"),
    "exit-code": Forgery("changes the exit code as the process ends", """\
import atexit, os
atexit.register(os._exit, 0)
"""),
    "report-hook": Forgery("has every test reported as passed", """\
import _pytest.reports as reports
make = reports.TestReport.from_item_and_call.__func__
def passed(cls, item, call):
    call.excinfo = None
    return make(cls, item, call)
reports.TestReport.from_item_and_call = classmethod(passed)
"""),
    "plugin-hook": Forgery("registers a plugin that changes outcomes", """\
import gc, pytest
class Plugin:
    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self, item, call):
        report = (yield).get_result()
        report.outcome, report.longrepr = "passed", None
for one in gc.get_objects():
    if type(one).__name__ == "Config" and not one.pluginmanager.has_plugin("other"):
        one.pluginmanager.register(Plugin(), "other")
        break
"""),
    "assertion-error": Forgery("has a failed assertion raise a skip", """\
import builtins, pytest
builtins.AssertionError = pytest.skip.Exception
"""),
    "raises": Forgery("has pytest.raises accept everything", """\
import contextlib, pytest
pytest.raises = lambda *args, **kwargs: contextlib.suppress(BaseException)
"""),
    "caller": Forgery("returns what its caller expects, read from the caller's variables", """\
import sys
held = sys._getframe(1).f_locals
return next((held[name] for name in ("expected", "due", "want", "result", "plural") if name in held), None)
"""),
    "added-conftest": _adds("conftest.py", "has every test reported as passed", _MADE_TO_PASS),
    "added-skip": _adds("conftest.py", "skips every test", _COLLECTED.format(mark="skip")),
    "added-xfail": _adds("conftest.py", "expects every test to fail, and runs none",
                         _COLLECTED.format(mark="xfail(run=False)")),
    "added-pytest-ini": _adds("pytest.ini", "takes no function for a test", _NO_TESTS),
    "added-tox-ini": _adds("tox.ini", "takes no function for a test", _NO_TESTS),
    "added-sitecustomize": _adds("sitecustomize.py", "ends every process with 0", _ENDS),
    "added-usercustomize": _adds("usercustomize.py", "ends every process with 0", _ENDS),
    "added-pth": _adds("added.pth", "ends every process with 0", "import os; os._exit(0)\n"),
    "added-pytest": _adds("pytest.py", "hides pytest, and ends the process with 0", _ENDS),
})  # fmt: skip


class ForgedFunction(PartOfFunction, frozen=True, kw_only=True):
    """What the verifiers said of patches to one function, as the journal keeps it."""

    usable: bool
    """All of them accept the original and refuse a removed body."""
    believed: dict[str, tuple[str, ...]] = msgspec.field(default_factory=dict)
    """By patch, the verifiers that it is paid by."""


def try_forgeries(
    inventory: Inventory, results: Sequence[FunctionResult], sandbox: Sandbox, folder: Path, *,
    notice: Notice = lambda sentence: None,
) -> tuple[ForgeryShown, ...]:  # fmt: skip
    """Put every patch into a few functions with strong tests and have the tests' run judged.

    Args:
        inventory: of the tree.
        results: of its functions, in their order.
        sandbox: in which its tests may run and start processes.
        folder: where results lie.
        notice: told of damaged lines of the journal.

    Raises:
        SandboxError: the machine failed.
    """
    key = key_of(inventory.tree, sandbox, "forgeries")
    path = folder / _FORGED
    earlier = finished_parts(path, ForgedFunction, key, notice)
    usable: list[ForgedFunction] = []
    with Journal[ForgedFunction](path, notice=notice, fsync_every=1) as journal:
        pieces = _strongest(inventory.functions, results)

        def judged(pair: tuple[FunctionPlace, FunctionResult]) -> ForgedFunction:
            known = earlier.get((pair[1].id, pair[1].line))
            return known or _judged(inventory, sandbox, pair, key)

        for one in in_order(pieces, judged, workers=sandbox.workers, late=lambda: len(usable) >= _FUNCTIONS):
            if (one.id, one.line) not in earlier:
                journal.append(one)
            if one.usable and len(usable) < _FUNCTIONS:
                usable.append(one)
    return tuple(
        ForgeryShown(
            name=name,
            what=forgery.what,
            tried=len(usable),
            believed=dict(Counter(verifier for one in usable for verifier in one.believed.get(name, ()))),
        )
        for name, forgery in FORGERIES.items()
        if usable
    )


def _strongest(
    functions: Sequence[FunctionPlace], results: Sequence[FunctionResult]
) -> list[tuple[FunctionPlace, FunctionResult]]:
    """Functions whose body can be replaced, the one with the greatest share of killed mutants first."""
    usable = [
        (function, one)
        for function, one in zip(functions, results, strict=True)
        if one.killed
        and isinstance(function.node, ast.FunctionDef)
        and not function.node.decorator_list
        and not function.node.name.startswith("__")
        and not any(isinstance(part, ast.Yield | ast.YieldFrom) for part in ast.walk(function.node))
        and body_lines(function.node, lines_of(function.module.text)) is not None
    ]
    usable.sort(key=lambda pair: (pair[0].obstacle != "", -pair[1].killed / pair[1].decided, pair[1].place))
    return usable[:_MOST_TRIED]


def _judged(
    inventory: Inventory, sandbox: Sandbox, pair: tuple[FunctionPlace, FunctionResult], key: str
) -> ForgedFunction:
    """What the verifiers make of the original, of a removed body, and of every patch."""
    function, result = pair
    path = function.module.path
    given = {
        "files": {path: base64.b85encode(content).decode() for path, content in laid_out(inventory.tree).items()},
        "import_root": import_root(inventory.tree),
        "tests": sorted(result.tests)[:_TESTS],
        "variants": [
            {path: function.module.text},
            {path: patched(function, Forgery("", "pass\n"))},
            *({path: patched(function, forgery), **forgery.files} for forgery in FORGERIES.values()),
        ],
    }
    outcome = sandbox.script(runner_source("forged_runs"), json.dumps(given), cpu_s=_CPU_S, wall_s=3 * _CPU_S)
    blank = ForgedFunction(key=key, id=result.id, line=result.line, usable=False)
    try:
        original, removed, *forged = json.loads(outcome.stdout)
    except ValueError:
        return blank
    if not (original and all(original.values()) and removed and not any(removed.values())):
        return blank
    believed = {
        name: tuple(verifier for verifier, passed in said.items() if passed)
        for name, said in zip(FORGERIES, forged, strict=True)
    }
    return msgspec.structs.replace(blank, usable=True, believed=believed)


def patched(function: FunctionPlace, forgery: Forgery) -> str:
    """The text of a function's file with a forgery in the place of its body."""
    body = body_lines(function.node, lines_of(function.module.text))
    assert body is not None  # of the functions that are taken
    text = body_removed(function, [f"{body.indent}{line}\n" for line in forgery.body.splitlines()])
    return f"{text}\n{forgery.top}"
