"""Runs the tests of a repository again and again, each time in a fork of a process that has collected them once.

The text of this file is sent into the jail with the tree as its standard input; nothing here is called in our own
process. The process that forks runs no test itself: what a test or a mutant does to modules, fixtures and caches
is gone with the fork. Mutants are ours and forge nothing, so that a fork may tell of itself how its tests ended.
"""

from __future__ import annotations
import __future__

import ast
import gc
import importlib
import json
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from io import BytesIO
from random import Random
from tokenize import detect_encoding
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any

import pytest
from _pytest.runner import runtestprotocol
from _pytest.warnings import catch_warnings_for_item

if TYPE_CHECKING:
    from truegrade.apps.repository.jailed import go_on_in_fork, last_line, lay_out, main_arguments

MOST_ENDINGS = 40
"""Tests of one order that may end their process; the rest then counts as not run."""
_LEAST_CPU_S, _LEAST_WALL_S, _TIMES = 0.5, 10.0, 10
"""What a test may take: so many seconds, and so many times what it took without a mutant."""
_FUTURE = sum(getattr(__future__, name).compiler_flag for name in __future__.all_feature_names)
_WHY = {"time": "took more seconds than a test may", "ended": "ended the process"}
Told = list[Any]


def forked(work: Callable[[Callable[[Told], None]], None], wall_s: float) -> tuple[list[Told], str]:
    """Run something in a fork, whose parent is another one: a test may end its parent as well.

    Args:
        work: gets a function by which it tells lists of plain values.
        wall_s: seconds after which the fork is ended from outside, should it have outlived its own limits.

    Returns:
        What it told, and how it ended: empty for by itself, ``time`` or ``ended``.
    """
    scratch = tempfile.mkdtemp(prefix="fork")
    with tempfile.TemporaryFile(buffering=0) as tells:
        pid = os.fork()
        if not pid:
            os.setsid()
            parent_answers = go_on_in_fork()

            def tell(told: Told) -> None:
                if parent_answers():
                    tells.write(json.dumps(told).encode() + b"\n")
                else:  # what it tells of may have ended it
                    os._exit(1)

            try:
                os.environ["TMPDIR"] = tempfile.tempdir = scratch
                work(tell)
                tell(["end"])
            finally:
                os._exit(0)
        late = []

        def end(number: int, frame: object) -> None:
            late.append(True)
            _kill(os.killpg, pid)

        signal.signal(signal.SIGALRM, end)
        signal.setitimer(signal.ITIMER_REAL, wall_s)
        status = os.waitpid(pid, 0)[1]
        signal.setitimer(signal.ITIMER_REAL, 0)
        _kill(os.killpg, pid)  # what it has started
        tells.seek(0)
        lines = [json.loads(line) for line in tells.read().splitlines() if line.endswith(b"]")]
    shutil.rmtree(scratch, ignore_errors=True)
    if lines and lines[-1] == ["end"]:
        return lines[:-1], ""
    timed = os.WIFSIGNALED(status) and os.WTERMSIG(status) in (signal.SIGPROF, signal.SIGALRM)
    return lines, "time" if timed or late else "ended"


def _kill(how: Callable[[int, int], None], number: int) -> None:
    with suppress(OSError):  # nothing of it is left, or no signals may be sent: its own timers end it
        how(number, signal.SIGKILL)


