"""Stands in for pytest in the jail: what small suites use of it, so that pytest need not be installed there.

The source of this module is sent there and runs as the module ``pytest``, so it imports the standard library
alone. It has ``raises``, ``approx``, ``fail``, ``skip``, ``importorskip``, ``warns``, ``param``, the marks
``parametrize``, ``skip``, ``skipif`` and ``xfail``, fixtures with ``yield`` and ``params``, and the fixtures
``tmp_path``, ``monkeypatch``, ``capsys`` and ``request``. All else of pytest is an AttributeError that names it.
"""

from __future__ import annotations

import contextlib
import importlib
import inspect
import io
import itertools
import math
import os
import pathlib
import re
import sys
import tempfile
import types
import unittest
import warnings as python_warnings
from collections.abc import Callable, Iterator
from typing import Any

Note = Callable[..., None]
_KEPT = "__suite_marks__"
_FIXTURE = "__suite_fixture__"


class Raises:
    """``with raises(ValueError, match="...") as caught``, or ``raises(ValueError, function, *args)``."""

    def __init__(self, expected: Any, *call: Any, match: str | None = None, **named: Any) -> None:
        self._expected, self._match = expected, match
        self.type: Any = None
        self.value: Any = None
        if call:
            with self:
                call[0](*call[1:], **named)

    def __enter__(self) -> Raises:
        return self

    def __exit__(self, kind: Any, error: Any, place: Any) -> bool:
        if kind is None:
            raise AssertionError(f"nothing was raised, and {self._expected!r} was expected")
        if not issubclass(kind, self._expected):
            return False
        self.type, self.value = kind, error
        if self._match is not None and not re.search(self._match, str(error)):
            raise AssertionError(f"{self._match!r} does not match {str(error)!r}")
        return True

    def match(self, pattern: str) -> bool:
        """See that the message matches."""
        if not re.search(pattern, str(self.value)):
            raise AssertionError(f"{pattern!r} does not match {str(self.value)!r}")
        return True


raises = Raises


@contextlib.contextmanager
def warns(expected: Any, match: str | None = None) -> Iterator[list[Any]]:
    """``with warns(UserWarning, match="...")``."""
    with python_warnings.catch_warnings(record=True) as caught:
        python_warnings.simplefilter("always")
        yield caught
    found = [one for one in caught if issubclass(one.category, expected)]
    if not any(match is None or re.search(match, str(one.message)) for one in found):
        raise AssertionError(f"no such warning: {expected!r}")


class Approx:
    """Numbers, and lists and dictionaries of them, that are nearly equal: 1e-6 of them, or 1e-12."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, expected: Any, rel: Any = None, nan_ok: bool = False, **least: Any) -> None:
        self._expected, self._rel, self._abs, self._nan_ok = expected, rel, least.get("abs"), nan_ok

    def __eq__(self, got: object) -> bool:
        return self._same(got, self._expected)

    def __ne__(self, got: object) -> bool:
        return not self._same(got, self._expected)

    def __repr__(self) -> str:
        return f"approx({self._expected!r})"

    def _same(self, got: Any, expected: Any) -> bool:
        if isinstance(expected, dict):
            same_keys = isinstance(got, dict) and got.keys() == expected.keys()
            return same_keys and all(self._same(got[key], value) for key, value in expected.items())
        if isinstance(expected, list | tuple):
            items = list(got) if hasattr(got, "__len__") else None  # which may be fewer than it says
            return items is not None and len(items) == len(expected) and all(map(self._same, items, expected))
        if got == expected:
            return True
        if isinstance(expected, bool | str) or not hasattr(got, "__sub__"):
            return False
        if math.isnan(expected):
            return self._nan_ok and math.isnan(got)
        least = 1e-12 if self._abs is None else self._abs
        share = (1e-6 if self._abs is None else 0.0) if self._rel is None else self._rel
        return bool(abs(got - expected) <= max(least, share * abs(expected)))


approx = Approx


class Marks:
    """``mark.NAME``: only those change anything that decide what runs."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def given(*args: Any, **named: Any) -> Any:
            if len(args) == 1 and not named and callable(args[0]) and name not in {"skipif", "parametrize"}:
                return _marked(args[0], (name, (), {}))
            return lambda test: _marked(test, (name, args, named))

        return given


mark = Marks()


def _marked(test: Any, one: tuple[str, Any, Any]) -> Any:
    setattr(test, _KEPT, [*getattr(test, _KEPT, []), one])
    return test


def param(*values: Any, **_: Any) -> Any:
    """The values of one case."""
    return values if len(values) > 1 else values[0]


def fixture(function: Any = None, *, params: Any = (None,), name: str = "", **_: Any) -> Any:
    """Mark a function as one whose value tests are given by name; each test gets one of its own."""
    if function is None:
        return lambda given: fixture(given, params=params, name=name)
    setattr(function, _FIXTURE, (list(params), name or function.__name__))
    return function


