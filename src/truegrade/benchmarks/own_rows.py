"""Benchmarks without Python: rows in JSON Lines with a TOML header, changed problems among them.

A row with an ``entry_point`` asks for a function, graded by test source, or with a ``framework`` for what a module
of unit tests is about, graded by these; one without asks for a program, graded by what it prints. The problems are
those kinds of task that the built-in benchmarks have, graded by the same graders.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from keyword import iskeyword
from pathlib import Path
from typing import Any, Literal

import msgspec

from truegrade.benchmarks.base import Benchmark, BenchmarkSpec, check_arguments, names_only_solution_binds
from truegrade.datasets.download import parse_json, read_content, sha256
from truegrade.errors import BadRecord, UserError
from truegrade.extraction.parsing import quietly
from truegrade.files import syntax
from truegrade.files.json_text import convert, encode, read_toml
from truegrade.grading.programs import assemble, method_call, renamed, stub
from truegrade.records import (
    Answer,
    BuiltInTask,
    ContestTask,
    FunctionTask,
    Pairing,
    Problem,
    SuiteTask,
    sha256_json,
)
from truegrade.store.importers.reading import bad_row

OwnKind = Literal["function", "description", "contest"]

Family = Literal["words", "sentence", "model"]
"""``words``: words of the statement were replaced. ``sentence``: one was added. ``model``: a model worded it."""


class StdinTest(msgspec.Struct, frozen=True, kw_only=True):
    """What a program reads on standard input, and what it is to print."""

    input: str
    output: str


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """How a changed problem was made from its original; a field of a benchmark row."""

    original: str
    """Id of the original's row, which stands in the same file."""
    rule: str
    """Name of the rule that changed program and text together."""
    kind: str
    """What is changed: ``boundary``, ``order``, ``extreme``, ``role``, ..."""
    family: Family
    edits: tuple[tuple[str, str], ...]
    """Texts of the original's statement and what stands in their place; an empty first one was inserted."""
    call: str
    """The witness: a call of the tests, to which the two references answer differently."""
    old: str
    """What the original's reference returns for it; a literal."""
    new: str
    """What the changed problem's reference returns; a literal."""
    differing: int
    """Tests on which the two references differ."""
    tests: int
    """Tests of the changed problem."""


class BenchmarkRow(msgspec.Struct, frozen=True, kw_only=True):
    """One problem."""

    id: str | int
    prompt: str
    """The problem in words; or, for a function, Python up to the body that is to be written."""
    tests: str | tuple[str | StdinTest, ...]
    """For a function: Python that raises unless it is right, as one text, or a text for each assert. With a
    framework: a module of unit tests. For a program: an object for each run."""
    entry_point: str | None = None
    """The function to write, or with a framework the class; without it the row asks for a program."""
    framework: Literal["unittest", "pytest"] | None = None
    """What runs the module of unit tests that ``tests`` is."""
    module: str = ""
    """With a framework: the name by which the tests import the program; without it both share a namespace."""
    files: dict[str, str] = {}
    """With a framework: text files that lie in the working directory, by relative path."""
    reference: str | None = None
    """A right solution; a function needs one: a whole program, or the body that continues the prompt."""
    shown_tests: tuple[str, ...] = ()
    """Asserts that a prompt may show."""
    tags: dict[str, str] = {}
    """Facts to group reports by."""
    prefix: str | None = None
    """For a function: code that stands before every solution, where the prompt is not that code."""
    packages: tuple[str, ...] = ()
    """Installed packages that solutions may import."""
    wrong: tuple[str, ...] = ()
    """Programs that the tests must refuse; where they accept one, the row is left out of a run."""
    change: Change | None = None
    """Set where the row is a changed problem: how it differs from another row."""


OTHER_NAMES = {
    "id": ("task_id", "question_id", "problem_id"),
    "prompt": ("text", "question", "question_content", "instruction"),
    "tests": ("test", "test_list", "test_code"),
    "reference": ("code", "canonical_solution", "solution"),
}
"""What published data sets call our fields."""


