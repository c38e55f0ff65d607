"""Execution rows from a repository: its functions, the calls that stand in it, and their arguments.

Which arguments a function is called with: those that make it go ways that others do not.

Candidates are the calls that stand in its repository and drawn ones. All are watched in the jail; those that go a
way not gone before are varied, and of all that were answered the ones are chosen that together go the most ways.
"""

from __future__ import annotations

import ast
import doctest
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from random import Random
from typing import Any

import msgspec

from truegrade.builders.mine_repository import Function, Repository, RepositoryModule
from truegrade.builders.mine_shapes import Drawer, Parameter, parameters_of, vocabulary_of
from truegrade.builders.mutation.file import is_askable
from truegrade.builders.mutation.mutants import MutationOptions
from truegrade.builders.mutation.observing import NOT_RUN, Arc, observe_calls
from truegrade.datasets.executions import ExecutionRow, NotRecorded, RecordedCalls, RecordedCase, Refused, record
from truegrade.datasets.identity import identity
from truegrade.datasets.literal_text import call_text, literal_text
from truegrade.extraction.parsing import Fault, evaluate, parse_module
from truegrade.files.threads import in_order
from truegrade.grading.executor import Executor
from truegrade.records import sha256_json

# --------- Calls with literal arguments that stand in a repository: in doctests, in tests, in other functions.


Names = Mapping[str, Any]

MOST_OF_A_FUNCTION = 60
"""Examples kept of one function."""
_MOST_CHARS = 300
_MOST_ROWS = 30
"""Rows read of one table of tests."""
_MOST_ITEMS = 20
"""Of a ``range``."""


def literal_calls(trees: Iterable[ast.Module], functions: set[str]) -> dict[str, list[RecordedCase]]:
    """Different calls of each function, in the order in which they stand; arguments may be names of literals.

    Args:
        trees: modules.
        functions: names to look for, called as they are or as an attribute of anything.
    """
    found: dict[str, dict[str, RecordedCase]] = {}
    for tree in trees:
        for name, example in _Reader(functions).read(tree):
            text = call_text(name, example.args, example.kwargs)
            kept = found.setdefault(name, {})
            if text is not None and len(text) <= _MOST_CHARS and len(kept) < MOST_OF_A_FUNCTION:
                kept.setdefault(text, example)
    return {name: list(kept.values()) for name, kept in found.items()}


class _Reader:
    """Walks statements in order and remembers which names hold literals."""

    def __init__(self, functions: set[str]) -> None:
        self._functions = functions

    def read(self, tree: ast.Module) -> Iterator[tuple[str, RecordedCase]]:
        """All calls of a module, those in its docstrings first."""
        for node in ast.walk(tree):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
                yield from self._doctest(ast.get_docstring(node, clean=True) or "")
        yield from self._block(tree.body, {})

    def _doctest(self, text: str) -> Iterator[tuple[str, RecordedCase]]:
        if ">>>" not in text:
            return
        try:
            source = "".join(example.source for example in doctest.DocTestParser().get_examples(text))
        except ValueError:
            return
        tree = parse_module(source)
        if not isinstance(tree, Fault):
            yield from self._block(tree.body, {})

    def _block(self, body: list[ast.stmt], known: Names) -> Iterator[tuple[str, RecordedCase]]:
        names = dict(known)
        for node in body:
            match node:
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    yield from self._calls(value, names)
                    names.pop(name, None)
                    names.update(_bound(ast.Name(name), value, names))
                case ast.FunctionDef(body=inner):
                    for row in [names, *_parametrized(node, names)]:
                        yield from self._block(inner, row)
                case ast.For(target=target, iter=ast.List() | ast.Tuple() as table, body=inner):
                    for item in table.elts[:_MOST_ROWS]:
                        yield from self._block(inner, {**names, **_bound(target, item, names)})
                case ast.ClassDef(body=inner) | ast.With(body=inner) | ast.For(body=inner):
                    yield from self._block(inner, names)
                case _:
                    yield from self._calls(node, names)

    def _calls(self, tree: ast.AST, names: Names) -> Iterator[tuple[str, RecordedCase]]:
        for node in ast.walk(tree):
            match node:
                case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)) if name in self._functions:
                    try:
                        args = tuple(_value(each, names) for each in node.args)
                        kwargs = {str(each.arg): _value(each.value, names) for each in node.keywords}
                    except (ValueError, TypeError):
                        continue
                    if "None" not in kwargs:  # `**options`
                        yield name, RecordedCase(args, kwargs)


