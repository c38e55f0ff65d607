"""Execution rows from submissions that the user has collected; nothing here collects any."""

from __future__ import annotations

import ast
import datetime
import importlib
import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from truegrade.datasets.download import parse_json, read_content
from truegrade.datasets.executions import ExecutionRow, NotRecorded, RecordedCalls, RecordedCase, Refused, record
from truegrade.datasets.identity import free_names, identity, without_docstrings
from truegrade.errors import BadRecord, UserError
from truegrade.extraction.equalities import parse_arguments
from truegrade.files import syntax
from truegrade.files.json_text import convert
from truegrade.files.threads import in_order
from truegrade.grading.executor import Executor

# ------------------------------- Submissions that the user has collected, in the shapes that collectors write.
# A file is JSON, JSON Lines, or objects one after the other; a folder is read with all its ``.json`` and
# ``.jsonl`` files, in the order of their names. An object with ``code`` is a submission, one without is a
# question, an object of objects a table of questions by id. What a submission lacks is taken from its question,
# and a contest's number from a folder named like ``weekly-contest-431``.

_OTHER_NAMES = {
    "questionId": "question_id",
    "id": "submission_id",
    "submissionId": "submission_id",
    "sampleTestCase": "example",
    "exampleTestcases": "example",
    "example_test": "example",
    "contest": "contest_id",
    "language": "lang",
}
_CONTEST = re.compile(r"contest[-_ ]?(\d+)")


class LeetCodeSubmission(msgspec.Struct, frozen=True, kw_only=True):
    """One submission with what its question says."""

    question_id: str | int
    code: str
    example: str | None = None
    """The first example: one JSON value a line, one line a parameter."""
    submission_id: str | int | None = None
    contest_id: str | int | None = None
    difficulty: str | int | None = None
    lang: str = "python3"


def read_submissions(paths: Sequence[Path]) -> tuple[LeetCodeSubmission, ...]:
    """Every Python submission of files and folders, in order.

    Raises:
        BadRecord: names file, line and field.
        UserError: a path leads nowhere, or to no submission.
    """
    questions: dict[str, dict[str, Any]] = {}
    found: list[tuple[Path, int, dict[str, Any]]] = []
    for path in _files(paths):
        contest = _CONTEST.search(path.as_posix())
        given = {"contest_id": int(contest[1])} if contest else {}
        for line, value in _objects(path):
            fields = given | {_OTHER_NAMES.get(name, name): item for name, item in value.items()}
            if "code" in fields:
                found.append((path, line, fields))
            elif "question_id" in fields:
                questions.setdefault(str(fields["question_id"]), {}).update(fields)
    if not found:
        raise UserError(f"{', '.join(map(str, paths))}: no object with a field 'code'; see docs/benchmarks.md")
    submissions = [_submission(path, line, fields, questions) for path, line, fields in found]
    return tuple(submission for submission in submissions if submission.lang in {"python", "python3"})


def _files(paths: Sequence[Path]) -> Iterator[Path]:
    for path in paths:
        if not path.exists():
            raise UserError(f"{path}: no such file or folder; give the submissions you collected")
        if path.is_dir():
            yield from sorted(file for file in path.rglob("*") if file.suffix in {".json", ".jsonl"})
        else:
            yield path


