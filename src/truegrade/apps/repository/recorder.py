"""Runs a repository's tests under a profile hook and tells which functions they reach, and with which arguments.

The text of this file is sent into the jail with the tree as its standard input; nothing here is called in our own
process. It is written against `sys.setprofile`, which every supported Python has, so that there is one way of
recording.
"""

from __future__ import annotations

import inspect
import json
import os
import select
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any

import pytest
from _pytest.fixtures import FixtureDef

if TYPE_CHECKING:
    from truegrade.apps.repository.jailed import go_on_in_fork, last_line, lay_out, main_arguments

MAX_ITEMS = 200
"""Parts of one argument."""
_SCALARS = frozenset({type(None), bool, int, float, str, bytes})
_CONTAINERS = frozenset({list, tuple, dict, set, frozenset})
_STARTS = frozenset({"subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn", "os.system"})
"""Audit events of a process that is started."""
_MOST_ENDINGS = 5
"""Tests that may end the process that runs them: each is left out, and the others are run again."""
_RESUME_AT_START = 0
_CACHE = type(lru_cache(None)(repr))
_RETURNS = {"RETURN_VALUE", "RETURN_CONST"}


class NotPlain(Exception):
    """A value is no plain one, or is too large."""


class TooLong(BaseException):
    """A test takes more seconds than it may."""


def plain(value: Any, room: list[int]) -> str:
    """What ``repr`` writes of a value of exact built-in types, the items of sets in order.

    Raises:
        NotPlain: it holds something else, or more parts than there is room for.
    """
    room[0] -= 1
    kind = type(value)
    if room[0] < 0:
        raise NotPlain
    if value is None or kind in (bool, int, str, bytes):
        return repr(value)
    if kind in (float, complex):
        if value - value != 0:  # neither an infinity nor a nan
            raise NotPlain
        return repr(value)
    if kind is dict:
        return f"{{{', '.join([f'{plain(key, room)}: {plain(item, room)}' for key, item in value.items()])}}}"
    if kind not in (list, tuple, set, frozenset) or len(value) > MAX_ITEMS:
        raise NotPlain
    items = [plain(item, room) for item in value]
    if kind is list:
        return f"[{', '.join(items)}]"
    if kind is tuple:
        return f"({', '.join(items)}{',' * (len(items) == 1)})"
    inside = f"{{{', '.join(sorted(items))}}}" if items else ""
    return inside if kind is set and items else f"{kind.__name__}({inside})"


def plain_within(value: Any, chars: int) -> str | None:
    """The text of a plain value; None for any other, and for one that is too long."""
    if type(value) in (str, bytes) and len(value) > chars:
        return None
    try:
        text = plain(value, [MAX_ITEMS])
    except (NotPlain, RecursionError, ValueError, RuntimeError):
        return None
    return text if len(text) <= chars else None


class SeenFunction:
    """What was seen of one function."""

    def __init__(self, code: CodeType, path: str) -> None:
        self.path, self.line, self.name = path, code.co_firstlineno, code.co_qualname
        self.opcodes = code.co_code
        count = code.co_argcount + code.co_kwonlyargcount
        self.parameters = code.co_varnames[:count]
        extra = list(code.co_varnames[count : count + 2])
        self.rest = extra.pop(0) if code.co_flags & inspect.CO_VARARGS else ""
        self.named = extra.pop(0) if code.co_flags & inspect.CO_VARKEYWORDS else ""
        self.yields = bool(code.co_flags & inspect.CO_GENERATOR)
        self.tests: set[int] = set()
        self.calls: dict[str, dict[str, Any]] = {}
        """By the text of the arguments."""
        self.values: dict[str, set[tuple[type, Any]]] = {name: set() for name in self.parameters}
        """Of each parameter, the first values; of a container, its type and whether it is empty."""
        self.seen = self.crossing = 0
        """Calls, and those of them whose arguments are plain, while they were looked at."""
        self.last_test, self.looked_at = -1, 0
        """The test that called it last, and how many calls of that were looked at."""
        self.changes = False
        """Whether a call left its arguments other than it found them."""
        self.patched = False
        """Whether a test had changed what a name of its module stands for that it reads."""
        self.at_import = False
        """Whether it is called while modules are loaded."""