class Header(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The TOML file of the same name beside the rows."""

    name: str | None = None
    """Of the benchmark; else the file's."""
    description: str = "Problems of a JSON Lines file."
    licence: str = "unknown"
    citation: str = "none"
    prompt: str | None = None
    """Words around each problem: ``{prompt}`` and ``{entry_point}`` are replaced."""
    kind: OwnKind | None = None
    """What every row asks, where the rows are not to decide: see `BenchmarkRow`."""


def rows_benchmark(path: Path) -> BenchmarkSpec:
    """The benchmark that a file of rows is; the rows are read when it is loaded.

    Raises:
        BadRecord: the header is at fault.
    """
    header = _header(path)
    name = header.name or stem_of(path)
    return BenchmarkSpec(
        name=name,
        summary=header.description,
        tasks=header.kind or "function or description or contest or suite",
        size=None,
        licence=header.licence,
        citation=header.citation,
        load=partial(_load, path, name),
    )


def _load(path: Path, name: str, data: Path | None, args: Mapping[str, str]) -> Benchmark:
    """Read the rows, of the file or of the one given in its place; those that are at fault are left out.

    Raises:
        BadRecord: no row can be used; names file, line and field of the first.
    """
    check_arguments(name, args, {})
    path = data.expanduser() if data is not None else path
    header, content = _header(path), read_content(path)
    digest = sha256(content)
    if header.prompt is not None or header.kind is not None:  # they decide what is asked
        digest = sha256_json([digest, header.prompt, header.kind])
    problems: dict[str, Problem] = {}
    changed: dict[str, tuple[int, Change]] = {}
    faults: dict[str, BadRecord] = {}
    lines: dict[str, int] = {}
    for line, row in _rows(path, content, faults):
        row_id = str(row.id)
        try:
            if row_id in lines:
                raise BadRecord(path, f"{row_id!r} is that of line {lines[row_id]}, too", line=line, field="id")
            lines[row_id] = line
            made = _Row(path, line, row, header)
            task = made.task()
        except BadRecord as fault:
            faults[row_id if lines[row_id] == line else f"line {line}"] = fault
            continue
        problems[row_id] = Problem(
            id=row_id,
            benchmark=name,
            dataset_sha256=digest,
            cluster=row_id,
            task=task,
            tags=row.tags,
            packages=row.packages,
            place=f"{path.name}, line {line}",
            wrong=made.wrong(),
        )
        if row.change is not None:
            changed[row_id] = line, row.change
    for changed_id, (line, change) in changed.items():
        try:
            _pair(path, line, problems, changed_id, change)
        except BadRecord as fault:
            faults[changed_id] = fault
            del problems[changed_id]
    if not problems:
        none = BadRecord(path, "holds no rows; write one JSON object a line")
        raise min(faults.values(), key=lambda fault: fault.line or 0, default=none)
    return Benchmark(
        name=name,
        problems=tuple(problems.values()),
        dataset_sha256=digest,
        source=str(path),
        args=dict(args),
        left_out={f"line {one.line}" if named in problems else named: str(one) for named, one in faults.items()},
        part=f"rows of {path.name} that are at fault: {len(faults)}" if faults else None,
    )


def task_of(row: BenchmarkRow) -> BuiltInTask:
    """What a row asks, as a benchmark of it would.

    Raises:
        BadRecord: the row is at fault.
    """
    return _Row(Path("rows"), 1, row, Header()).task()


_HALF = re.compile("[\ud800-\udfff]")
_MAY_HOLD_HALF = re.compile(r"(id|tags|change|packages)\b|tests\[\d+\]\.")
_MAY_HOLD_NUL = re.compile(r"(prompt|tags|change|packages)\b|tests\[\d+\]\.|files\.")
"""Fields that are compared or shown, and neither run nor written to files."""


def _texts(value: object, field: str) -> Iterator[tuple[str, str]]:
    """Every text of a row, keys included, with the dotted name of its field."""
    if isinstance(value, str):
        yield field, value
    elif isinstance(value, list | tuple):
        for place, each in enumerate(value):
            yield from _texts(each, f"{field}[{place}]")
    elif isinstance(value, dict):
        for key, each in value.items():
            name = f"{field}.{key}" if field else key
            yield field or key, key
            yield from _texts(each, name)


class _Row:
    """A row on its way to a task: every fault is told with its line and field."""

    def __init__(self, path: Path, line: int, row: BenchmarkRow, header: Header) -> None:
        self._path, self._line, self._row, self._header = path, line, row, header
        for field, text in _texts(msgspec.to_builtins(row), ""):
            if _HALF.search(text) and not _MAY_HOLD_HALF.match(field):
                raise self._fault(field, "holds half a surrogate pair, which is no text; take it out")
            if "\0" in text and not _MAY_HOLD_NUL.match(field):
                raise self._fault(field, "holds a NUL character, which is for data alone; take it out")
        if not row.prompt.strip():
            raise self._fault("prompt", "is empty; say what is asked")

    def task(self) -> BuiltInTask:
        """What the row asks."""
        row, name = self._row, self._row.entry_point
        if name is not None and row.prefix is None and (not name.isidentifier() or iskeyword(name)):
            raise self._fault("entry_point", f"{name!r} is no name that Python can define; correct it")
        if row.framework is not None:
            return self.suite(row.framework)
        for field in ("module", "files"):
            if getattr(row, field):
                raise self._fault(field, "is for modules of unit tests; name what runs them in framework")
        return self.program() if name is None else self.function(name)

    def wrong(self) -> tuple[str, ...]:
        """The programs that the tests must refuse, each whole where it continues the prompt."""
        row, name = self._row, self._row.entry_point
        if name is None or row.prefix is not None or name not in _defined(stub(row.prompt), classes=True):
            return row.wrong
        return tuple(each if name in _defined(each, classes=True) else row.prompt + each for each in row.wrong)

    def suite(self, framework: Literal["unittest", "pytest"]) -> SuiteTask:
        """What a module of unit tests is about, be it a function, a class or a whole module."""
        row, name = self._row, self._row.entry_point
        if name is None:
            raise self._fault("entry_point", "the field is missing; name the function or class that is tested")
        if self._header.kind is not None:
            raise self._fault("framework", f"the header's kind is {self._header.kind!r}, which has no unit tests")
        if row.shown_tests:
            raise self._fault("shown_tests", "are for functions; show tests of a module in the prompt")
        if row.reference is None:
            raise self._fault("reference", "the field is missing; a right solution is needed to run the tests on")
        begun = row.prefix is None and name in _defined(stub(row.prompt), classes=True)
        prefix = row.prompt if begun else row.prefix or ""
        whole = name in _defined(row.reference, classes=True)
        answer = Answer(value=row.reference, found="the row's", form="program" if whole else "completion")
        reference = assemble(prefix, answer)
        self._refuse_reference(reference, name, classes=True)
        tests = self._suite_source(name)
        return SuiteTask(
            prompt=self._worded(name, continues=begun),
            entry_point=name,
            prefix=prefix,
            tests=tests,
            framework=framework,
            module=row.module,
            files=row.files,
            packages=tuple(each for each in row.packages if _imports(f"{tests}\n{reference}", each)),
            reference=reference,
        )

    def _suite_source(self, name: str) -> str:
        """The module of unit tests, if some of them are about the program."""
        from truegrade.grading.suite_source import SuiteSource  # few benchmarks have suites

        row = self._row
        if not isinstance(row.tests, str):
            raise self._fault("tests", "is no text; with a framework it is the source of a module of unit tests")
        if not all(part.isidentifier() for part in row.module.split(".") if row.module):
            raise self._fault("module", "is no name of a module; write it as tests import it, without .py")
        taken = row.module.partition(".")[0]
        if taken in sys.stdlib_module_names or taken in (row.framework, *row.packages):
            problem = f"{row.module!r} hides the module of that name from tests and programs"
            raise self._fault("module", f"{problem}; choose another name, here and where the tests import it")
        if any(path.startswith("/") or ".." in path.split("/") for path in row.files):
            raise self._fault("files", "leads out of the working directory; write relative paths")
        try:
            source = SuiteSource(row.tests, {name}, row.module)
        except (SyntaxError, ValueError) as error:
            raise self._fault("tests", f"is no Python: {error}") from None
        if not source.names:
            raise self._fault("tests", "holds no test; the name of one begins with test")
        if row.prefix is not None:  # may lead the tests to the program in ways of its own
            return row.tests
        if row.module and not _imports(row.tests, row.module):
            raise self._fault("tests", f"never import {row.module!r}, so every answer would pass")
        if not row.module and (imported := self._imported_from(name)):
            problem = f"the field is missing, and the tests import {name!r} from {imported!r}"
            raise self._fault("module", f"{problem}; give that name, by which they find the program")
        if not row.module and name not in source.spelled.split():
            raise self._fault("tests", f"never use {name!r}, so every answer would pass; call it")
        return row.tests

    def _imported_from(self, name: str) -> str | None:
        """The module from which the tests of a row without ``module`` take a name, if no file of the row is it."""
        nodes = [*ast.walk(_parsed(str(self._row.tests)))]
        imports = [each for node in nodes if isinstance(node, ast.Import) for each in node.names]
        plain = {each.asname or each.name: each.name for each in imports}
        found = [
            *(node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module and not node.level
              and any(each.name == name for each in node.names)),
            *(plain[node.value.id] for node in nodes if isinstance(node, ast.Attribute) and node.attr == name
              and isinstance(node.value, ast.Name) and node.value.id in plain),
        ]  # fmt: skip
        return next((each for each in found if f"{each.replace('.', '/')}.py" not in self._row.files), None)

    def _refuse_reference(self, source: str, name: str, *, classes: bool = False) -> None:
        """Refuse a reference that is no Python, or does not define what is asked for."""
        try:
            _parsed(source)
        except (SyntaxError, ValueError) as error:
            place = f" (line {error.lineno} of the program)" if isinstance(error, SyntaxError) else ""
            problem = f"is no Python: {getattr(error, 'msg', error)}{place}; correct it"
            raise self._fault("reference", problem) from None
        if name not in _defined(source, classes=classes):
            if name in _defined(source, classes=True):
                problem = "is a class of the reference, which takes a module of unit tests; add framework"
                raise self._fault("entry_point", problem)
            raise self._fault("reference", f"defines no {name!r}; define it, or correct entry_point")

    def function(self, name: str) -> FunctionTask:
        """A function to complete where the prompt is its head, else one to write."""
        row = self._row
        tests, solution = self._test_source(name), row.reference
        if solution is None:
            raise self._fault(
                "reference", "the field is missing; a function needs a right solution to check it by"
            )
        if row.prefix is not None:
            return self._behind(row.prefix, name, tests, solution)
        begun = name in _defined(stub(row.prompt))
        kind = self._header.kind or ("function" if begun else "description")
        if kind == "contest" or (kind == "function" and not begun):
            wanted = "programs without entry_point" if kind == "contest" else f"a prompt that begins {name!r}"
            raise self._fault("entry_point", f"the header's kind is {kind!r}, which asks for {wanted}")
        prefix = row.prompt if kind == "function" else ""
        if name not in _defined(solution):
            solution = prefix + solution
        self._refuse_reference(solution, name)
        shared = set(names_only_solution_binds(str(row.id), stub(prefix), tests, name)) if prefix else set()
        used = names_only_solution_binds(str(row.id), solution, tests, name)
        return FunctionTask(
            prompt=self._worded(name, continues=bool(prefix)),
            entry_point=name,
            prefix=prefix,
            tests=tests,
            shown_tests=row.shown_tests,
            reference=solution,
            tests_use=tuple(each for each in used if each not in shared),
        )

    def _behind(self, prefix: str, name: str, tests: str, solution: str) -> FunctionTask:
        """A function that is described in words and stands behind given code, or a method that the tests call."""
        if name not in _defined(tests) and name not in _defined(solution):
            raise self._fault("reference", f"defines no {name!r}, nor do the tests")
        shared = names_only_solution_binds(str(self._row.id), prefix, tests, name)
        used = names_only_solution_binds(str(self._row.id), solution, tests, name)
        return FunctionTask(
            prompt=self._row.prompt,
            entry_point=name,
            prefix=prefix,
            tests=tests,
            shown_tests=self._row.shown_tests,
            reference=solution,
            tests_use=tuple(each for each in used if each not in shared),
        )

    def program(self) -> ContestTask:
        """A program on standard input and output."""
        row = self._row
        if self._header.kind not in (None, "contest"):
            raise self._fault("entry_point", f"the field is missing; the header's kind is {self._header.kind!r}")
        if isinstance(row.tests, str) or not all(isinstance(test, StdinTest) for test in row.tests):
            problem = "a row without entry_point is tested by objects with input and output; for asserts, name the"
            raise self._fault("tests", f"{problem} function in entry_point")
        if not row.tests:
            raise self._fault("tests", "is empty, so every answer would pass; give a test")
        return ContestTask(
            title=str(row.id),
            question=self._worded("", continues=False),
            public_tests="[]",
            private_tests=encode(row.tests).decode(),
            reference=row.reference or msgspec.UNSET,
        )

    def _test_source(self, name: str) -> str:
        tests = (self._row.tests,) if isinstance(self._row.tests, str) else self._row.tests
        source = "\n".join(test for test in tests if isinstance(test, str))
        if any(isinstance(test, StdinTest) for test in tests):
            problem = f"input and output are for programs; test {name!r} by asserts, or leave out entry_point"
            raise self._fault("tests", problem)
        try:
            used = {node.id for node in ast.walk(_parsed(source)) if isinstance(node, ast.Name)}
        except SyntaxError as error:
            raise self._fault("tests", f"is no Python: {error.msg} (line {error.lineno})") from None
        if name not in used:
            raise self._fault("tests", f"never use {name!r}, so every answer would pass; call it")
        return source

    def _worded(self, name: str, *, continues: bool) -> str:
        template = self._header.prompt
        if template is None:
            return self._row.prompt
        if continues:
            raise self._fault("prompt", "is code to continue, which the header's prompt would put words around")
        return template.replace("{entry_point}", name).replace("{prompt}", self._row.prompt)

    def _fault(self, field: str, problem: str) -> BadRecord:
        return BadRecord(self._path, problem, line=self._line, field=field)


def _pair(path: Path, line: int, problems: dict[str, Problem], changed: str, change: Change) -> None:
    """Tell a changed problem and its original of each other, and put them in one cluster.

    Raises:
        BadRecord: the original is not in the file, has a changed problem already, or one of them is no function.
    """
    first, second = problems.get(change.original), problems[changed]
    if first is None or first is second:
        raise BadRecord(
            path, f"{change.original!r} is no other row of this file", line=line, field="change.original"
        )
    if not isinstance(first.task, FunctionTask) or not isinstance(second.task, FunctionTask):
        raise BadRecord(path, "only functions have changed problems; name entry_point", line=line, field="change")
    if first.task.pairing is not None:
        raise BadRecord(path, f"{first.id!r} has a changed problem already", line=line, field="change.original")
    for problem, other, shown in ((first, second, "original"), (second, first, "mutant")):
        assert isinstance(problem.task, FunctionTask) and isinstance(other.task, FunctionTask)
        tests = other.task.tests
        if other.task.entry_point != problem.task.entry_point:
            tests = renamed(tests, other.task.entry_point, problem.task.entry_point)
        pairing = Pairing(item=first.id, case=0, shown=shown, other=tests, mutation=change.rule)  # type: ignore[arg-type]
        task = msgspec.structs.replace(problem.task, pairing=pairing)
        problems[problem.id] = msgspec.structs.replace(problem, task=task, cluster=first.id)


def _rows(path: Path, content: bytes, faults: dict[str, BadRecord]) -> Iterator[tuple[int, BenchmarkRow]]:
    """Every row with its line; what is wrong with the others goes into ``faults``, by their ids or lines."""
    for line, value in _values(path, content, faults):
        try:
            yield line, convert(value, BenchmarkRow)
        except msgspec.ValidationError as error:
            keys = set(value) if isinstance(value, dict) else set()
            others = keys - set(BenchmarkRow.__struct_fields__)
            renames = {
                name: ours
                for ours, names in OTHER_NAMES.items()
                if ours not in keys
                for name in names
                if name in others
            }
            named = str(value["id"]) if isinstance(value, dict) and isinstance(value.get("id"), str | int) else ""
            fault = bad_row(path, error, line=line, others=others, renames=renames)
            faults[named if named and named not in faults else f"line {line}"] = fault


def _values(path: Path, content: bytes, faults: dict[str, BadRecord]) -> Iterator[tuple[int, Any]]:
    """Every JSON value with its line; of JSON Lines in which one is damaged, the others."""
    try:
        yield from list(parse_json(path, content))
    except BadRecord as damaged:
        values: list[tuple[int, Any]] = []
        for line, text in enumerate(content.split(b"\n"), 1):
            try:
                values += [(line, value) for _, value in parse_json(path, text)]
            except BadRecord as fault:
                problem = str(fault).removeprefix(f"{path}, line {fault.line}: ")
                faults[f"line {line}"] = BadRecord(path, problem, line=line)
        if not any(isinstance(value, dict) for _, value in values):
            raise damaged from None
        yield from values


def stem_of(path: Path) -> str:
    """The name of a file of rows without its ending."""
    return path.name.removesuffix(".gz").removesuffix(".jsonl")


def _header(path: Path) -> Header:
    """What the TOML file beside the rows says, if there is one."""
    file = path.with_name(f"{stem_of(path)}.toml")
    header = read_toml(file, Header, "see docs/extend.md") if file.is_file() else Header()
    if header.prompt is not None and "{prompt}" not in header.prompt:
        raise BadRecord(file, "leaves the problem out; write {prompt} where it belongs", field="prompt")
    return header


def _defined(source: str, *, classes: bool = False) -> set[str]:
    """Functions that a program defines at its top level, with classes if asked; none where it is no Python."""
    try:
        body = _parsed(source).body
    except SyntaxError:
        return set()
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, *((ast.ClassDef,) if classes else ()))
    return {node.name for node in body if isinstance(node, kinds)}


