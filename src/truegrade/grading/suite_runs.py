"""One run of a suite of unit tests in the jail, beside the program or in a process of its own."""

from __future__ import annotations

import ast
import builtins
import marshal
import re
import time
from collections.abc import Callable, Sequence
from functools import cache
from marshal import dumps
from pathlib import Path
from typing import Any, Protocol, TypeVar

import msgspec

from truegrade.extraction.parsing import quietly
from truegrade.files import syntax
from truegrade.files.kept import LastKept
from truegrade.grading import suite_runner
from truegrade.grading.executor import Executor
from truegrade.grading.names_in_tests import may_execute
from truegrade.grading.programs import statements, stub
from truegrade.grading.suite_runner import LETTERS, MARK, OUTCOMES, REFUSED
from truegrade.grading.suite_source import SuiteSource
from truegrade.grading.values_in_tests import AskingSame
from truegrade.patterns import pattern
from truegrade.records import Reason, SuiteTask
from truegrade.sandbox.outcome import Outcome

MOST_TESTS = 200
"""Those behind them are counted as one: a report has few characters."""
CLOCK_RUNS = 3
"""Of one program that reads the clock: tests may compare what it reads with their own reading, or two answers."""
_CLOCK = pattern(r"\b(?:now|today|utcnow|time|localtime|gmtime|ctime|strftime|monotonic|perf_counter|sleep)\(")
_REPORT = pattern(rf"AssertionError: {MARK} ([\w+/]*);(.*)")


class SuiteRun(msgspec.Struct, frozen=True, kw_only=True):
    """What one run reported, or how it ended without a report."""

    outcome: Outcome
    tests: str = ""
    """A letter of `suite_runner.OUTCOMES` for each test of the source, one for all others; empty: no report."""
    words: str = ""
    """The first failure: test, exception, message."""

    @property
    def reason(self) -> Reason:
        """What the run alone says of the program."""
        if not self.tests:
            refused = self.outcome.detail.startswith(f"AssertionError: {REFUSED}")
            ended = Reason.RUNTIME_ERROR if self.outcome.status == Reason.PASSED else Reason(self.outcome.status)
            return Reason.SYNTAX_ERROR if refused else ended
        if "E" in self.tests:
            return Reason.MEMORY_LIMIT if ": MemoryError" in self.words else Reason.RUNTIME_ERROR
        return Reason.WRONG_ANSWER if "F" in self.tests or not some_passed(self.tests) else Reason.PASSED

    @property
    def detail(self) -> str:
        """One line for a person."""
        if self.tests:
            return self.words or ("" if some_passed(self.tests) else "no test was run")
        if self.outcome.status == Reason.PASSED:
            return "the process ended without a report of the tests"
        return self.outcome.detail.removeprefix(f"AssertionError: {REFUSED} ")


def some_passed(tests: str) -> bool:
    """Whether a test, or a part of one, passed, by the letters of all."""
    return "P" in tests or "H" in tests


class _Judged(Protocol):
    @property
    def reason(self) -> Reason:
        """What a run says of the program."""


_Run = TypeVar("_Run", bound=_Judged)


def clock_runs(task: SuiteTask) -> int:
    """At most so often a suite is run: once, but where its reference reads the clock, or waits."""
    return CLOCK_RUNS if _CLOCK.search(task.reference) else 1


def apart_from_the_clock(run: Callable[[], _Run], most: int) -> _Run:
    """The first of at most so many runs that passes, or during which no second of the clock ended; else the last.

    A right program fails where the second ends between two looks at the clock, the tests' or its own, or where a
    busy machine delays it.
    """
    for _ in range(most - 1):
        second = int(time.time())
        judged = run()
        if judged.reason not in (Reason.WRONG_ANSWER, Reason.RUNTIME_ERROR) or int(time.time()) == second:
            return judged
    return run()


def run_suite(
    task: SuiteTask,
    source: SuiteSource,
    program: str,
    executor: Executor,
    *,
    tests: str | bytes,
    cpu_s: float | None = None,
) -> SuiteRun:
    """Run the tests of a task beside a program and in its process: once, unless they hang on the clock.

    Args:
        task: whose suite it is.
        source: that suite.
        program: complete.
        executor: runs it.
        tests: source, or code of it, marshalled.
        cpu_s: limit.
    """
    job: dict[str, Any] = {
        "program": program,
        "tests": tests,
        "module": task.module,
        "files": task.files,
        "names": source.names[:MOST_TESTS],
        "classes": source.classes,
        "framework": task.framework,
    }
    preload = (task.framework, *task.packages)
    runner = f"import marshal\nexec(marshal.loads({code_of(str(suite_runner.__file__))!r}))"

    def run() -> SuiteRun:
        outcome = executor.inside(f"{runner}\nrun_suite({job!r})\n", preload=preload, cpu_s=cpu_s)
        return read_report(outcome, len(source.names[:MOST_TESTS]) + 1)

    return apart_from_the_clock(run, clock_runs(task))