def skip(reason: str = "", **_: Any) -> None:
    """Leave the running test out."""
    raise unittest.SkipTest(reason)


def fail(reason: str = "", pytrace: bool = True) -> None:
    """Fail the running test."""
    raise AssertionError(reason)


def importorskip(name: str, **_: Any) -> types.ModuleType:
    """The module, or the running test is left out."""
    try:
        return importlib.import_module(name)
    except ImportError:
        raise unittest.SkipTest(f"there is no {name}") from None


class MonkeyPatch:
    """Changes that are taken back when the test ends."""

    def __init__(self) -> None:
        self._undo: list[Callable[[], Any]] = []

    def setattr(self, owner: Any, name: Any, value: Any = _KEPT, raising: bool = True) -> None:
        """Set ``owner.name``; ``owner`` may be a dotted text that holds the name too."""
        if isinstance(owner, str):
            place, _, attribute = owner.rpartition(".")
            owner, name, value = importlib.import_module(place), attribute, name
        missing = not hasattr(owner, name)
        if missing and raising:
            raise AttributeError(f"{owner!r} has no attribute {name!r}")
        old = getattr(owner, name, None)
        self._undo.append((lambda: delattr(owner, name)) if missing else (lambda: setattr(owner, name, old)))
        setattr(owner, name, value)

    def delattr(self, owner: Any, name: str, raising: bool = True) -> None:
        """Delete ``owner.name``."""
        if hasattr(owner, name) or raising:
            old = getattr(owner, name)
            self._undo.append(lambda: setattr(owner, name, old))
            delattr(owner, name)

    def setitem(self, table: Any, key: Any, value: Any) -> None:
        """Set ``table[key]``."""
        missing, old = key not in table, table.get(key)
        self._undo.append((lambda: table.pop(key, None)) if missing else (lambda: table.__setitem__(key, old)))
        table[key] = value

    def delitem(self, table: Any, key: Any, raising: bool = True) -> None:
        """Delete ``table[key]``."""
        if key in table or raising:
            old = table[key]
            self._undo.append(lambda: table.__setitem__(key, old))
            del table[key]

    def setenv(self, name: str, value: Any, prepend: str | None = None) -> None:
        """Set a variable of the environment."""
        before = f"{value}{prepend}{os.environ[name]}" if prepend and name in os.environ else str(value)
        self.setitem(os.environ, name, before)

    def delenv(self, name: str, raising: bool = True) -> None:
        """Delete a variable of the environment."""
        self.delitem(os.environ, name, raising)

    def syspath_prepend(self, path: Any) -> None:
        """Have imports look here first."""
        sys.path.insert(0, str(path))
        self._undo.append(lambda: sys.path.remove(str(path)))

    def chdir(self, path: Any) -> None:
        """Work in this folder."""
        here = pathlib.Path.cwd()
        self._undo.append(lambda: os.chdir(here))
        os.chdir(path)

    def undo(self) -> None:
        """Take everything back, the last change first."""
        while self._undo:
            self._undo.pop()()


class Captured:
    """What is written to stdout and stderr."""

    def __init__(self) -> None:
        self._out, self._err = io.StringIO(), io.StringIO()

    def readouterr(self) -> Any:
        """All that was written since the last look: ``out`` and ``err``."""
        read = types.SimpleNamespace(out=self._out.getvalue(), err=self._err.getvalue())
        for stream in (self._out, self._err):
            stream.seek(0)
            stream.truncate()
        return read

    @contextlib.contextmanager
    def running(self) -> Iterator[Captured]:
        """Take the streams' place."""
        with contextlib.redirect_stdout(self._out), contextlib.redirect_stderr(self._err):
            yield self


class Request:
    """What a fixture may ask of the test that it is for."""

    def __init__(self, param: Any, ending: contextlib.ExitStack) -> None:
        self.param = param
        self.addfinalizer = ending.callback


class Fixtures:
    """The fixtures of a module, for one run of one test."""

    def __init__(self, known: dict[str, Any], chosen: dict[str, Any], owner: Any) -> None:
        self._known, self._chosen, self._owner = known, chosen, owner
        self._made: dict[str, Any] = {}
        self.ending = contextlib.ExitStack()

    def of(self, function: Any, given: dict[str, Any], param: Any = None) -> dict[str, Any]:
        """What a function is called with."""
        wanted = inspect.signature(function).parameters.values()
        named = {one.name: given[one.name] for one in wanted if one.name in given}
        for one in wanted:
            if one.name == "request":
                named[one.name] = Request(param, self.ending)
            elif one.name not in named and (one.default is one.empty or one.name in self._known):
                named[one.name] = self.get(one.name)
        return named

    def get(self, name: str) -> Any:
        """The value of a fixture."""
        if name not in self._made:
            self._made[name] = self._make(name)
        return self._made[name]

    def _make(self, name: str) -> Any:
        if name in self._known:
            function = self._known[name]
            bound = function.__get__(self._owner) if _in_class(function) else function
            value = bound(**self.of(bound, {}, self._chosen.get(name)))
            if not inspect.isgenerator(value):
                return value
            self.ending.callback(next, value, None)
            return next(value)
        if name == "tmp_path":
            return pathlib.Path(tempfile.mkdtemp())
        if name == "monkeypatch":
            patch = MonkeyPatch()
            self.ending.callback(patch.undo)
            return patch
        if name == "capsys":
            return self.ending.enter_context(Captured().running())
        raise LookupError(f"fixture {name!r} not found")