def _parametrized(function: ast.FunctionDef, names: Names) -> Iterator[Names]:
    """What names hold in each row of a ``parametrize`` decorator."""
    for decorator in function.decorator_list:
        match decorator:
            case ast.Call(
                func=ast.Attribute(attr="parametrize"), args=[first, ast.List() | ast.Tuple() as table, *_]
            ):
                try:
                    spelled = evaluate(first)
                except (ValueError, TypeError):
                    continue
                listed = spelled.replace(" ", "").split(",") if isinstance(spelled, str) else [*map(str, spelled)]
                target = ast.Tuple([ast.Name(name) for name in listed]) if len(listed) > 1 else ast.Name(listed[0])
                for row in table.elts[:_MOST_ROWS]:
                    yield {**names, **_bound(target, row, names)}


def _bound(target: ast.expr, value: ast.expr, names: Names) -> dict[str, Any]:
    """The names that an assignment binds to literals."""
    match target, value:
        case ast.Name(id=name), _:
            try:
                return {name: _value(value, names)}
            except (ValueError, TypeError):
                return {}
        case ast.Tuple(elts=targets) | ast.List(elts=targets), ast.Tuple(elts=values) | ast.List(elts=values):
            pairs = zip(targets, values, strict=False)
            return {name: held for each in pairs for name, held in _bound(*each, names).items()}
    return {}


def _value(node: ast.expr, names: Names) -> Any:
    """A literal, a name that holds one, or a small ``range`` or ``iter`` of one, as a list.

    Raises:
        NotALiteralError: it is something else.
        ValueError, TypeError: it cannot be a range or a list.
    """
    match node:
        case ast.Name(id=name) if name in names:
            return names[name]
        case ast.Call(func=ast.Name(id="range"), args=args, keywords=[]) if args:
            bounds = [evaluate(each) for each in args]
            if all(type(bound) is int for bound in bounds) and len(range(*bounds)) <= _MOST_ITEMS:
                return [*range(*bounds)]
        case ast.Call(func=ast.Name(id="iter" | "list" | "tuple"), args=[inner], keywords=[]):
            return list(_value(inner, names))
    return evaluate(node)


# ----------------------------------------------------------------------------------------------------------------
# Pure functions of a repository, each as a program of its own. Nothing is imported or run: only trees are read.
# Pure means, as far as a tree can tell: a function of a module's top level or a static method, without ``global``
# and ``await``, that reads nothing but its parameters, built-ins that touch nothing outside, modules of a short
# list, and constants, classes and functions of the repository that are pure in the same sense. What a tree cannot
# tell (state in a default value, the order of a set) shows when the program is run twice.


class FoundFunction(msgspec.Struct, frozen=True, kw_only=True):
    """A function that may become an item."""

    function: str
    program: str
    """The function with what it needs, without docstrings and comments."""
    file: str
    """Relative to the folder that was searched."""
    line: int
    """1-based."""
    parameters: tuple[Parameter, ...]
    examples: tuple[RecordedCase, ...]
    """Calls of it with literal arguments that stand in its repository, in doctests, tests and callers."""

    @property
    def place(self) -> str:
        """Where it stands, for a person."""
        return f"{self.file}:{self.line} {self.function}"


def discover(path: Path) -> Iterator[FoundFunction | Refused]:
    """The functions of a file, or of all Python files below a folder, in the order of their names.

    Raises:
        UserError: there is nothing at that path.
    """
    repository = Repository(path)
    yield from repository.refused
    names = {function.name for module in repository.modules for function in module.functions()}
    examples = literal_calls((module.tree for module in repository.modules), names)
    for module in repository.modules:
        for function in module.functions():
            yield _looked_at(repository, module, function, tuple(examples.get(function.name, ())))