def read_report(outcome: Outcome, tests: int) -> SuiteRun:
    """What the runner said, if it came to say something of this form."""
    found = _REPORT.fullmatch(outcome.detail)
    if outcome.status != Reason.RUNTIME_ERROR or found is None:
        return SuiteRun(outcome=outcome)
    letters = unpacked(found[1], len(OUTCOMES), 2, tests)
    if letters is None:
        return SuiteRun(outcome=outcome)
    return SuiteRun(outcome=outcome, tests="".join(OUTCOMES[one] for one in letters), words=found[2])


def unpacked(text: str, base: int, each: int, count: int) -> list[int] | None:
    """What `suite_runner.packed` has packed; None where it is not that."""
    digits: list[int] = []
    for letter in text:
        number = LETTERS.find(letter)
        if number < 0:
            return None
        for _ in range(min(each, count - len(digits))):
            digits.append(number % base)
            number //= base
    return digits if len(digits) == count else None


@cache
def code_of(path: str) -> bytes:
    """A module, compiled and marshalled for the interpreter that runs this, as every process of the jail does.

    Compiling the runner there took a third of a run of a small suite.
    """
    return marshal.dumps(compile(Path(path).read_text("utf-8"), Path(path).stem, "exec", dont_inherit=True))


# -------------------- Suites of unit tests in a process of their own, to which the program only answers calls.
# The tests run in the judge's process (`truegrade.sandbox.judge`); what they call is a proxy. Arguments and what
# the program returns cross by value, files of the working folder with them (`truegrade.sandbox.mirror`), and
# objects of the program's classes stay with it. So no expected value lies in the program's process while this is
# decided, but for what the tests themselves write to files.
#
# Whether a suite can be judged so is found out with the data set's reference. It cannot where tests replace parts
# of the program's process (`unittest.mock.patch`), where they seed generators that the program draws from, and
# where a value does not cross.
#
# What a program does to its arguments is done to the tests' own (`truegrade.sandbox.carried`), and so it is with
# files. A program that does something to them, or hands one back, has to pass on copies as well: expected values
# may hang on them. Where the reference itself does not, what the program does to them has to be what the
# reference does, or its pass is marked. And one that passes has to pass in one process with the tests, too
# (`truegrade.grading.suite_grading`).

REFERENCE_RUNS = 3
"""How often the reference has to pass outside: what it draws may be right by chance."""
_REPLACES = pattern(r"\b(?:patch|mock_open|MagicMock|Mock|monkeypatch|capsys|redirect_stdout|redirect_stderr)\b")
"""By which tests reach into the program's process, or read what it writes to its streams."""
_SEEDS = pattern(r"\bseed\(")
_DRAWS = pattern(r"\b(?:random|shuffle|choice|sample|rand\w*|Faker|uuid\w*)\b")
_GIVEN = """
def given(held):
    exec({!r}, found := {{}})
    held.update({{name: value for name, value in found.items() if name not in held}})
given(globals())
"""
_BY_VALUE = frozenset({"numpy", "pandas"})
"""Packages whose values cross by value; objects of others stay with the program and cross like its own."""
_DRAWN_WITH = "matplotlib"
"""Whose objects others return as well, so that neither program nor tests need to import it."""
_RUNNER = "suite_runner_code"
"""Stands in the tests' text for the code of `suite_runner`."""
_FUTURE = pattern(r"^from __future__ import .*$", re.MULTILINE)
_OUTSIDE_REPORT = pattern(r"([\w+/]+);([\w+/,]*);([vf][0-9a-f]+|);([^;]*);(.*)", re.DOTALL)


class OutsideRun(msgspec.Struct, frozen=True):
    """One run of a suite in the judge's process."""

    reason: Reason
    detail: str
    outcome: Outcome
    origins: tuple[str, ...] = ()
    """Of the reference, where its objects crossed (`truegrade.sandbox.stand_ins.code_of`)."""
    tests: str = ""
    """A letter of `suite_runner.OUTCOMES` for each test and one for all others; empty where they did not end."""
    tied: str = ""
    """Hash of what the program did to what the tests gave it (`truegrade.sandbox.stand_ins.StandIns`)."""
    doubts: tuple[str, ...] = ()
    """What the tests may have asked for that does not cross."""


