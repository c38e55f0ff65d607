"""Problems that a repository's own tests decide: pytest runs them beside the answer, as a suite of unit tests.

What takes a function's place in its module, or in its class, calls the answer; so the tests come to it by their
own imports. Kept are the tests that reach the function and pass. They share the answer's process, where it could
forge them: such a verdict says so, and a report keeps it apart from those of the tier `outside`.
"""

from __future__ import annotations

import ast
import copy
from collections import defaultdict
from collections.abc import Iterator, Sequence
from random import Random
from typing import Any

import msgspec

from truegrade.apps.repository.functions import UNREACHED, FunctionPlace, ParsedModule
from truegrade.apps.repository.outside import (
    LEAST_STRENGTH,
    TriedMutant,
    function_mutants,
    strength_of,
    strength_tags,
    without_body,
)
from truegrade.apps.repository.packing import Package, imported_names
from truegrade.apps.repository.replaying import TwoJails
from truegrade.apps.repository.source import (
    RepositoryFile,
    SourceTree,
    imported_tops,
    installed_packages,
    suite_files,
)
from truegrade.benchmarks.own_rows import BenchmarkRow, task_of
from truegrade.datasets.executions import NotRecorded
from truegrade.errors import BadRecord
from truegrade.extraction.parsing import unix_newlines
from truegrade.files import syntax
from truegrade.grading.executor import Executor
from truegrade.grading.judgement import Judgement
from truegrade.grading.programs import assemble
from truegrade.grading.suite_grading import grade_by_suite, suite_source
from truegrade.grading.suite_reference import ReferencesShown
from truegrade.grading.suite_runs import SuiteRun, run_suite
from truegrade.records import Answer, Reason, SuiteTask

MODULE = "truegrade_answer"
"""Name of the program's module, which no test imports."""
LEAST_MUTANTS = 5
_MOST_MUTANTS = 8
_MOST_TESTS = 20
"""Of a function: the first of its file."""
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
        self.suites = frozenset(suite_files(tree)) - own
        self.by_path: dict[str, ParsedModule] = {}
        helpers = []
        for path in sorted(path for path in tree.files if path.endswith(".py") and path not in own):
            for name in _names_of(path, tree):
                if (module := _parsed(path, name, tree)) is not None:
                    self.by_path.setdefault(path, module)
                    helpers.append(module)
        self.package = Package([*helpers, *modules])
        self._tree = tree

    def sources(self, path: str) -> list[ParsedModule]:
        """A file of tests, behind the files that hold fixtures for it."""
        folders = [""] + [f"{path[: place + 1]}" for place, letter in enumerate(path) if letter == "/"]
        found = [self.by_path.get(f"{folder}conftest.py") for folder in folders]
        return [module for module in (*found, self.by_path.get(path)) if module is not None]

    def files(self, path: str, sources: Sequence[ParsedModule]) -> dict[str, str]:
        """Text files that tests name, as they lie beside their file and below the root of the project."""
        text, folder = "\n".join(module.file.text for module in sources), path.rpartition("/")[0] + "/"
        found: dict[str, str] = {}
        for place, content in self._tree.files.items():
            named = place.startswith(folder) and place.rpartition("/")[2] in text
            if not named or place.endswith(".py") or len(content) > _MOST_FILE_BYTES:
                continue
            try:
                found[place] = found[place.removeprefix(folder)] = content.decode()
            except UnicodeDecodeError:
                continue
        return found if sum(map(len, found.values())) <= _MOST_CHARS else {}


def _names_of(path: str, tree: SourceTree) -> Iterator[str]:
    """The names by which tests may import a file."""
    parts = path.removesuffix(".py").removesuffix("/__init__").split("/")
    if all(part.isidentifier() for part in parts):
        yield ".".join(parts)
        folder = path.rpartition("/")[0]
        if folder and f"{folder}/__init__.py" not in tree.files:
            yield parts[-1]


def _parsed(path: str, name: str, tree: SourceTree) -> ParsedModule | None:
    """A file as a module of this name; None where it cannot be read."""
    try:
        text = unix_newlines(tree.files[path].decode("utf-8-sig"))
        package = path.endswith("/__init__.py")
        file = RepositoryFile(path=path, dotted=name, text=text, is_package=package, is_generated=False)
        module = ParsedModule(file)
        return module if isinstance(module.tree, ast.Module) else None
    except (SyntaxError, ValueError, RecursionError):
        return None


