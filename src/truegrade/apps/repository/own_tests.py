"""Problems that a repository's own tests decide: pytest runs them beside the answer, as a suite of unit tests.

What takes a function's place in its module, or in its class, calls the answer; so the tests come to it by their
own imports. Kept are the tests that reach the function and pass. They share the answer's process, where it could
forge them: such a verdict says so, and a report keeps it apart from those of the tier `outside`.
"""

from __future__ import annotations

import ast
import copy
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from importlib.util import decode_source
from typing import Any, NamedTuple

import msgspec

from truegrade.apps.repository.deciding_mutants import (
    StrengthFloor,
    TriedMutant,
    function_mutants,
    ignoring_parameters,
    strength_tags,
    without_body,
)
from truegrade.apps.repository.doctests import doctest_files, doctest_suite, doctest_test
from truegrade.apps.repository.functions import UNREACHED, FunctionPlace, ParsedModule
from truegrade.apps.repository.packing import Package, imported_names
from truegrade.apps.repository.replaying import TwoJails
from truegrade.apps.repository.source import (
    RepositoryFile,
    SourceTree,
    configured,
    import_root,
    imported_tops,
    installed_packages,
    suite_files,
    warnings_configured,
)
from truegrade.apps.repository.suite_text import NamesOfTests, shuffled, suite_text, tests_in, with_usual_names
from truegrade.benchmarks.own_rows import BenchmarkRow, task_of
from truegrade.datasets.executions import NotRecorded
from truegrade.errors import BadRecord
from truegrade.grading.executor import Executor
from truegrade.grading.judgement import Judgement
from truegrade.grading.programs import assemble
from truegrade.grading.suite_grading import grade_by_suite, suite_source
from truegrade.grading.suite_reference import ReferencesShown
from truegrade.grading.suite_runs import MOST_TESTS, SuiteRun, run_suite
from truegrade.records import Answer, Reason, SuiteTask

MODULE = "truegrade_answer"
"""Name of the program's module, which no test imports."""
LEAST_MUTANTS = 5
_MOST_MUTANTS = 20
"""Every second of them has a part in the choice of tests; the others tell how strong these are."""
_MOST_FILES = 8
"""Files of tests, first those with most that refuse mutants; each has its share of `MOST_TESTS`."""
_MOST_CHARS = 400_000
"""Of a module of tests, and of the files that it reads."""
_MOST_FILE_BYTES = 100_000
_RUNS = 5
"""How often the tests have to pass on the function, in several orders and under two hash seeds."""
_CPU_S, _LEAST_CPU_S, _SLOWDOWN = 10.0, 1.0, 4.0
"""CPU seconds of the first run; of one of a mutant at least so many, or so many times what the first one took."""