class Server:
    """The collected tests, of which forks run some.

    Args:
        session: pytest's.
        root: folder of the tree, with ``/`` behind it.
    """

    def __init__(self, session: Any, root: str) -> None:
        self._root = root
        self.failed_parts: list[str] = []
        """What `unittest.TestCase.subTest` and its like said of parts of the running test that failed."""
        self._versions = 1_000_000_000
        self.items = {item.nodeid: item for item in session.items}
        self._limits: dict[str, tuple[float, float]] = {}
        self._functions: dict[tuple[str, int, str], list[FunctionType]] = {}
        for found in gc.get_objects():
            if type(found) is FunctionType and found.__code__.co_filename.startswith(root):
                code = found.__code__
                key = (code.co_filename.removeprefix(root), code.co_firstlineno, code.co_name)
                self._functions.setdefault(key, []).append(found)
        gc.collect()
        gc.freeze()

    def set_limits(self, took: dict[str, tuple[float, float]], test_seconds: float) -> None:
        """Limits of each test, by the CPU and wall seconds that it took; without these the same for all."""
        for name in self.items:
            cpu, wall = took.get(name, (test_seconds / _TIMES, test_seconds / _TIMES))
            self._limits[name] = (_LEAST_CPU_S + _TIMES * cpu, _LEAST_WALL_S + _TIMES * wall)

    def run_order(self, names: Sequence[str]) -> dict[str, Told]:
        """Run tests in an order, without a mutant: how each ended, its CPU and wall seconds, and its last line."""
        seen: dict[str, Told] = {}
        left = list(names)
        for _ in range(MOST_ENDINGS):
            told, end = forked(partial(self._run, tuple(left), go_on=True), self._wall(left))
            seen.update({name: rest for name, *rest in told})
            left = left[len(told) :]
            if not end or not left:
                break
            seen[left.pop(0)] = [end, 0.0, 0.0, _WHY[end]]
        return seen | {name: ["not run", 0.0, 0.0, "tests before it ended the process"] for name in left}

    def _wall(self, names: Iterable[str]) -> float:
        return sum(self._limits[name][1] for name in names) + _LEAST_WALL_S

    def run_mutant(
        self, place: dict[str, Any], code: str, names: Sequence[str], *, all_tests: bool = False
    ) -> Told:
        """Run tests on a mutant, until one fails unless it is to be all of them.

        Returns:
            How it ended, by which test, why not, and the tests that failed on it.
        """
        key = (place["path"], place["line"], place["name"].rpartition(".")[2])

        def work(tell: Callable[[Told], None]) -> None:
            why = put_in_place(self._functions.get(key, []), place["name"], code)
            tell([why])
            if not why:
                self._run(names, tell, go_on=all_tests)

        with self._written(place, code):
            told, end = forked(work, self._wall(names))
        why = told[0][0] if told else "its fork ended before any test"
        if why:
            return ["not applicable", "", why, []]
        failed = [one[0] for one in told[1:] if one[1] == "failed"]
        status = "killed" if failed else end or "survived"
        if end:
            done = {one[0] for one in told[1:]}
            failed += [name for name in names if name not in done and (all_tests or not failed)][:1]
        return [status, failed[0] if failed else "", "", failed]

    @contextmanager
    def _written(self, place: dict[str, Any], code: str) -> Iterator[None]:
        """A mutant in its file, for modules that are loaded again and for processes that tests start."""
        path = self._root + place["path"]
        with open(path, "rb") as file:  # noqa: PTH123
            before = file.read()
        begin, end = place["lines"]
        lines = before.split(b"\n")
        margin = lines[begin - 1][: place["column"]]  # where decorators and definition begin
        encoding = detect_encoding(BytesIO(before).readline)[0].removesuffix("-sig")
        lines[begin - 1 : end] = [margin + line.encode(encoding, "replace") for line in code.splitlines()]
        try:
            self._write(path, b"\n".join(lines))
            yield
        finally:
            self._write(path, before)

    def _write(self, path: str, text: bytes) -> None:
        """Write a file with a time that no other version of it has, so that none is taken from a cache."""
        with open(path, "wb") as file:  # noqa: PTH123
            file.write(text)
        self._versions += 1
        os.utime(path, (self._versions, self._versions))

    def _run(self, names: Sequence[str], tell: Callable[[Told], None], *, go_on: bool) -> None:
        """Run tests here, in the fork, telling how each ended; once one has failed, no other unless to go on."""
        left = list(names)
        while left:
            name = left.pop(0)
            self._begin_limits(name)
            began, cpu = time.monotonic(), time.process_time()
            self.failed_parts.clear()
            item, after = self.items[name], self.items[left[0]] if left else None
            with catch_warnings_for_item(config=item.config, ihook=item.ihook, when="runtest", item=item):
                reports = runtestprotocol(item, log=False, nextitem=after)
            failed = [last_line(report.longrepr) for report in reports if report.failed] + self.failed_parts
            took = time.process_time() - cpu, time.monotonic() - began
            tell([name, "failed" if failed else "passed", *took, failed[0] if failed else ""])
            if failed and not go_on:
                return

    def _begin_limits(self, name: str) -> None:
        for number, timer, seconds in (
            (signal.SIGPROF, signal.ITIMER_PROF, self._limits[name][0]),
            (signal.SIGALRM, signal.ITIMER_REAL, self._limits[name][1]),
        ):
            signal.signal(number, signal.SIG_DFL)
            signal.setitimer(timer, seconds)