class DecidedByTests(msgspec.Struct, frozen=True, kw_only=True):
    """A function with tests that decide about answers to it."""

    function: FunctionPlace
    file: str
    """Path of the tests."""
    task: SuiteTask
    packages: tuple[str, ...]
    mutants: tuple[TriedMutant, ...]

    @property
    def row(self) -> dict[str, Any]:
        """What its problems' rows hold, whatever they ask for."""
        count = str(len(suite_source(self.task).names))
        tags = {"tier": "own-tests", **strength_tags(self.mutants), "tests": count, "tests_file": self.file}
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
    function: FunctionPlace, side: TestSide, tree: SourceTree, jails: TwoJails, seed: int
) -> DecidedByTests:
    """Find tests of the repository that decide about answers to a function.

    Args:
        function: of its package.
        side: its tests.
        tree: the repository.
        jails: where programs run; pytest is there.
        seed: of the mutants.

    Raises:
        NotRecorded: there are none; the message says why.
    """
    path, wanted = _tests_of(function, side)
    sources = side.sources(path)
    others = sorted({name for module in sources for name in imported_names(module)})
    if copies := side.package.copies(function, others):
        raise NotRecorded(f"the same function stands where its tests reach: {copies[0]}")
    texts = [*side.package.texts(function.module.dotted, *others), *(module.file.text for module in sources)]
    packages = installed_packages(imported_tops(texts) - {"pytest"}, tree.name)
    if not installed_packages(["pytest"], tree.name):
        raise NotRecorded("pytest needs its package")
    prefix = side.package.prefix(function, others, as_code=True)
    trial = _Trial(
        function, sources, {"prefix": prefix, "packages": packages, "files": side.files(path, sources)}, jails
    )
    task, cpu_s = trial.passing(wanted)
    removed = trial.run(task, without_body(function.node), cpu_s)
    if removed.reason is Reason.PASSED:
        raise NotRecorded("its tests accept a removed body")
    mutants = function_mutants(function, seed)[:_MOST_MUTANTS]
    if len(mutants) < LEAST_MUTANTS:
        raise NotRecorded(f"fewer than {LEAST_MUTANTS} mutants of it can be made")
    runs = [trial.run(task, mutant.code, cpu_s) for mutant in mutants]
    tried = tuple(
        TriedMutant(mutant=mutant, refused_by=_refusals(run), held_out=True)
        for mutant, run in zip(mutants, runs, strict=True)
    )
    if strength_of(tried)[0] < LEAST_STRENGTH:
        raise NotRecorded("its tests refuse fewer than half of its mutants")
    return DecidedByTests(function=function, file=path, task=task, packages=packages, mutants=tried)


def _refusals(run: SuiteRun) -> int:
    """Tests that refuse a program; where none comes to an end, all of them together count as many."""
    if not run.tests:
        return _MOST_TESTS
    return 0 if run.reason is Reason.PASSED else max(1, sum(letter in "FE" for letter in run.tests))


def _tests_of(function: FunctionPlace, side: TestSide) -> tuple[str, set[str]]:
    """The file that has most of the tests that reach a function, and their names in it.

    Raises:
        NotRecorded: there is none.
    """
    if function.obstacle:
        raise NotRecorded(function.obstacle)
    if function.seen is None:
        raise NotRecorded(UNREACHED)
    found: dict[str, list[str]] = defaultdict(list)
    for test in function.seen.tests:
        path, _, name = test.partition("[")[0].partition("::")
        if path in side.suites and path in side.by_path:
            found[path].append(name.replace("::", "."))
    if not found:
        raise NotRecorded("only doctests reach it")
    path = max(sorted(found), key=lambda one: len(found[one]))
    return path, {*found[path]}


class _Trial:
    """Runs of the tests of one function."""

    def __init__(
        self,
        function: FunctionPlace,
        sources: Sequence[ParsedModule],
        fields: dict[str, Any],
        jails: TwoJails,
    ) -> None:
        self._function, self._sources, self._fields, self._jails = function, sources, fields, jails

    def passing(self, wanted: set[str]) -> tuple[SuiteTask, float]:
        """The tests that pass on the function whenever they are run, and the CPU seconds of a run of a mutant.

        Raises:
            NotRecorded: there are none.
        """
        task = self._task(wanted)
        if len(names := suite_source(task).names) > _MOST_TESTS:
            task = self._task({*names[:_MOST_TESTS]}, exact=True)
        first = self.run(task, self._function.source, _CPU_S)
        if not first.tests:
            raise NotRecorded(f"its tests do not run without their tree: {first.detail[:200]}")
        kept = {name for name, letter in zip(suite_source(task).names, first.tests, strict=False) if letter == "P"}
        if not kept:
            raise NotRecorded(f"none of its tests passes without its tree: {first.detail[:200]}")
        cpu_s = max(_LEAST_CPU_S, _SLOWDOWN * first.outcome.cpu_s)
        if len(kept) < len(suite_source(task).names) or first.tests[-1] not in "-P":
            task = self._task(kept, exact=True)
        for number in range(_RUNS):
            shown = msgspec.structs.replace(task, tests=_shuffled(task.tests, number))
            again = self.run(shown, self._function.source, _SLOWDOWN * cpu_s, second=number % 2 == 1)
            if again.reason is not Reason.PASSED:
                raise NotRecorded(f"its tests do not pass each time: {again.detail[:200]}")
        return task, cpu_s

    def run(self, task: SuiteTask, answer: str, cpu_s: float, *, second: bool = False) -> SuiteRun:
        """Run the tests on an answer."""
        executor = self._jails.second if second else self._jails.first
        program = _program(task, answer)
        return run_suite(task, suite_source(task), program, executor, tests=task.tests, cpu_s=cpu_s)

    def _task(self, wanted: set[str], *, exact: bool = False) -> SuiteTask:
        tests = _suite_text(self._sources, wanted, exact=exact)
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
            **self._fields,
        )
        try:
            made = task_of(row)
        except BadRecord as fault:  # tests that a class inherits, or that the file makes as it is loaded
            raise NotRecorded(f"its tests cannot stand in one file: {str(fault).partition(': ')[2]}") from None
        assert isinstance(made, SuiteTask)
        return made


