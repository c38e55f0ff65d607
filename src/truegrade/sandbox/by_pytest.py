"""Has pytest run the tests of a namespace, in a process that a zygote has forked.

The zygote makes pytest's session, before there is a program, and a forked process collects and runs: two thirds of
what a session of a few tests takes are then spent once. Nothing is read from a disk: no configuration, no
conftest, no plugin but pytest's own. Assertions are not rewritten, since the tests come compiled.

Such a process finds this module as ``suite_pytest`` (`truegrade.sandbox.zygote.preload`), if pytest is a package
that it may import. How a session is made is no public interface of pytest: of 8.0 and 9.2 it is the one used here.
"""

from __future__ import annotations

import inspect
import itertools
import os
import types
from collections.abc import Callable, Generator
from typing import Any

import pytest
from _pytest.config import _prepareconfig

Note = Callable[..., None]
Reported = Generator[None, pytest.TestReport, pytest.TestReport]
_COUNT = itertools.count()
"""Of modules, whose fixtures pytest keeps by a path."""
_LEFT_OUT = (
    *("terminal", "cacheprovider", "faulthandler", "junitxml", "pastebin", "stepwise", "setuponly"),
    *("setupplan", "threadexception", "unraisableexception"),
)
"""Plugins that report, or write beside the tests; the last two collect garbage five times at the end."""


def new_session() -> pytest.Session:
    """A session that has begun, and is to collect what a `Watcher` gives it."""
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    options = ["-c", os.devnull, "--rootdir", "/", "--noconftest", "--assert=plain", "--capture=no"]
    options += ["--basetemp", f"{os.environ['TMPDIR']}/pytest-files"]
    config = _prepareconfig([*options, *(word for name in _LEFT_OUT for word in ("-p", f"no:{name}"))])
    del os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"]
    # Failures are told by their words alone: to show values would run code of the program.
    config.option.tbstyle = "value"
    session = pytest.Session.from_config(config)
    config._do_configure()
    config.hook.pytest_sessionstart(session=session)
    # It writes to /dev/null, and a zygote keeps no descriptor open.
    logs: Any = config.pluginmanager.get_plugin("logging-plugin")
    logs.log_file_handler.close()
    return session


SESSION = new_session()


def module_of(space: dict[str, Any]) -> types.ModuleType:
    """A module whose names are those of a namespace: what is set on one is set in the other."""

    class Held(types.ModuleType):
        def __getattribute__(self, name: str) -> Any:
            if name == "__dict__":
                return space
            return space[name] if name in space else super().__getattribute__(name)

        def __setattr__(self, name: str, value: object) -> None:
            space[name] = value

        def __delattr__(self, name: str) -> None:
            del space[name]

        def __dir__(self) -> list[str]:
            return list(space)

    return Held(space["__name__"])


class InMemory(pytest.Module):
    """A module of tests that is no file."""

    held: types.ModuleType

    def _getobj(self) -> types.ModuleType:
        return self.held


class Watcher:
    """Hands pytest a module, and tells how each test ended.

    Args:
        space, classes, note, only: as `run_functions` takes them.
    """

    def __init__(self, space: dict[str, Any], classes: list[str], note: Note, only: str) -> None:
        self._space, self._classes, self._note, self._only = space, classes, note, only

    def pytest_collection(self, session: pytest.Session) -> bool:
        """Collect the module in place of files."""
        path = session.path / f"{self._space['__name__']}{next(_COUNT)}.py"
        collector = InMemory.from_parent(session, path=path)
        collector.held = module_of(self._space)
        found = session.genitems(collector)
        session.items = [item for item in found if not self._only or name_of(item) == self._only]
        session.testscollected = len(session.items)
        return True

    @pytest.hookimpl(tryfirst=True)
    def pytest_pycollect_makeitem(self, collector: pytest.Collector, name: str, obj: object) -> list[Any] | None:
        """Collect no class but the tests' own."""
        other = isinstance(obj, type) and isinstance(collector, InMemory) and name not in self._classes
        return [] if other else None

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """What cannot be collected is an error."""
        if report.failed:
            self._note("collection", "E", RuntimeError(report.longreprtext))

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> Reported:
        """Note how setting up, the test, or tearing down ended, with what pytest makes of marks."""
        report = yield
        error = None if call.excinfo is None else call.excinfo.value
        if isinstance(error, pytest.FixtureLookupError):
            error = LookupError(error.msg or f"fixture {error.argname!r} not found")
        if report.skipped:
            # Without a mark of the test's own it was `pytest.xfail`, which the program can call as well.
            expected = hasattr(report, "wasxfail") and item.get_closest_marker("xfail") is not None
            why = getattr(report, "wasxfail", "") or str(
                report.longrepr[2] if type(report.longrepr) is tuple else ""
            )
            self._note(name_of(item), "H" if expected else "S", why.removeprefix("Skipped: "))
        elif report.failed and (error is None or isinstance(error, pytest.fail.Exception)):
            said = AssertionError(report.longreprtext if error is None else str(error))
            self._note(name_of(item), "F", said.with_traceback(getattr(error, "__traceback__", None)))
        elif report.failed:
            self._note(name_of(item), "F" if isinstance(error, AssertionError) else "E", error)
        elif report.when == "call":
            self._note(name_of(item), "P")
        return report


def name_of(item: pytest.Item) -> str:
    """``Class.method`` or ``function``, as the source that holds it has it; else as pytest has collected it."""
    function = getattr(item, "function", None)
    name: str = getattr(inspect.unwrap(function), "__qualname__", "") if function else ""
    if name and "<locals>" not in name:
        return name
    within = [node.name for node in item.listchain() if isinstance(node, pytest.Class)]
    return ".".join([*within, getattr(item, "originalname", item.name)])


def run_functions(space: dict[str, Any], classes: list[str], note: Note, only: str = "") -> None:
    """Run what pytest collects of a module.

    Args:
        space: of the module.
        classes: names of the classes that its source defines; no others are collected.
        note: is told the name and outcome of each run of a test, and the exception: ``P`` passed, ``H`` failed as
            a mark expects, ``S`` skipped or ended by `pytest.xfail`, ``F`` an assertion failed, ``E`` another
            exception.
        only: qualified name of the one test to run; empty for all.
    """
    watcher, hooks = Watcher(space, classes, note, only), SESSION.config.hook
    SESSION.config.pluginmanager.register(watcher)
    SESSION.testsfailed = 0
    try:
        hooks.pytest_collection(session=SESSION)
        hooks.pytest_runtestloop(session=SESSION)
    except (SESSION.Interrupted, pytest.exit.Exception) as error:
        note("pytest", "E", RuntimeError(f"pytest ended early: {error}"))
    finally:
        SESSION.config.pluginmanager.unregister(watcher)


def run_test(space: dict[str, Any], classes: list[str], name: str) -> None:
    """Run one test of a module, with all its parameter sets.

    Raises:
        BaseException: the first by which it failed; AssertionError where there is no such test.
    """
    failed: list[BaseException] = []
    passed: list[str] = []

    def note(_: str, outcome: str, error: object = None) -> None:
        if isinstance(error, BaseException):
            failed.append(error)
        passed.append(outcome)

    run_functions(space, classes, note, name)
    if failed:
        raise failed[0]
    if not passed:
        raise AssertionError(f"there is no test {name}")