def put_in_place(functions: Sequence[FunctionType], qualified: str, text: str) -> str:
    """Give functions that share their code the code of a mutant, so that every name and wrapper has it.

    Args:
        functions: all that were made of one definition.
        qualified: its name, classes around it included.
        text: of the mutant, a definition without decorators.

    Returns:
        Why it cannot be done; empty where it was.
    """
    if not functions:
        return "no function of this definition is loaded"
    original = functions[0].__code__
    try:
        code = _code_of(text, qualified, original)
        if code.co_freevars != original.co_freevars:
            code = _code_of(text, qualified, original, bound=original.co_freevars)
        defaults = _defaults_of(text, functions[0])
        for function in functions:
            function.__code__ = code
            if defaults is not None:
                function.__defaults__, function.__kwdefaults__ = defaults
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""


def _code_of(text: str, qualified: str, original: CodeType, bound: tuple[str, ...] = ()) -> CodeType:
    """The code object of a definition, compiled within classes of the names that stand around it."""
    node: Any = ast.parse(text).body[0]
    ast.increment_lineno(node, original.co_firstlineno - node.lineno)
    if bound:  # a mutant that no longer reads a variable from outside has to name it all the same
        names: list[ast.expr] = [ast.Name(name, ast.Load()) for name in bound]
        node.body.append(ast.If(ast.Constant(0), [ast.Expr(ast.Tuple(names, ast.Load()))], []))
    *classes, name = qualified.split(".")
    for around in reversed(classes):
        node = ast.ClassDef(around, [], [], [node], [])
    tree = ast.fix_missing_locations(ast.Module([node], []))
    code: Any = compile(tree, original.co_filename, "exec", original.co_flags & _FUTURE, dont_inherit=True)
    for part in (*classes, name):
        code = next(one for one in code.co_consts if isinstance(one, CodeType) and one.co_name == part)
    return code  # type: ignore[no-any-return]


def _defaults_of(text: str, function: FunctionType) -> tuple[Any, Any] | None:
    """The defaults of a definition; None where it says none."""
    node: Any = ast.parse(text).body[0]
    given = [*node.args.defaults, *(one for one in node.args.kw_defaults if one is not None)]
    if not given:
        return None
    bare = ast.Lambda(node.args, ast.Constant(None))
    for one in (*bare.args.posonlyargs, *bare.args.args, *bare.args.kwonlyargs, bare.args.vararg, bare.args.kwarg):
        if one is not None:
            one.annotation = None
    tree = ast.fix_missing_locations(ast.Expression(bare))
    made = eval(compile(tree, "<defaults>", "eval", dont_inherit=True), function.__globals__)
    return made.__defaults__, made.__kwdefaults__