class OutsideSuite(msgspec.Struct, frozen=True):
    """A suite that the judge's process can run.

    Args:
        tests: source, with what runs it.
        code: of that, marshalled.
        trusted: source that runs ahead of it, and with which the program's process may be acquainted.
        beside: code, marshalled, for one process with the program, whose names it sees; of ``trusted`` those
            that it lacks.
        functions: of the program, that the tests name.
        classes: of the program, that the tests name.
        values: names that the program binds to values, and the tests name.
        count: tests in the source, and one for all others.
        most: runs of one program, where the clock may have decided.
    """

    tests: str
    code: bytes
    trusted: str
    beside: bytes
    functions: tuple[str, ...]
    classes: tuple[str, ...]
    values: tuple[str, ...]
    packages: tuple[str, ...]
    framework: str
    count: int
    most: int

    def run(
        self,
        program: str,
        executor: Executor,
        cpu_s: float | None,
        origins: Sequence[str] | None = None,
        *,
        carries: bool = True,
    ) -> OutsideRun:
        """Run the tests on a program: once, unless they hang on the clock.

        Args:
            program: complete.
            executor: runs it.
            cpu_s: limit of its process.
            origins: where objects of it may cross; None for the reference, which may hand over any.
            carries: whether the tests see what the program does to their arguments and files, and whether it
                returns an argument.
        """
        return apart_from_the_clock(lambda: self._once(program, executor, cpu_s, origins, carries), self.most)

    def _once(
        self, program: str, executor: Executor, cpu_s: float | None, origins: Sequence[str] | None, carries: bool
    ) -> OutsideRun:
        outcome = executor.judge(
            program,
            self.tests,
            self.functions,
            trusted=self.trusted,
            code=self.code,
            classes=self.classes,
            files=True,
            origins=origins,
            lent=[name for name in (*self.packages, _DRAWN_WITH) if name not in _BY_VALUE],
            carries=carries,
            preload=(self.framework, *self.packages),
            cpu_s=cpu_s,
        )
        reason, found = Reason(outcome.status), _OUTSIDE_REPORT.fullmatch(outcome.detail)
        letters = unpacked(found[1], len(OUTCOMES), 2, self.count) if found else None
        if found is None or letters is None:
            return OutsideRun(reason, outcome.detail, outcome)
        met, doubts = (tuple(one.split(",")) if one else () for one in (found[2], found[4]))
        tests = "".join(OUTCOMES[one] for one in letters)
        return OutsideRun(reason, found[5], outcome, met, tests, found[3], doubts)

    def passed_by(self, reference: str, executor: Executor, cpu_s: float | None) -> bool:
        """Whether the reference passes once in `REFERENCE_RUNS` runs."""
        return any(self.run(reference, executor, cpu_s).reason is Reason.PASSED for _ in range(REFERENCE_RUNS))

    def reference_runs(
        self, reference: str, executor: Executor, cpu_s: float | None, *, carries: bool = True
    ) -> list[OutsideRun]:
        """`REFERENCE_RUNS` runs of the reference, each of which passes; none where one does not."""
        runs: list[OutsideRun] = []
        for _ in range(REFERENCE_RUNS):
            run = self.run(reference, executor, cpu_s, carries=carries)
            if run.reason is not Reason.PASSED or not some_passed(run.tests):
                return []
            runs.append(run)
        return runs


_SUITES = LastKept[OutsideSuite | None](256)


def outside_suite(task: SuiteTask, source: SuiteSource) -> OutsideSuite | None:
    """The suite as the judge's process can run it; None where its source says that it cannot.

    It is made once and kept for the suites graded last.
    """
    if task.processes or task.files:
        return None
    key = (task.tests, task.reference, task.prefix, task.module, task.entry_point, task.framework)
    return _SUITES.of("\0".join(key), lambda: _outside_suite(task, source))