def _objects(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    for line, value in parse_json(path, read_content(path)):
        if not isinstance(value, dict):
            raise BadRecord(
                path, "is no object; a submission has the fields question_id, code and example", line=line
            )
        table = [item for item in value.values() if isinstance(item, dict) and "question_id" in item]
        yield from ((line, item) for item in (table or [value]))


def _submission(
    path: Path, line: int, fields: dict[str, Any], questions: dict[str, dict[str, Any]]
) -> LeetCodeSubmission:
    known = {name: value for name, value in questions.get(str(fields.get("question_id")), {}).items() if value}
    try:
        return convert(known | fields, LeetCodeSubmission)
    except msgspec.ValidationError as error:
        raise BadRecord(path, f"no submission: {error}; see docs/benchmarks.md", line=line) from None


# ----------------- What LeetCode imports unseen, as the import statements that a program needs to stand alone.
# The modules are those of akshsgaur/code-reasoning-repro@6c43fa8 src/datasets/leetcode/build_dataset.py. There
# the imports stay hidden from the model; here they become part of the program, which therefore runs anywhere. As
# there, a module's own name wins over a member of that name: ``bisect`` is the module.


_MODULES = ("string", "math", "collections", "bisect", "heapq", "functools", "random", "itertools", "operator",
            "re", "copy", "sys")  # fmt: skip
_MEMBERS_OF = ("collections", "itertools", "functools", "heapq", "bisect", "math", "string", "copy", "random",
               "operator", "typing")  # fmt: skip
_SPECIAL = {
    "re_search": "from re import search as re_search",
    "commonprefix": "from os.path import commonprefix",
    "maxsize": "from sys import maxsize",
    "np": "import numpy as np",
    "pd": "import pandas as pd",
}

OF_LEETCODE = ("numpy", "pandas")
"""Packages among them; for `truegrade.sandbox.Limits`."""


def with_imports(program: str) -> str:
    """The program preceded by the imports that it relies on and does not make itself.

    Raises:
        SyntaxError: the text is no program.
    """
    lines = imports_of(program)
    return lines + ("\n" if lines else "") + program


def imports_of(program: str) -> str:
    """The imports, one a line, that a program relies on and does not make itself.

    Raises:
        SyntaxError: the text is no program.
    """
    known = _statements()
    return "".join(f"{line}\n" for line in sorted({known[name] for name in free_names(program) if name in known}))


@cache
def _statements() -> dict[str, str]:
    """The import statement of each name."""
    statements: dict[str, str] = {}
    for module in _MEMBERS_OF:
        members = importlib.import_module(module)
        public = getattr(members, "__all__", None) or [name for name in dir(members) if not name.startswith("_")]
        for name in public:
            statements.setdefault(name, f"from {module} import {name}")
    return {**statements, **_SPECIAL, **{module: f"import {module}" for module in _MODULES}}


# -------------------------------- From ``class Solution`` to plain functions, by the tree and not by the text.


_CLASS = "Solution"


class Solution(msgspec.Struct, frozen=True):
    """A submission as a program of functions."""

    program: str
    """Normalised by `ast.unparse`, its imports before it."""
    function: str
    parameters: tuple[str, ...]


def plain_functions(code: str) -> Solution:
    """Methods become functions, ``self.f(...)`` becomes ``f(...)``, attributes of the class become globals.

    Raises:
        NotRecorded: the code is no Python, has no class Solution, keeps state on ``self``, or uses ``self``, or a
            name that would collide, in some other way.
    """
    try:
        tree = without_docstrings(syntax.parse(code))
        solution = _solution_class(tree)
        members = _members(solution)
        lifted = _Lift(members, _bound_elsewhere(tree, solution))
        body = [lifted.visit(node) for node in solution.body if not isinstance(node, ast.Pass)]
        at = tree.body.index(solution)
        tree.body[at : at + 1] = body
        entry = _entry(solution, body)
        program = with_imports(ast.unparse(ast.fix_missing_locations(tree)) + "\n")
        compile(program, "<submission>", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError) as error:
        raise NotRecorded(f"it is no Python program: {error}") from None
    return Solution(program, entry.name, tuple(argument.arg for argument in entry.args.args))


def _solution_class(tree: ast.Module) -> ast.ClassDef:
    found = [node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == _CLASS]
    if len(found) != 1:
        raise NotRecorded(f"it has {len(found)} classes {_CLASS}")
    if found[0].bases or found[0].decorator_list:
        raise NotRecorded(f"its class {_CLASS} has a base or a decorator")
    return found[0]


def _members(solution: ast.ClassDef) -> set[str]:
    """Names of methods and attributes of the class."""
    names = set()
    for node in solution.body:
        match node:
            case ast.FunctionDef(name=name):
                names.add(name)
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                names.add(name)
            case _ if not isinstance(node, ast.Pass):
                raise NotRecorded(f"its class {_CLASS} holds more than methods and attributes")
    if "__init__" in names:
        raise NotRecorded("it keeps state in __init__")
    return names


def _bound_elsewhere(tree: ast.Module, solution: ast.ClassDef) -> set[str]:
    """Names bound outside the class or inside its methods: a member of that name cannot become a global."""
    own = {id(node) for node in solution.body}
    bound = set()
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name) if id(node) not in own:
                bound.add(name)
            case ast.arg(arg=name) | ast.Name(id=name, ctx=ast.Store()):
                bound.add(name)
    return bound - {
        target.id
        for node in solution.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name) and _stores(tree, target.id) == 1
    }


def _stores(tree: ast.Module, name: str) -> int:
    return sum(isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store)
               for node in ast.walk(tree))  # fmt: skip


def _entry(solution: ast.ClassDef, body: list[ast.stmt]) -> ast.FunctionDef:
    """The one method that no other method calls."""
    methods = [node for node in body if isinstance(node, ast.FunctionDef)]
    called = {
        node.id
        for method in methods
        for node in ast.walk(method)
        if isinstance(node, ast.Name) and node.id != method.name
    }
    entries = [method for method in methods if method.name not in called and not method.name.startswith("_")]
    if len(entries) != 1:
        raise NotRecorded(f"{len(entries)} methods of its class {_CLASS} may be the one that is asked for")
    arguments = entries[0].args
    if arguments.vararg or arguments.kwarg or arguments.posonlyargs or arguments.kwonlyargs:
        raise NotRecorded("its method has other than plain parameters")
    return entries[0]