def _in_class(function: Any) -> bool:
    return "." in function.__qualname__.rpartition("<locals>.")[2]


def _fixtures(space: dict[str, Any]) -> dict[str, Any]:
    return {getattr(one, _FIXTURE)[1]: one for one in space.values() if hasattr(one, _FIXTURE)}


def _needed(function: Any, known: dict[str, Any], found: dict[str, Any]) -> dict[str, Any]:
    """The fixtures that a function asks for, those of its fixtures too."""
    for name in inspect.signature(function).parameters:
        if name in known and name not in found:
            found[name] = known[name]
            _needed(known[name], known, found)
    return found


def _cases(function: Any, marks: list[Any]) -> Iterator[dict[str, Any]]:
    """What parametrize gives, all combinations."""
    axes: list[list[dict[str, Any]]] = []
    for name, args, named in marks:
        if name == "parametrize":
            names, values = [*args, *named.values()][:2]
            names = names.replace(",", " ").split() if isinstance(names, str) else list(names)
            axes.append([dict(zip(names, [value] if len(names) == 1 else value, strict=True)) for value in values])
    for chosen in itertools.product(*axes):
        yield {name: value for part in chosen for name, value in part.items()}


def run_functions(space: dict[str, Any], classes: list[str], note: Note) -> None:
    """Run what pytest would collect of a module besides `unittest.TestCase`.

    Args:
        space: of the module.
        classes: names of the classes that its source defines.
        note: is told the name and outcome of each run, and the exception.
    """
    known = _fixtures(space)
    for name, one in list(space.items()):
        if name.startswith("test") and inspect.isfunction(one) and not hasattr(one, _FIXTURE):
            _run_all(one, getattr(one, _KEPT, []), known, None, note)
    for name in classes:
        kind = space.get(name)
        if name.startswith("Test") and isinstance(kind, type) and not issubclass(kind, unittest.TestCase):
            _run_class(kind, getattr(kind, _KEPT, []), known, note)


def _run_class(kind: type, marks: list[Any], known: dict[str, Any], note: Note) -> None:
    members = {name: getattr(kind, name) for name in dir(kind)}
    known = {**known, **_fixtures(members)}
    first = kind()
    getattr(first, "setup_class", lambda: None)()
    for one in vars(kind).values():
        if inspect.isfunction(one) and one.__name__.startswith("test"):
            _run_all(one, [*marks, *getattr(one, _KEPT, [])], known, kind, note)
    getattr(first, "teardown_class", lambda: None)()


def _run_all(test: Any, marks: list[Any], known: dict[str, Any], kind: type | None, note: Note) -> None:
    """Run a test for each of its cases and for each value of its fixtures."""
    for name, args, _ in marks:
        if name == "skip" or (name == "skipif" and args[0]):
            note(test.__qualname__, "S")
            return
    fails = any(name == "xfail" for name, _, _ in marks)
    asked = _needed(test, known, {})
    choices = [[(name, value) for value in getattr(one, _FIXTURE)[0]] for name, one in asked.items()]
    for case in _cases(test, marks):
        for chosen in itertools.product(*choices):
            _run_one(test, case, Fixtures(known, dict(chosen), kind() if kind else None), kind, note, fails)


def _run_one(test: Any, case: dict[str, Any], given: Fixtures, kind: type | None, note: Note, fails: bool) -> None:
    owner = given._owner
    try:
        with given.ending:
            if kind is not None:
                getattr(owner, "setup_method", lambda *_: None)(
                    *_one_of(getattr(owner, "setup_method", None), test)
                )
            bound = test.__get__(owner) if kind is not None else test
            bound(**given.of(bound, case))
            if kind is not None:
                ending = getattr(owner, "teardown_method", None)
                (ending or (lambda *_: None))(*_one_of(ending, test))
    except unittest.SkipTest:
        note(test.__qualname__, "S")
    except AssertionError as error:
        note(test.__qualname__, "P" if fails else "F", error)
    except (Exception, SystemExit) as error:
        note(test.__qualname__, "P" if fails else "E", error)
    else:
        note(test.__qualname__, "P")


def _one_of(function: Any, test: Any) -> tuple[Any, ...]:
    """pytest hands the test's function over where a method takes it."""
    return (test,) if function is not None and inspect.signature(function).parameters else ()