# ------------------------------------------------------------------------------- The text of a module of tests.


def _suite_text(sources: Sequence[ParsedModule], wanted: set[str], *, exact: bool) -> str:
    """Fixtures and tests in one module: of the tests those that are wanted, by ``Class.test``.

    Args:
        sources: files, the tests last.
        wanted: tests; of one that a class inherits, the name is that of the heir unless it is exact.
        exact: whether names are those of the source.
    """
    futures: dict[str, None] = {}
    body: list[ast.stmt] = []
    defined = {name for name, _ in _tests_in(sources[-1].tree.body, "")}
    heirs = set() if exact else {name.rpartition(".")[2] for name in wanted - defined}
    for module in sources:
        tree = copy.deepcopy(module.tree)
        _Absolute(module).visit(tree)
        _Wanted(wanted, heirs).visit(tree)
        for node in tree.body:
            if isinstance(node, ast.ImportFrom) and node.module == "__future__":
                futures |= dict.fromkeys(alias.name for alias in node.names)
            elif not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
                body.append(node)
    head = f"from __future__ import {', '.join(futures)}\n" if futures else ""
    return head + ast.unparse(ast.Module(body, [])) + "\n"


def _tests_in(body: Sequence[ast.stmt], above: str) -> Iterator[tuple[str, ast.stmt]]:
    for node in body:
        if isinstance(node, ast.ClassDef):
            yield from _tests_in(node.body, f"{above}{node.name}.")
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test"):
            yield f"{above}{node.name}", node


class _Absolute(ast.NodeTransformer):
    """Makes relative imports absolute."""

    def __init__(self, module: ParsedModule) -> None:
        parts = module.file.path.removesuffix(".py").removesuffix("/__init__").split("/")
        self._package = parts if module.file.is_package else parts[:-1]

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.stmt:
        if node.level:
            base = self._package[: len(self._package) - node.level + 1]
            node.module, node.level = ".".join([*base, *([node.module] if node.module else [])]), 0
        return node


class _Wanted(ast.NodeTransformer):
    """Takes out the tests that are not wanted."""

    def __init__(self, wanted: set[str], heirs: set[str]) -> None:
        self._wanted, self._heirs, self._above = wanted, heirs, ""

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.stmt:
        above, self._above = self._above, f"{self._above}{node.name}."
        self.generic_visit(node)
        self._above = above
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.stmt | None:
        name = f"{self._above}{node.name}"
        kept = name in self._wanted or (self._above != "" and node.name in self._heirs)
        return node if kept or not node.name.startswith("test") else None

    visit_AsyncFunctionDef = visit_FunctionDef  # noqa: N815

    def generic_visit(self, node: ast.AST) -> ast.AST:
        super().generic_visit(node)
        if isinstance(node, ast.ClassDef | ast.If | ast.Try) and not node.body:
            node.body = [ast.Pass()]
        return node


def _shuffled(tests: str, seed: int) -> str:
    """The module with its tests in another order; 0 leaves it as it is."""
    if not seed:
        return tests
    tree, random = syntax.parse(tests), Random(seed)
    holders: list[ast.Module | ast.ClassDef] = [tree]
    for holder in [*holders, *(node for node in tree.body if isinstance(node, ast.ClassDef))]:
        own = [node for _, node in _tests_in(holder.body, "") if node in holder.body]
        rest = [node for node in holder.body if node not in own]
        holder.body[:] = [*rest, *random.sample(own, len(own))]
    return ast.unparse(tree) + "\n"