def _imports(source: str, module: str) -> bool:
    """Whether a line of Python imports a module, or a name of it."""
    return re.search(rf"^\s*(?:from|import)\s+{re.escape(module)}\b", source, re.MULTILINE) is not None


def _parsed(source: str) -> ast.Module:
    with quietly():
        return syntax.parse(source)


# --------------------------- Changed problems as rows of a benchmark without Python, each behind its original.


def rows_of_pairs(pairs: Iterable[tuple[Problem, FunctionTask, Change]]) -> Iterator[BenchmarkRow]:
    """Two rows for each pair; tags say the benchmark, of the changed problem also the rule and its family.

    Raises:
        UserError: two originals share an id.
    """
    seen: set[str] = set()
    for problem, task, change in pairs:
        if problem.id in seen:
            raise UserError(f"two benchmarks hold a problem {problem.id}: change them in two files")
        seen.add(problem.id)
        assert isinstance(problem.task, FunctionTask)
        tags = {**problem.tags, "benchmark": problem.benchmark}
        yield _row(problem.id, problem.task, tags, problem.packages, None)
        changed = {**tags, "rule": change.rule, "family": change.family}
        yield _row(f"{problem.id}~{change.rule}", task, changed, problem.packages, change)


def _row(
    name: str, task: FunctionTask, tags: dict[str, str], packages: tuple[str, ...], change: Change | None
) -> BenchmarkRow:
    return BenchmarkRow(
        id=name,
        prompt=task.prompt,
        tests=task.tests,
        entry_point=task.entry_point,
        reference=task.reference,
        shown_tests=task.shown_tests,
        tags=tags,
        prefix=task.prefix if method_call(task) else None,
        packages=packages,
        change=change,
    )
