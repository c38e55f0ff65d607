"""Runs pytest on a tree with files replaced or added, and tells what three ways of judging make of it.

The text of this file is sent into the jail with the tree as its standard input; nothing here is called in our own
process. Each run is a fork of a process that has run nothing of the tree. It does first what a Python does that is
started with the tree on ``PYTHONPATH`` and told ``-m pytest``.
"""

from __future__ import annotations

import atexit
import json
import os
import re
import signal
import sys
import tempfile
import traceback
from functools import partial
from importlib import import_module
from runpy import run_path
from typing import TYPE_CHECKING, Any, NoReturn
from xml.etree import ElementTree

import pytest

if TYPE_CHECKING:
    from truegrade.apps.repository.jailed import lay_out, main_arguments

_TOLD = re.compile(r"^(PASSED|FAILED|ERROR|SKIPPED|XFAIL|XPASS) (\S.*)$", re.MULTILINE)
_SECONDS = 60


def verdicts(root: str, import_root: str, tests: list[str]) -> dict[str, bool]:
    """Whether each way of judging takes the run of tests for a pass; empty where the run does not end."""
    report = os.path.join(os.path.dirname(root), "report.xml")  # noqa: PTH118, PTH120
    for arguments in main_arguments(root, [*tests, "-rA", f"--junitxml={report}"]):
        if os.path.exists(report):  # noqa: PTH110
            os.unlink(report)  # noqa: PTH108
        with tempfile.TemporaryFile() as out:
            pid = os.fork()
            if not pid:
                _be_pytest([root, os.path.join(root, import_root)], arguments, out.fileno())  # noqa: PTH118
            signal.signal(signal.SIGALRM, partial(_end, pid))
            signal.alarm(_SECONDS)
            status = os.waitpid(pid, 0)[1]
            signal.alarm(0)
            out.seek(0)
            text = out.read().decode("utf-8", "replace")
        if os.WIFSIGNALED(status):
            return {}
        if os.WEXITSTATUS(status) != pytest.ExitCode.USAGE_ERROR:
            break
    told: dict[str, str] = {}
    for word, line in _TOLD.findall(text):  # a name may hold what stands before a reason
        told[line.partition(" - ")[0]] = told[line] = word
    return {
        "exit code": os.WEXITSTATUS(status) == 0,
        "PASSED lines": all(told.get(test) == "PASSED" for test in tests),
        "report": report_passes(report),
    }


def _end(pid: int, number: int, frame: object) -> None:
    os.kill(pid, signal.SIGKILL)


def _be_pytest(paths: list[str], arguments: list[str], out: int) -> NoReturn:
    """Do in this process, which has run nothing yet, what ``python -m pytest`` does, and end as that does.

    Files by which a tree may decide how Python starts are run as by Python; `usercustomize` is outside of virtual
    environments.
    """
    os.chdir(paths[0])
    os.dup2(out, 1)
    os.dup2(out, 2)
    sys.path[:0] = paths
    sys.argv = ["pytest", *arguments]
    sys.dont_write_bytecode = True
    code: object = 1
    try:
        for name in ("sitecustomize", "usercustomize"):
            if any(os.path.exists(os.path.join(path, f"{name}.py")) for path in paths):  # noqa: PTH110, PTH118
                import_module(name)
        if os.path.exists("pytest.py"):  # noqa: PTH110
            run_path("pytest.py", run_name="__main__")
        code = pytest.main(arguments)
    except SystemExit as error:
        code = error.code or 0
    except BaseException:
        traceback.print_exc()
    sys.stdout.flush()
    atexit._run_exitfuncs()
    os._exit(int(code) if isinstance(code, int) else 1)


def report_passes(path: str) -> bool:
    """Whether a JUnit report is there, has tests, and tells of no failure and no error."""
    try:
        suites = [*ElementTree.parse(path).getroot().iter("testsuite")]
        counts = {
            name: sum(int(suite.get(name, "0")) for suite in suites) for name in ("tests", "failures", "errors")
        }
    except (OSError, ElementTree.ParseError, ValueError):
        return False
    return counts["tests"] > 0 and counts["failures"] == counts["errors"] == 0


def main() -> None:
    """Lay out the tree, judge it with each variant's files, and write the verdicts as one JSON array."""
    given: dict[str, Any] = json.loads(sys.stdin.buffer.read())
    root = os.path.join(os.getcwd(), "tree")  # noqa: PTH109, PTH118
    lay_out(root, given["files"])
    answers = []
    for texts in given["variants"]:
        for path, text in texts.items():
            with open(os.path.join(root, path), "w", encoding="utf-8") as file:  # noqa: PTH118, PTH123
                file.write(text)
        answers.append(verdicts(root, given["import_root"], given["tests"]))
        for path in texts:
            os.unlink(os.path.join(root, path))  # noqa: PTH108, PTH118
        lay_out(root, {path: given["files"][path] for path in texts if path in given["files"]})
    print(json.dumps(answers))