class Hook:
    """The profile function.

    Args:
        root: folder of the tree, with ``/`` behind it.
        modules: paths of the package's files in it.
        options: bounds.
    """

    def __init__(self, root: str, modules: set[str], options: dict[str, Any]) -> None:
        self._root, self._modules, self._options = root, modules, options
        self._known: dict[CodeType, SeenFunction | None] = {}
        self._by_place: dict[tuple[str, int, str], SeenFunction] = {}
        self._open: dict[FrameType, tuple[SeenFunction, str, Any]] = {}
        self._returns = {number for number, name in enumerate(_opnames()) if name in _RETURNS}
        self.test = -1
        """Which test runs, by number; -1 for none."""
        self.starting: set[int] = set()
        """Tests that start processes, in which nothing is seen."""
        self.fixture = 0
        """Identity of the fixture that is set up or taken down; 0 for none."""
        self.of_fixtures: dict[int, set[SeenFunction]] = {}
        """What fixtures called as they were set up and taken down: each test that asks for one reaches it."""
        self.asked: dict[int, set[int]] = {}
        """Tests that asked for each fixture."""
        self.held: dict[int, dict[str, tuple[Any, str | None]]] = {}
        """By the identity of a module's names, what they stand for before any test: the value, and the text of a
        constant container."""

    def __call__(self, frame: FrameType, event: str, value: Any) -> None:
        """Take note of a call or a return."""
        if event == "call":
            code = frame.f_code
            seen = self._known[code] if code in self._known else self._look(code)
            if seen is not None:
                self._called(seen, frame)
        elif event == "return" and frame in self._open:
            self._returned(frame, value)

    def _look(self, code: CodeType) -> SeenFunction | None:
        path = code.co_filename.removeprefix(self._root)
        place = (path, code.co_firstlineno, code.co_qualname)
        if path not in self._modules or "<" in code.co_qualname:
            self._known[code] = None
        else:  # a module that is loaded again has the same functions
            self._known[code] = self._by_place.setdefault(place, SeenFunction(code, path))
        return self._known[code]

    @property
    def functions(self) -> list[SeenFunction]:
        """All that were called, as they stand in their files."""
        return [self._by_place[place] for place in sorted(self._by_place)]

    def audit(self, event: str, arguments: object) -> None:
        """Take note of a test that starts a process."""
        if event in _STARTS and self.test >= 0:
            self.starting.add(self.test)

    def _called(self, seen: SeenFunction, frame: FrameType) -> None:
        if self.test < 0:
            seen.at_import = True
            return
        if seen.yields and seen.opcodes[frame.f_lasti + 1] & 3 != _RESUME_AT_START:
            return  # a generator goes on
        seen.seen += 1
        if self.fixture:
            self.of_fixtures.setdefault(self.fixture, set()).add(seen)
        else:
            seen.tests.add(self.test)
        seen.looked_at = 1 if self.test != seen.last_test else seen.looked_at + 1
        if seen.looked_at == 1 and not seen.patched:
            seen.patched = self._is_patched(frame)
        seen.last_test = self.test
        is_new = self._holds_new_value(seen, frame)
        room = self._options["calls" if seen.looked_at > 1 else "calls_of_tests"]
        if not is_new and (len(seen.calls) >= room or seen.looked_at > self._options["looked_at"]):
            return
        arguments = _arguments(seen, frame)
        text = None if arguments is None else plain_within(arguments, self._options["chars"])
        if arguments is None or text is None:
            return
        seen.crossing += 1
        if text not in seen.calls:
            seen.calls[text] = {"arguments": text, "kind": "items" if seen.yields else "", "result": None}
            self._open[frame] = (seen, text, arguments)

    @contextmanager
    def watched(self, fixture: Any = None) -> Iterator[None]:
        """Watch, for a fixture that tests share, or for the test that runs and may ask for fixtures."""
        watching, above = sys.getprofile(), self.fixture
        self.fixture = 0 if fixture is None or fixture.scope == "function" else id(fixture)
        threading.setprofile(self)
        sys.setprofile(self)
        try:
            yield
        finally:
            self.fixture = above
            sys.setprofile(watching)
            threading.setprofile(watching)

    def watch_fixtures(self) -> None:
        """Watch fixtures as they are set up, once for all tests that share one, and as they are taken down."""
        execute, finish = FixtureDef.execute, FixtureDef.finish

        def executed(fixture: Any, request: Any) -> Any:
            self.asked.setdefault(id(fixture), set()).add(self.test)
            with self.watched(fixture):
                return execute(fixture, request)

        def finished(fixture: Any, request: Any) -> None:
            with self.watched(fixture):
                finish(fixture, request)

        FixtureDef.execute, FixtureDef.finish = executed, finished  # type: ignore[method-assign, assignment]

    def hold(self, names: dict[str, Any]) -> None:
        """Take note of what the names of a module stand for."""
        self.held[id(names)] = {name: (value, self._constant(name, value)) for name, value in names.items()}

    def _constant(self, name: str, value: object) -> str | None:
        return plain_within(value, self._options["chars"]) if name.isupper() else None

    def _is_patched(self, frame: FrameType) -> bool:
        """Whether a name of the module that a function reads stands for something else than before any test."""
        names, before = frame.f_globals, self.held.get(id(frame.f_globals), {})
        return any(
            names.get(name) is not before[name][0] or self._constant(name, names.get(name)) != before[name][1]
            for name in frame.f_code.co_names
            if name in before
        )

    def _holds_new_value(self, seen: SeenFunction, frame: FrameType) -> bool:
        """Whether a parameter has a value that it has in no call before, and few of it are known."""
        fresh = False
        open_ones = [name for name in seen.parameters if len(seen.values[name]) < self._options["values"]]
        held = frame.f_locals if open_ones else {}
        for name in open_ones:
            value: Any = held.get(name)
            kind = type(value)
            known = value if kind in _SCALARS else kind in _CONTAINERS and len(value) > 0
            fresh = fresh or (kind, known) not in seen.values[name]
            seen.values[name].add((kind, known))
        return fresh

    def _returned(self, frame: FrameType, value: Any) -> None:
        seen, before, arguments = self._open.pop(frame)
        call = seen.calls[before]
        if not seen.yields:
            raised = value is None and seen.opcodes[frame.f_lasti] not in self._returns
            call["kind"] = "raised" if raised else "value"
            call["result"] = None if raised else plain_within(value, self._options["chars"])
        if plain_within(arguments, self._options["chars"]) != before:
            seen.changes = True