class TestSide:
    """What of a tree stands beside its package: tests, and the modules that they import.

    Args:
        tree: the repository.
        modules: its package.
    """

    def __init__(self, tree: SourceTree, modules: Sequence[ParsedModule]) -> None:
        own = {module.file.path for module in modules}
        self.names = NamesOfTests(configured(tree, "python_functions"), configured(tree, "python_classes"))
        self.marks = _marks_configured(tree)
        self.suites = frozenset(suite_files(tree)) - own
        self.by_path: dict[str, ParsedModule] = {}
        helpers = []
        for path in sorted(path for path in tree.files if path.endswith(".py") and path not in own):
            names = [*_names_of(path, tree)]
            if not names and path in self.suites:  # no test imports it, but pytest runs it
                names = ["_".join(re.findall(r"\w+", path))]
            for name in names:
                if (module := _parsed(path, name, tree)) is not None:
                    if path in self.suites and any(self.names):
                        text = ast.unparse(with_usual_names(copy.deepcopy(module.tree), self.names))
                        module = ParsedModule(msgspec.structs.replace(module.file, text=text))
                    self.by_path.setdefault(path, module)
                    helpers.append(module)
        files = {module.file.path: module.file for module in modules}
        self.doctests = dict[str, frozenset[str]]()
        """Files whose examples are tests, and the names of these."""
        for path in doctest_files(tree, files.values()):
            text = doctest_suite(tree, path, files.get(path))
            made = RepositoryFile(path=path, dotted="doctests", text=text, is_package=False, is_generated=False)
            self.by_path[path] = ParsedModule(made)
            self.doctests[path] = frozenset(name for name, _ in tests_in(self.by_path[path].tree.body, ""))
        self.package = Package([*helpers, *modules])
        self._data = {
            path: content
            for path, content in tree.files.items()
            if not path.endswith(".py") and len(content) <= _MOST_FILE_BYTES
        }

    def sources(self, path: str) -> list[ParsedModule]:
        """A file of tests, behind the files that hold fixtures for it."""
        folders = [""] + [f"{path[: place + 1]}" for place, letter in enumerate(path) if letter == "/"]
        found = [self.by_path.get(f"{folder}conftest.py") for folder in folders]
        return [module for module in (*found, self.by_path.get(path)) if module is not None]

    def files(self, paths: Collection[str], dotted: Collection[str]) -> dict[str, str]:
        """Text files that tests and modules name, as they lie below the root of the project.

        Args:
            paths: of tests, whose files lie also where a process that is started beside them finds them.
            dotted: names of modules.
        """
        found: dict[str, str] = {}
        for path in sorted(paths, reverse=True):
            folder = path[: path.rfind("/") + 1]
            named = self._named(folder, "\n".join(module.file.text for module in self.sources(path)))
            found |= named | {place.removeprefix(folder): text for place, text in named.items()}
        for name in dotted:
            file = self.package.by_name[name].file
            found |= self._named(file.path[: file.path.rfind("/") + 1], file.text)
        return found if sum(map(len, found.values())) <= _MOST_CHARS else {}

    def _named(self, folder: str, text: str) -> dict[str, str]:
        """The text files of a folder that a text names."""
        found: dict[str, str] = {}
        for place, content in self._data.items():
            if place.startswith(folder) and place.rpartition("/")[2] in text:
                with suppress(UnicodeDecodeError):
                    found[place] = content.decode()
        return found


def _marks_configured(tree: SourceTree) -> str:
    """What the configuration asks of every test, as code behind a module of tests; empty where it asks nothing."""
    warned = [*warnings_configured(tree), *configured(tree, "filterwarnings", by_line=True)]
    used = configured(tree, "usefixtures")
    marks = [f"pytest.mark.filterwarnings({each!r})" for each in warned]
    marks += [f"pytest.mark.usefixtures({', '.join(map(repr, used))})"] if used else []
    if not marks:
        return ""
    own = "pytestmark if isinstance(pytestmark, list) else [pytestmark]"
    return f"import pytest\npytestmark = [{', '.join(marks)}, *(({own}) if 'pytestmark' in globals() else [])]\n"


def _names_of(path: str, tree: SourceTree) -> Iterator[str]:
    """The names by which tests may import a file."""
    parts = path.removeprefix(import_root(tree)).removesuffix(".py").removesuffix("/__init__").split("/")
    if all(part.isidentifier() for part in parts):
        yield ".".join(parts)
        folder = path.rpartition("/")[0]
        if folder and f"{folder}/__init__.py" not in tree.files:
            yield parts[-1]


def _parsed(path: str, name: str, tree: SourceTree) -> ParsedModule | None:
    """A file as a module of this name; None where it cannot be read."""
    try:
        text = decode_source(tree.files[path])
        package = path.endswith("/__init__.py")
        file = RepositoryFile(path=path, dotted=name, text=text, is_package=package, is_generated=False)
        module = ParsedModule(file)
        return module if isinstance(module.tree, ast.Module) else None
    except (SyntaxError, ValueError, RecursionError):
        return None