class TakesOver:
    """The plugin that does the work where pytest would run the tests.

    Args:
        given: what is to be done.
        root: of the tree.
    """

    def __init__(self, given: dict[str, Any], root: str) -> None:
        self._given, self._root = given, root
        self._server: Server | None = None
        self.answer: dict[str, Any] = {}

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: Any) -> bool:
        """Do the work."""
        for dotted in self._given["modules"]:
            try:
                importlib.import_module(dotted)
            except BaseException:  # it may need what is not there; its functions are then not found
                continue
        self._server = server = Server(session, self._root)
        if "seed" in self._given:
            self.answer = survey(server, self._given)
        else:
            self.answer = measure(server, self._given)
        return True

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Remember the parts of a test that failed; of tests themselves nothing is logged."""
        if report.failed and self._server is not None:
            self._server.failed_parts.append(last_line(report.longrepr))


def survey(server: Server, given: dict[str, Any]) -> dict[str, Any]:
    """Run all tests in three orders: how each test ended each time; one that took too long is run once."""
    server.set_limits({}, given["test_seconds"])
    names = list(server.items)
    mixed = Random(given["seed"]).sample(names, len(names))
    runs = [server.run_order(names)]
    ends = {name for name in names if runs[0][name][0] != "time"}
    runs += [server.run_order([name for name in order if name in ends]) for order in (names[::-1], mixed)]
    return {"tests": {name: [run[name] for run in runs if name in run] for name in names}}


def measure(server: Server, given: dict[str, Any]) -> dict[str, Any]:
    """Run tests on the mutants of functions, and at the end on none, which tells whether forks left anything."""
    took = {name: (cpu, wall) for name, (cpu, wall) in given["took"].items()}
    server.set_limits(took, given["test_seconds"])
    killers: set[str] = set()
    answers = []
    for place in given["functions"]:
        names = [name for name in place["tests"] if name in server.items]
        alone = server.run_order(names)
        names = [name for name in names if alone[name][0] == "passed"]
        dropped = sorted({*place["tests"]} - {*names})
        *_, found = server.run_mutant(place, place["removed"], names, all_tests=True)
        names = _first(found, names)
        mutants = []
        for code in place["mutants"]:
            *told, failed = server.run_mutant(place, code, names)
            mutants.append(told)
            names = _first(failed, names)  # it may refuse the next as well
            found += failed
        new = {*found} - killers
        killers |= new
        answers.append({"mutants": mutants, "killers": sorted(new), "dropped": dropped})
    used = {name for place in given["functions"] for name in place["tests"]} & server.items.keys()
    again = server.run_order([name for name in server.items if name in used])
    return {"functions": answers, "left_over": sorted(name for name, one in again.items() if one[0] != "passed")}


def _first(some: Sequence[str], names: Sequence[str]) -> list[str]:
    return [*some, *(name for name in names if name not in {*some})]


def main() -> None:
    """Lay out the tree, collect its tests, do the work and write what was seen as one JSON object."""
    given = json.loads(sys.stdin.buffer.read())
    out = os.dup(1)
    with open(os.devnull, "w") as nowhere:  # noqa: PTH123
        os.dup2(nowhere.fileno(), 1)
        os.dup2(nowhere.fileno(), 2)
    root = os.path.join(os.getcwd(), "tree")  # noqa: PTH109, PTH118
    lay_out(root, given["files"])
    os.chdir(root)
    sys.path[:0] = [root, os.path.join(root, given["import_root"])]  # noqa: PTH118
    answer: dict[str, Any] = {}
    for arguments in main_arguments(root, given["tests"]):
        plugin = TakesOver(given, f"{root}/")
        try:
            code = int(pytest.main(["--capture=sys", "--tb=native", *arguments], plugins=[plugin]))
        except SystemExit as error:
            code = 3
            answer = {"why": f"SystemExit: {error}"}
        answer = plugin.answer or answer or {"why": f"pytest's exit code {code}"}
        if code != pytest.ExitCode.USAGE_ERROR:
            break
    with os.fdopen(out, "wb") as stream:
        stream.write(json.dumps(answer).encode("utf-8", "backslashreplace"))