def _arguments(seen: SeenFunction, frame: FrameType) -> tuple[Any, ...] | None:
    """Parameters with their values, further arguments, further keywords; None where one is not there yet."""
    held = frame.f_locals
    try:
        named = {name: held[name] for name in seen.parameters}
        rest = tuple(held[seen.rest]) if seen.rest else ()
        return named, rest, dict(held[seen.named]) if seen.named else {}
    except KeyError:  # a parameter that a closure holds, before its cell is made
        return None


def _opnames() -> list[str]:
    import dis

    return dis.opname


class Plugin:
    """Tells the hook which test runs, and remembers how each ended."""

    def __init__(self, hook: Hook, given: dict[str, Any], parent_answers: Callable[[], bool]) -> None:
        self._hook, self._options = hook, given["options"]
        self._running, self._ending = given["running"], frozenset(given["ending"])
        self._modules = frozenset(given["modules"])
        self._has_parent, self._parent_answers = True, parent_answers
        self._latest = time.monotonic() + 3 * self._options["seconds"]  # of tests that wait
        self.called = set[str]()
        """Tests that ran; parts of one, as of `unittest.TestCase.subTest`, report under its name."""
        self.names: list[str] = []
        self._root, self._cached = given["root"], list[Any]()
        self.failed = dict.fromkeys(given["ending"], "it ends the process that runs it")
        self.cut = False

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        """Leave out tests that ended a run before, and functions of modules asked for their examples alone."""
        items[:] = [item for item in items if item.nodeid not in self._ending and not self._is_of_package(item)]

    def _is_of_package(self, item: Any) -> bool:
        return item.nodeid.partition("::")[0] in self._modules and type(item).__name__ != "DoctestItem"

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item: Any) -> Iterator[None]:
        """Watch one test with its fixtures."""
        seconds = self._options["seconds"]
        if time.process_time() > seconds or time.monotonic() > self._latest:
            self.cut = True
            item.session.shouldstop = "out of time"
        self.names.append(item.nodeid)
        with suppress(OSError):  # a test may close what it finds open
            os.ftruncate(self._running, 0)
            os.pwrite(self._running, item.nodeid.encode("utf-8", "backslashreplace"), 0)
        self._hook.test = len(self.names) - 1
        for cached in self._cached:  # else the first test alone would reach what it calls
            cached.cache_clear()
        yield
        if self._has_parent and not self._parent_answers():
            self._has_parent = False
            self.failed.setdefault(item.nodeid, "it ends the process that pytest was started by")

    @pytest.hookimpl(hookwrapper=True)
    def pytest_collection(self) -> Iterator[None]:
        """Watch what modules call as they are loaded."""
        with self._hook.watched():
            yield

    def pytest_collection_finish(self) -> None:
        """Find the caches of the package's functions."""
        for name, module in [*sys.modules.items()]:
            if (getattr(module, "__file__", None) or "").startswith(self._root):
                self._hook.hold(vars(module))
                holders = [module, *(one for one in vars(module).values() if isinstance(one, type))]
                found = [one for holder in holders for one in vars(holder).values()]
                self._cached += (one for one in found if isinstance(one, _CACHE) and one.__module__ == name)

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_call(self, item: Any) -> Iterator[None]:
        """Watch the test itself, for so many CPU seconds; wall time ends only what waits."""
        seconds = self._options["test_seconds"]
        for number, timer, most in (
            (signal.SIGPROF, signal.ITIMER_PROF, seconds),
            (signal.SIGALRM, signal.ITIMER_REAL, 4 * seconds),
        ):
            signal.signal(number, _too_long)
            signal.setitimer(timer, most)
        threading.setprofile(self._hook)
        sys.setprofile(self._hook)
        try:
            yield
        finally:
            sys.setprofile(None)
            threading.setprofile(None)
            signal.setitimer(signal.ITIMER_PROF, 0)
            signal.setitimer(signal.ITIMER_REAL, 0)

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Remember how it ended."""
        if report.when == "call":
            self.called.add(report.nodeid)
        if report.failed:
            self.failed.setdefault(report.nodeid, last_line(report.longrepr))

    def pytest_collectreport(self, report: Any) -> None:
        """Remember what could not be collected."""
        if report.failed:
            self.failed.setdefault(report.nodeid, last_line(report.longrepr))


def _too_long(number: int, frame: object) -> None:
    raise TooLong("took more seconds than a test may")


def record(given: dict[str, Any], parent_answers: Callable[[], bool]) -> dict[str, Any]:
    """Lay out the tree, run its tests once and say what was seen.

    Args:
        given: the tree and the bounds; ``running``, a file that is told which test runs; ``ending``, tests to
            leave out.
        parent_answers: whether the process lives by which this one was started, and which a test may end.
    """
    root = given["root"] = os.path.join(os.getcwd(), "tree")  # noqa: PTH118, PTH109
    lay_out(root, given["files"])
    os.chdir(root)
    sys.path[:0] = [root, os.path.join(root, given["import_root"])]  # noqa: PTH118
    hook = Hook(f"{root}/", set(given["modules"]), given["options"])
    sys.addaudithook(hook.audit)
    hook.watch_fixtures()
    for arguments in main_arguments(root, given["tests"]):
        plugin = Plugin(hook, given, parent_answers)
        with tempfile.TemporaryFile() as errors:
            os.dup2(errors.fileno(), 2)
            try:
                code = int(pytest.main(arguments, plugins=[plugin]))
            except (SystemExit, TooLong) as error:
                code, plugin.failed["pytest"] = 3, f"{type(error).__name__}: {error}"
            if code != pytest.ExitCode.USAGE_ERROR:
                break
            errors.seek(0)
            if said := last_line(errors.read().decode("utf-8", "replace")):
                plugin.failed["pytest"] = said
    for fixture, tests in hook.asked.items():
        for seen in hook.of_fixtures.get(fixture, ()):
            seen.tests |= tests
    return {
        "exit_code": code,
        "tests": len(plugin.called),
        "failed": dict(sorted(plugin.failed.items())),
        "cut": plugin.cut,
        "names": plugin.names,
        "starting": sorted(hook.starting),
        "functions": [
            {
                "path": seen.path,
                "line": seen.line,
                "seen": seen.seen,
                "tests": sorted(seen.tests),
                "crossing": seen.crossing,
                "changes": seen.changes,
                "patched": seen.patched,
                "at_import": seen.at_import,
                "calls": list(seen.calls.values()),
            }
            for seen in hook.functions
            if seen.tests
        ],
    }


def main() -> None:
    """Read the tree, run its tests and write what was seen as one JSON object, whatever the tests print."""
    given = json.loads(sys.stdin.buffer.read())
    out = os.dup(1)
    with open(os.devnull, "w") as nowhere:  # noqa: PTH123
        os.dup2(nowhere.fileno(), 1)
        os.dup2(nowhere.fileno(), 2)
    given["ending"] = []
    text = b""
    with tempfile.TemporaryFile() as running:
        given["running"] = running.fileno()
        while not text and len(given["ending"]) <= _MOST_ENDINGS:
            text = told_by_fork(given)
            running.seek(0)
            name = running.read().decode()
            if not name or name in given["ending"]:
                break
            given["ending"].append(name)
    with os.fdopen(out, "wb") as stream:
        stream.write(text or f"it ended at {', '.join(given['ending']) or 'its start'}".encode())


def told_by_fork(given: dict[str, Any]) -> bytes:
    """What `record` says in a fork, as JSON; nothing where a test ends that."""
    read, write = os.pipe()
    pid = os.fork()
    if not pid:
        os.close(read)
        text = json.dumps(record(given, go_on_in_fork())).encode("utf-8", "backslashreplace")
        with os.fdopen(write, "wb") as stream:
            stream.write(len(text).to_bytes(8, "big") + text)
        os._exit(0)
    os.close(write)
    told, has_ended = bytearray(), False
    while len(told) < 8 or len(told) < 8 + int.from_bytes(told[:8], "big"):
        if select.select([read], [], [], 0.1)[0]:  # what tests left running may keep it open
            part = os.read(read, 1 << 20)
            told += part
            if not part:
                break
        elif has_ended:
            break
        else:
            has_ended = os.waitpid(pid, os.WNOHANG)[0] == pid
    os.close(read)
    return bytes(told[8:])