class DecidedByTests(msgspec.Struct, frozen=True, kw_only=True):
    """A function with tests that decide about answers to it."""

    function: FunctionPlace
    files: tuple[str, ...]
    """Paths of the tests."""
    task: SuiteTask
    packages: tuple[str, ...]
    mutants: tuple[TriedMutant, ...]
    whole: Mapping[str, str]
    """By mutant, the test of the whole suite that refuses it; empty for none."""

    @property
    def held_out(self) -> list[TriedMutant]:
        """The mutants that tell how strong the tests are."""
        return [one for one in self.mutants if one.held_out]

    @property
    def row(self) -> dict[str, Any]:
        """What its problems' rows hold, whatever they ask for."""
        count = str(len(suite_source(self.task).names))
        tags = {
            "tier": "own-tests",
            **strength_tags(self.held_out, self.whole),
            "tests": count,
            "tests_file": " ".join(self.files),
        }
        return {**_fields(self.task), "packages": self.packages, "tags": tags}

    def judged(self, source: str, executor: Executor) -> Judgement:
        """What the judge says of an answer."""
        program = _program(self.task, source)
        kept = ReferencesShown()
        return grade_by_suite(self.task, program, kept, executor, min_cpu_s=_CPU_S, packages=self.packages)


def _fields(task: SuiteTask) -> dict[str, Any]:
    return {"framework": "pytest", "module": MODULE, "prefix": task.prefix, "tests": task.tests} | (
        {"files": task.files} if task.files else {}
    )


def _program(task: SuiteTask, source: str) -> str:
    return assemble(task.prefix, Answer(value=source, found="the repository's", form="program"))


def decide_by_tests(
    function: FunctionPlace,
    side: TestSide,
    tree: SourceTree,
    jails: TwoJails,
    seed: int,
    floor: StrengthFloor,
) -> DecidedByTests:
    """Find tests of the repository that decide about answers to a function.

    Kept are those of up to `_MOST_FILES` files, as many as go together, first the file with most of those that
    refuse mutants. Where they are too many, each file has a share, and those that refuse mutants stay.

    Args:
        function: of its package.
        side: its tests.
        tree: the repository.
        jails: where programs run; pytest is there.
        seed: of the mutants.
        floor: how strong they have to be.

    Raises:
        NotRecorded: there are none; the message says why.
    """
    if function.obstacle or function.seen is None:
        raise NotRecorded(function.obstacle or UNREACHED)
    if not installed_packages(["pytest"], tree.name):
        raise NotRecorded("pytest needs its package")
    mutants = function_mutants(function, seed)
    if len(mutants) < LEAST_MUTANTS:
        raise NotRecorded(f"fewer than {LEAST_MUTANTS} mutants of it can be made")
    held_out, shown = mutants[1:_MOST_MUTANTS:2], mutants[0:_MOST_MUTANTS:2]
    trial = _Trial(function, side, tree.name, jails)
    variants = [without_body(function.node), *ignoring_parameters(function), *(one.code for one in shown)]
    refusing = [floor.whole.get(one.id, "") for one in shown]
    by_file = _tests_of(function, side, refusing)
    task = _together(trial, by_file)
    refusals = [trial.refusals(task, one) for one in variants]
    if not refusals[0]:
        raise NotRecorded("its tests accept a removed body")
    tried = [
        TriedMutant(mutant=mutant, refused_by=trial.refusals(task, mutant.code), held_out=True)
        for mutant in held_out
    ]
    # Where the same tests are tried without them, they chose nothing.
    chose = [*by_file.items()] != [*_tests_of(function, side, ()).items()]
    tried += [
        TriedMutant(mutant=mutant, refused_by=count, held_out=not chose)
        for mutant, count in zip(shown, refusals[-len(shown) :], strict=True)
    ]
    made = DecidedByTests(
        function=function, files=task.paths, task=task.suite, packages=task.packages, mutants=tuple(tried),
        whole={} if function.seen.at_import else floor.whole,
    )  # fmt: skip
    floor.check(made.held_out)
    return made