def _outside_suite(task: SuiteTask, source: SuiteSource) -> OutsideSuite | None:
    if _REPLACES.search(task.tests) or may_execute(task.tests):
        return None
    if _SEEDS.search(task.tests) and _DRAWS.search(task.reference):
        return None
    defined, wanted = statements(task.reference), {*source.spelled.split(), task.entry_point}
    errors = _exceptions(defined)
    functions = _names(defined, (ast.FunctionDef, ast.AsyncFunctionDef), wanted)
    classes = tuple(name for name in _names(defined, (ast.ClassDef,), wanted) if name not in errors)
    values = _bound(defined, wanted)
    if not task.module:  # what the prompt gives besides, imports and constants, the tests have a copy of
        functions, values = tuple(name for name in functions if name == task.entry_point), ()
    offered = [*functions, *classes]
    own_errors = {name: base for name, base in errors.items() if name in wanted}
    trusted, tests = "" if task.module else stub(task.prefix), _FUTURE.sub("", task.tests)
    runner, names = "suite_runner_module", source.names[:MOST_TESTS]
    head = (
        f"{runner} = __import__('types').ModuleType('suite_runner')\n"
        f"exec(__import__('marshal').loads({_RUNNER}), {runner}.__dict__)\n"
        f"{runner}.offer_program(globals(), {offered!r}, {own_errors!r}, {task.module!r}, {values!r})\n"
    )
    tail = f"\n{runner}.run_outside(globals(), {source.classes!r}, {names!r}, {task.framework!r})\n"
    beside = _GIVEN.format(trusted) + tests if trusted else task.tests
    try:
        with quietly():
            code = _compiled(_Invoking().visit(syntax.parse(head + tests + tail)), "<tests>")
            beside_code = _compiled(syntax.parse(beside), f"{suite_runner.SHARED}.py")
    except (SyntaxError, ValueError, RecursionError):  # what a run beside the program will say
        return None
    return OutsideSuite(
        tests=head + tests + tail,
        code=code,
        trusted=trusted,
        beside=beside_code,
        functions=functions,
        classes=classes,
        values=values,
        packages=task.packages,
        framework=task.framework,
        count=len(names) + 1,
        most=clock_runs(task),
    )


def _compiled(tree: ast.Module, path: str) -> bytes:
    return dumps(syntax.compiled(tree, path, "exec"))


class _Invoking(AskingSame, ast.NodeTransformer):
    """Puts the runner's code in place of the name ``_RUNNER``, and has what stands for the program take part.

    Methods are called by ``truegrade_invoke``; whether two values are one is asked by ``truegrade_same``, and in
    assertions by ``truegrade_asserted``.
    """

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id != _RUNNER:
            return node
        return ast.copy_location(ast.Constant(code_of(str(suite_runner.__file__))), node)

    def visit_Call(self, node: ast.Call) -> ast.Call:
        self.generic_visit(node)
        method = node.func
        if not isinstance(method, ast.Attribute) or method.attr.startswith("__"):  # names that a class may change
            return node
        if method.attr in {"assertIs", "assertIsNot"}:
            made = ast.Call(ast.Name("truegrade_asserted", ast.Load()), [method, *node.args], node.keywords)
            return ast.fix_missing_locations(ast.copy_location(made, node))
        if isinstance(method.value, ast.Name) and method.value.id in {"self", "cls"}:  # no object of the program
            return node
        invoke, name = ast.Name("truegrade_invoke", ast.Load()), ast.Constant(method.attr)
        made = ast.Call(invoke, [method.value, name, *node.args], node.keywords)
        return ast.fix_missing_locations(ast.copy_location(made, node))


def _exceptions(body: Sequence[ast.stmt]) -> dict[str, str]:
    """The program's own exceptions: of each the name, and the built-in one that it is below."""
    found: dict[str, str] = {}
    for node in body:
        for base in node.bases[:1] if isinstance(node, ast.ClassDef) else ():
            above = found.get(ast.unparse(base), ast.unparse(base))
            kind = getattr(builtins, above, None)
            if isinstance(node, ast.ClassDef) and isinstance(kind, type) and issubclass(kind, Exception):
                found[node.name] = above
    return found


def _bound(body: Sequence[ast.stmt], wanted: set[str]) -> tuple[str, ...]:
    """Names that the program binds by a plain assignment and the tests name."""
    targets = [node.targets for node in body if isinstance(node, ast.Assign)]
    targets += [[node.target] for node in body if isinstance(node, ast.AnnAssign) and node.value is not None]
    flat = [
        each for many in targets for one in many for each in (one.elts if isinstance(one, ast.Tuple) else [one])
    ]
    names = [each.id for each in flat if isinstance(each, ast.Name)]
    return tuple(dict.fromkeys(name for name in names if name in wanted))


def _names(body: Sequence[ast.stmt], kinds: tuple[type[ast.stmt], ...], wanted: set[str]) -> tuple[str, ...]:
    found = [node.name for node in body if isinstance(node, kinds) and hasattr(node, "name")]
    return tuple(dict.fromkeys(name for name in found if name in wanted))