class _Lift(ast.NodeTransformer):
    """Takes ``self`` away."""

    def __init__(self, members: set[str], taken: set[str]) -> None:
        self._members, self._taken = members, taken
        self._self = ""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """The outermost ones are methods: without ``self`` and without ``staticmethod``."""
        if self._self:
            return self.generic_visit(node)
        static = [name for name in node.decorator_list if isinstance(name, ast.Name) and name.id == "staticmethod"]
        if not static and not node.args.args:
            raise NotRecorded("a method takes no self")
        self._self = _CLASS if static else node.args.args[0].arg
        node.args.args = node.args.args if static else node.args.args[1:]
        node.decorator_list = [name for name in node.decorator_list if name not in static]
        lifted = self.generic_visit(node)
        self._self = ""
        return lifted

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        """``self.name`` as ``name``."""
        if not (isinstance(node.value, ast.Name) and node.value.id in {self._self, _CLASS}):
            return self.generic_visit(node)
        if not isinstance(node.ctx, ast.Load) or node.attr not in self._members:
            raise NotRecorded(f"it keeps state on self ({node.attr})")
        if node.attr in self._taken:
            raise NotRecorded(f"the name {node.attr} means two things")
        return ast.Name(id=node.attr, ctx=ast.Load())

    def visit_Name(self, node: ast.Name) -> ast.AST:
        """``self`` itself cannot be taken away."""
        if self._self and node.id in {self._self, _CLASS}:
            raise NotRecorded("it passes self on")
        return node


# ---------- The user's own collected submissions as execution rows, in the schema of the set LeetCode 431-467.
# After akshsgaur/code-reasoning-repro@6c43fa8 src/datasets/leetcode/build_dataset.py: up to three submissions a
# question, the first example only, the contest's date computed from its number. Nothing is collected here.

_FIRST_CONTEST, _FIRST_DATE = 431, datetime.date(2025, 1, 5)


class LeetcodeOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What to build."""

    per_question: int = 3
    """Submissions kept of each question."""


class _Item(msgspec.Struct, frozen=True):
    submission: LeetCodeSubmission
    solution: Solution
    recorded: RecordedCalls


def build(
    submissions: Sequence[LeetCodeSubmission],
    options: LeetcodeOptions,
    executor: Executor,
    witness: Executor,
    *,
    workers: int = 1,
) -> Iterator[ExecutionRow | Refused]:
    """A row, or why there is none, for each submission, in order; a question's further ones are left out.

    Args:
        submissions: what the user collected.
        options: what to build.
        executor: runs the programs.
        witness: runs them again; give its programs another hash seed.
        workers: programs run at once.
    """
    kept: Counter[str] = Counter()
    seen: set[str] = set()
    items = in_order(submissions, lambda submission: _item(submission, executor, witness), workers=workers)
    for submission, item in zip(submissions, items, strict=True):
        question = f"{submission.contest_id} {submission.question_id}"
        if kept[question] >= options.per_question:
            continue
        if isinstance(item, Refused):
            yield item
            continue
        key = identity(item.solution.program) + question
        if key in seen:
            yield Refused(_name(submission), "the same program was submitted before")
            continue
        seen.add(key)
        yield _row(item, kept[question])
        kept[question] += 1


def contest_date(contest: str | int | None) -> str | None:
    """Day of a weekly contest: 2025-01-05 for number 431, and seven days more for each after it."""
    if contest is None or not str(contest).isdigit():
        return None
    try:
        return (_FIRST_DATE + datetime.timedelta(days=7 * (int(contest) - _FIRST_CONTEST))).isoformat()
    except OverflowError:
        return None


def _item(submission: LeetCodeSubmission, executor: Executor, witness: Executor) -> _Item | Refused:
    try:
        solution = plain_functions(submission.code)
        case = _first_example(submission.example, solution)
        return _Item(submission, solution, record(executor, witness, solution.program, solution.function, [case]))
    except NotRecorded as refusal:
        return Refused(_name(submission), str(refusal))


def _first_example(example: str | None, solution: Solution) -> RecordedCase:
    """The first values of an example, one a parameter: a JSON value a line, or ``nums = [1, 2], k = 3``."""
    if not example:
        raise NotRecorded("its question has no example")
    wanted = solution.parameters
    values: list[Any] = []
    try:
        values = [json.loads(line) for line in example.splitlines() if line.strip()]
    except (ValueError, RecursionError):
        named = parse_arguments(example)
        if named is not None and not named[0] and named[1].keys() == set(wanted):
            values = [named[1][name] for name in wanted]
    if len(values) < len(wanted):
        raise NotRecorded(f"its example {example[:60]!r} does not give a value for each of {', '.join(wanted)}")
    return RecordedCase(kwargs=dict(zip(wanted, values, strict=False)))


def _name(submission: LeetCodeSubmission) -> str:
    return f"question {submission.question_id}, submission {submission.submission_id}"


def _row(item: _Item, number: int) -> ExecutionRow:
    submission, solution = item.submission, item.solution
    contest = "" if submission.contest_id is None else f"contest{submission.contest_id}_"
    return ExecutionRow(
        id=f"{contest}q{submission.question_id}_s{number}",
        function_name=solution.function,
        code=solution.program,
        input=item.recorded.calls[0],
        output=item.recorded.outputs[0],
        correct_condition=item.recorded.conditions[0],
        question_id=submission.question_id,
        difficulty=submission.difficulty,
        contest_id=submission.contest_id,
        contest_date=contest_date(submission.contest_id),
        submission_id=submission.submission_id,
        metrics={"loc": sum(bool(line.strip()) for line in solution.program.splitlines()), "coverage": None},
    )