def _looked_at(
    repository: Repository, module: RepositoryModule, function: Function, examples: tuple[RecordedCase, ...]
) -> FoundFunction | Refused:
    place = f"{module.file}:{function.lineno} {function.name}"
    try:
        parameters = parameters_of(function, module.stubs.get(function.name), module.aliases)
        program = repository.program(module, function)
    except (NotRecorded, RecursionError, SyntaxError) as refusal:
        return Refused(place, str(refusal))
    return FoundFunction(
        function=function.name,
        program=program,
        file=module.file,
        line=function.lineno,
        parameters=parameters,
        examples=examples,
    )


_DRAWN, _VARIED = 48, 48
"""Calls drawn at first, and varied from the best of them."""
_MAX_ARGUMENT_CHARS = 200
"""Characters of one call."""
_MOST_DRAWS = 4
"""Times that calls are drawn while too few are answered."""
_WATCH = MutationOptions(cpu_s=2.0, max_steps=5_000)
"""How a call is watched; one that takes more events is no item. All calls of a process together stay far below the
CPU limit, or what is chosen would hang on the machine."""


_OPAQUE = re.compile(r"<[\w.]+ object |dict_")


class Opaque(NotRecorded):
    """Every call returns an object, such as an iterator; a list of what it yields may be a literal."""


class TriedCall(msgspec.Struct, frozen=True):
    """A call that returned a literal."""

    case: RecordedCase
    text: str
    """What it returned."""
    arcs: frozenset[Arc]
    """Its way: steps from line to line."""

    @property
    def is_telling(self) -> bool:
        """Whether it returned something else than one of its arguments."""
        return self.text not in map(literal_text, (*self.case.args, *self.case.kwargs.values()))


def choose_cases(found: FoundFunction, wanted: int, seed: int, executor: Executor) -> list[RecordedCase]:
    """Different calls of a function, ``wanted`` of them.

    Raises:
        NotRecorded: too few were answered, all alike, or each with one of its own arguments.
    """
    drawer = Drawer(Random(_seed(found, seed)), vocabulary_of(found.program))
    trial = _Trial(found, executor)
    trial.run(found.examples)
    for _ in range(_MOST_DRAWS):
        trial.run(drawer.case(found.parameters) for _ in range(_DRAWN))
        if len(trial.answered) > wanted:
            break
    bases = [one.case for one in trial.ways() if one.case.args or one.case.kwargs]
    if bases:
        trial.run(drawer.varied(bases[number % len(bases)], found.parameters) for number in range(_VARIED))
    answered = trial.answered
    if not answered and trial.is_opaque:
        raise Opaque("it returns an object that is no literal")
    if len(answered) < wanted:
        raise NotRecorded(f"too few calls return a literal: one {trial.why}")
    if len({one.text for one in answered}) < 2 or not any(one.is_telling for one in answered):
        raise NotRecorded(f"it returns one thing, or only what it was given: {answered[0].text[:60]}")
    return [one.case for one in _most_ways(answered, wanted)]


def _seed(found: FoundFunction, seed: int) -> int:
    """A seed of its own for each program, so that one more function changes no other's inputs."""
    return int(sha256_json([seed, found.program])[:12], 16)


class _Trial:
    """What became of the calls tried so far."""

    def __init__(self, found: FoundFunction, executor: Executor) -> None:
        self._found, self._executor = found, executor
        self._seen: set[str] = set()
        self.answered: list[TriedCall] = []
        self.why = "none could be drawn"
        self.is_opaque = self.gave_up = False

    def run(self, cases: Iterable[RecordedCase]) -> None:
        """Try calls that were not tried before."""
        fresh = dict(self._fresh(cases))
        if not fresh or self.gave_up:
            return
        for (_, case), seen in zip(
            fresh.items(), observe_calls(self._executor, self._found.program, list(fresh), _WATCH), strict=True
        ):
            if seen.kind == "value" and is_askable(seen.text):
                self.answered.append(TriedCall(case, seen.text, seen.arcs))
            else:
                self.gave_up = self.gave_up or seen.kind == NOT_RUN
                self.is_opaque = self.is_opaque or _OPAQUE.match(seen.text) is not None
                self.why = f"{seen.kind} {seen.text[:60]}".replace("value", "returned")

    def _fresh(self, cases: Iterable[RecordedCase]) -> Iterator[tuple[str, RecordedCase]]:
        for case in cases:
            text = call_text(self._found.function, case.args, case.kwargs)
            if text is not None and len(text) <= _MAX_ARGUMENT_CHARS and text not in self._seen:
                self._seen.add(text)
                yield text, case

    def ways(self) -> list[TriedCall]:
        """The first call of each way."""
        first: dict[Any, TriedCall] = {}
        for one in self.answered:
            first.setdefault(one.arcs, one)
        return list(first.values())