def _tests_of(function: FunctionPlace, side: TestSide, refusing: Sequence[str]) -> dict[str, set[str]]:
    """The names of the tests that reach a function, by file: first the file with most that refuse mutants.

    Args:
        function: of its package.
        side: its tests.
        refusing: tests that refuse mutants, which come before all others where there are too many.

    Raises:
        NotRecorded: there are none.
    """
    assert function.seen is not None
    parts: dict[str, Counter[str]] = defaultdict(Counter)
    first: dict[str, Counter[str]] = defaultdict(Counter)
    for tests, found in ((function.seen.tests, parts), (refusing, first)):
        for test in tests:
            path, _, name = test.partition("[")[0].partition("::")
            if path in side.doctests and (example := doctest_test(name)) in side.doctests[path]:
                found[path][example] += 1
            elif path in side.suites and path in side.by_path and "." not in name:  # of an example in a test
                found[path][side.names.of_test(name.replace("::", "."))] += 1
    if not parts:
        raise NotRecorded("no test in a file that can be read reaches it")
    paths = sorted(parts, key=lambda path: (-first[path].total(), -parts[path].total(), path))
    paths = paths[:_MOST_FILES]
    shares, left = dict[str, int](), MOST_TESTS
    for number, path in enumerate(sorted(paths, key=lambda path: parts[path].total())):
        shares[path] = min(parts[path].total(), left // (len(paths) - number))
        left -= shares[path]
    return {path: _within_room(parts[path], first[path], shares[path]) for path in paths}


def _within_room(parts: Counter[str], first: Counter[str], room: int) -> set[str]:
    """Names of tests that together have no more parts; those that are to be first come first. One with more parts
    than half of the room stands for so many, so that there is room for others beside it."""
    kept, most = set[str](), max(1, room // 2)
    for name in [*first, *(name for name in parts if name not in first)]:
        if (size := min(parts[name], most)) <= room:
            kept.add(name)
            room -= size
    return kept


def _together(trial: _Trial, by_file: Mapping[str, set[str]]) -> _Kept:
    """The tests of files that pass, of as many files as go together.

    Raises:
        NotRecorded: none passes; says why of the first file.
    """
    alone, whys = dict[str, set[str]](), list[NotRecorded]()
    for path, names in by_file.items():
        try:
            alone[path] = trial.passing({path: names}, times=0).names
        except NotRecorded as refusal:
            whys.append(refusal)
    with suppress(NotRecorded):
        if alone:
            return trial.passing(alone)
    task, kept = None, dict[str, set[str]]()
    for path, names in alone.items():
        try:
            task = trial.passing({**kept, path: names})
            kept[path] = names
        except NotRecorded as refusal:
            whys.append(refusal)
    if task is None:
        raise whys[0]
    return task


class _Kept(NamedTuple):
    """Tests that pass on a function whenever they are run."""

    suite: SuiteTask
    paths: tuple[str, ...]
    names: set[str]
    packages: tuple[str, ...]
    cpu_s: float
    """CPU seconds of a run of a mutant."""


class _Trial:
    """Runs of the tests of one function."""

    def __init__(self, function: FunctionPlace, side: TestSide, own: str, jails: TwoJails) -> None:
        self._function, self._side, self._own, self._jails = function, side, own, jails

    def passing(self, wanted: Mapping[str, set[str]], times: int = _RUNS) -> _Kept:
        """The tests that pass on the function whenever they are run.

        Args:
            wanted: by file, ``Class.test``.
            times: how often they are run again, in several orders.

        Raises:
            NotRecorded: there are none.
        """
        fields = self._fields(wanted)
        files = [(self._side.sources(path), names) for path, names in wanted.items()]
        task = self._task(files, fields)
        if len(names := suite_source(task).names) > MOST_TESTS:
            if len(wanted) > 1:
                raise NotRecorded(f"together they have more than {MOST_TESTS} tests")
            task = self._task([(files[0][0], names[:MOST_TESTS])], fields, exact=True)
        first = self._run(task, self._function.source, _CPU_S)
        if not first.tests and self._function.seen is not None and self._function.seen.at_import:
            raise NotRecorded("it is called while modules are loaded, before there is an answer")
        if not first.tests:
            raise NotRecorded(f"its tests do not run beside the answer: {first.detail[:200]}")
        names = suite_source(task).names
        kept = {name for name, letter in zip(names, first.tests, strict=False) if letter == "P"}
        if not kept:
            raise NotRecorded(f"none of its tests passes beside the answer: {first.detail[:200]}")
        if len(kept) < len(names) or first.tests[-1] not in "-P":
            if len(wanted) > 1:
                raise NotRecorded("not all of its tests pass together")
            task = self._task([(files[0][0], kept)], fields, exact=True)
        cpu_s = max(_LEAST_CPU_S, _SLOWDOWN * first.outcome.cpu_s)
        for number in range(times):
            mixed = msgspec.structs.replace(task, tests=shuffled(task.tests, number))
            again = self._run(mixed, self._function.source, _SLOWDOWN * cpu_s, second=number % 2 == 1)
            if again.reason is not Reason.PASSED:
                raise NotRecorded(f"its tests do not pass each time: {again.detail[:200]}")
        return _Kept(task, tuple(wanted), kept, fields["packages"], cpu_s)

    def refusals(self, kept: _Kept, answer: str) -> int:
        """Tests that refuse an answer; where none comes to an end, all of them."""
        run = self._run(kept.suite, answer, kept.cpu_s)
        if not run.tests:
            return len(kept.names)
        return 0 if run.reason is Reason.PASSED else max(1, sum(letter in "FE" for letter in run.tests))

    def _run(self, task: SuiteTask, answer: str, cpu_s: float, *, second: bool = False) -> SuiteRun:
        executor = self._jails.second if second else self._jails.first
        program = _program(task, answer)
        return run_suite(task, suite_source(task), program, executor, tests=task.tests, cpu_s=cpu_s)

    def _fields(self, wanted: Mapping[str, set[str]]) -> dict[str, Any]:
        """What stands before an answer and beside the tests of files, and the packages that both import."""
        function, package = self._function, self._side.package
        sources = [module for path in wanted for module in self._side.sources(path)]
        others = sorted({name for module in sources for name in imported_names(module)})
        if copies := package.copies(function, others):
            raise NotRecorded(f"the same function stands where its tests reach: {copies[0]}")
        texts = [*package.texts(function.module.dotted, *others), *(module.file.text for module in sources)]
        loaded = sorted({name for one in (function.module.dotted, *others) for name in package.closure(one)})
        return {
            "prefix": package.prefix(function, others, as_code=True),
            "packages": installed_packages(imported_tops(texts) - {"pytest"}, self._own),
            "files": self._side.files(wanted, loaded),
        }

    def _task(
        self,
        files: Sequence[tuple[Sequence[ParsedModule], Collection[str]]],
        fields: Mapping[str, Any],
        *,
        exact: bool = False,
    ) -> SuiteTask:
        try:
            tests = suite_text(files, exact=exact or len(files) > 1)
        except ValueError as error:
            raise NotRecorded(str(error)) from None
        tests += self._side.marks
        if len(tests) > _MOST_CHARS:
            raise NotRecorded(f"its file of tests has more than {_MOST_CHARS:,} characters")
        row = BenchmarkRow(
            id=self._function.id,
            prompt=self._function.id,
            entry_point=self._function.node.name,
            framework="pytest",
            module=MODULE,
            tests=tests,
            reference=self._function.source,
            **fields,
        )
        try:
            made = task_of(row)
        except BadRecord as fault:  # tests that a class inherits, or that the file makes as it is loaded
            raise NotRecorded(f"its tests cannot stand in one file: {str(fault).partition(': ')[2]}") from None
        assert isinstance(made, SuiteTask)
        return made