def _most_ways(answered: list[TriedCall], wanted: int) -> list[TriedCall]:
    """One after the other the call that adds most: a new output, steps not gone before, another way.

    The first returns something else than its arguments; of equals the one that was tried last, the less simple.
    """
    chosen: list[TriedCall] = []
    steps: set[Arc] = set()
    while len(chosen) < wanted:
        ways, texts = {one.arcs for one in chosen}, {one.text for one in chosen}
        best = max(
            (one for one in reversed(answered) if one not in chosen),
            key=lambda one: (
                one.is_telling or bool(chosen),
                one.text not in texts,
                len(one.arcs - steps),
                one.arcs not in ways,
                one.is_telling,
            ),
        )
        chosen.append(best)
        steps |= best.arcs
    return chosen


# ---- Fresh private items: pure functions of the user's own code, arguments, and what they return in the jail.


class MineOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What to build."""

    inputs: int = 3
    """Cases of a function."""
    seed: int = 0
    size: int | None = None
    """Rows at most; None for all."""


def build(
    path: Path, options: MineOptions, executor: Executor, witness: Executor, *, workers: int = 1
) -> Iterator[ExecutionRow | Refused]:
    """A row, or why there is none, for each function of a file or repository.

    Args:
        path: a Python file, or a folder of them.
        options: what to build.
        executor: runs the programs; nothing of the user's code runs anywhere else.
        witness: runs them again; give its programs another hash seed.
        workers: programs run at once.

    Raises:
        UserError: there is nothing at the path.
    """
    found: list[FoundFunction] = []
    seen: dict[str, str] = {}
    for each in discover(path):
        if isinstance(each, Refused):
            yield each
        elif (known := seen.setdefault(identity(each.program), each.place)) != each.place:
            yield Refused(each.place, f"it is the same program as another: {known}")
        else:
            found.append(each)
    made = 0
    for recorded in in_order(found, lambda each: _recorded(each, options, executor, witness), workers=workers):
        if isinstance(recorded, Refused):
            yield recorded
        elif options.size is None or made < options.size:
            yield _row(made, *recorded)
            made += 1


def _recorded(
    found: FoundFunction, options: MineOptions, executor: Executor, witness: Executor
) -> tuple[FoundFunction, RecordedCalls] | Refused:
    try:
        try:
            cases = choose_cases(found, options.inputs, options.seed, executor)
        except Opaque:
            found = _as_list(found)
            cases = choose_cases(found, options.inputs, options.seed, executor)
        return found, record(executor, witness, found.program, found.function, cases)
    except NotRecorded as refusal:
        return Refused(found.place, str(refusal))


def _as_list(found: FoundFunction) -> FoundFunction:
    """A function that returns what another one yields, as a list."""
    name = f"{found.function}_as_list"
    program = (
        f"{found.program}\ndef {name}(*args, **kwargs):\n    return list({found.function}(*args, **kwargs))\n"
    )
    return msgspec.structs.replace(found, function=name, program=program)


def _row(number: int, found: FoundFunction, recorded: RecordedCalls) -> ExecutionRow:
    return ExecutionRow(
        id=f"mine_{number}",
        function_name=found.function,
        code=found.program,
        input=recorded.calls,
        output=recorded.outputs,
        correct_condition=recorded.conditions,
        arity=len(found.parameters),
        metrics={"loc": len(found.program.splitlines())},
        metadata={"source": "truegrade mine", "file": found.file, "line": found.line},
    )
