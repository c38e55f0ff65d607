"""From a tree to rows: what becomes of each function, kind by kind, resumed where it was stopped."""

from __future__ import annotations

import hashlib
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Literal, TypeVar, get_args

import msgspec

from truegrade.apps.repository.deciding_mutants import LEAST_STRENGTH, StrengthFloor
from truegrade.apps.repository.functions import (
    FunctionPlace,
    ParsedModule,
    Recording,
    list_functions,
    record_tests,
)
from truegrade.apps.repository.hidden_behaviour import HIDDEN
from truegrade.apps.repository.outside import Decided, TreeLiterals, decide_by_calls
from truegrade.apps.repository.own_tests import TestSide, decide_by_tests
from truegrade.apps.repository.packing import Package
from truegrade.apps.repository.problems import DECIDED_KINDS, Decider, prediction_row, problem_rows
from truegrade.apps.repository.programs import Repository
from truegrade.apps.repository.replaying import TwoJails
from truegrade.apps.repository.source import (
    SourceTree,
    compiled_files,
    imported_tops,
    installed_packages,
    packages_with_tests,
    read_modules,
)
from truegrade.datasets.executions import ExecutionRow, NotRecorded, Refused, write_content
from truegrade.datasets.identity import identity
from truegrade.errors import UserError
from truegrade.files.json_text import encode
from truegrade.files.running import telling
from truegrade.files.threads import in_order
from truegrade.records import sha256_json
from truegrade.sandbox import Limits, Sandbox
from truegrade.store.journal import Journal, Notice, ignore, read_journal

Kind = Literal["write", "repair", "complete", "predict"]
KINDS: tuple[Kind, ...] = get_args(Kind)
RECORDING_SECONDS = 300.0
"""CPU seconds of the run of the tests."""
_CPU_S = 10.0
_MEMORY = 1 << 30
RECORDED_BYTES = 64 << 20
PROCESSES = 32
"""That forks and the programs which tests start may be at once."""
_PARTS = "parts.jsonl"
BY_CALLS = "; by calls: "
"""Between why tests do not decide about a function and why calls do not."""
_TRIED = 4
"""Times as many functions as rows that are wanted, of which these are made at first."""


class RepositoryOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What to build."""

    kinds: tuple[Kind, ...] = KINDS
    size: int | None = None
    """Rows of each kind, of functions drawn by the seed; None for all there are."""
    seed: int = 0
    """Of generated and drawn calls, and of the functions drawn."""
    inputs: int = 3
    """Calls of a problem of kind *predict*."""
    least: float = LEAST_STRENGTH
    """Share of mutants that what decides has to refuse."""


class PartOfFunction(msgspec.Struct, frozen=True, kw_only=True):
    """What a journal keeps of one function."""

    key: str
    """Of the work (`key_of`): another tree, other options, another program or another sandbox have another."""
    id: str
    line: int


_Part = TypeVar("_Part", bound=PartOfFunction)


class FunctionPart(PartOfFunction, frozen=True, kw_only=True):
    """What became of one function, as the journal of a build keeps it."""

    rows: dict[str, str]
    """By kind, as one line of JSON."""
    left_out: dict[str, str]
    """By kind, why there is no row."""


SuiteRefusals = Mapping[tuple[str, int], Mapping[str, str]]
"""By id and line of a function, and by mutant, the first test that refuses it; empty where none does."""


class RecordingPart(msgspec.Struct, frozen=True, kw_only=True):
    """The run of the tests, as the journal of a build keeps it."""

    key: str
    recording: Recording


class Inventory(msgspec.Struct, frozen=True, kw_only=True):
    """What the tree and the run of its tests show, before any problem is made."""

    tree: SourceTree
    modules: tuple[ParsedModule, ...]
    recording: Recording
    functions: tuple[FunctionPlace, ...]
    unreadable: tuple[Refused, ...]
    compiled: tuple[str, ...]
    """Paths of extension modules and their sources, whose functions nothing records."""

    @property
    def reached(self) -> int:
        """Functions that a test reaches."""
        return sum(function.seen is not None for function in self.functions)


class BuiltFunctions(msgspec.Struct, frozen=True, kw_only=True):
    """The rows of a build."""

    rows: dict[Kind, list[str]]
    left_out: list[tuple[Kind, Refused]]

    def tiers(self, kind: Kind) -> dict[str, int]:
        """How many rows of a kind each tier decides; empty where rows have none."""
        tags = (msgspec.json.decode(row, type=_Tagged).tags for row in self.rows[kind])
        return dict(sorted(Counter(each["tier"] for each in tags if "tier" in each).items(), reverse=True))

    def hiding(self, kind: Kind) -> int:
        """How many rows of a kind ask for what their prompt does not tell."""
        return sum(msgspec.json.decode(row, type=_Tagged).tags.get(HIDDEN) == "yes" for row in self.rows[kind])

    def strength(self, kind: Kind) -> dict[str, float]:
        """Of mutants that chose nothing: how many there are, and the shares that what decides about rows of a kind
        and the whole suite refuse; empty where rows have none."""
        tags = [msgspec.json.decode(row, type=_Tagged).tags for row in self.rows[kind]]
        measured = [one for one in tags if "strength_of_suite" in one]
        count = sum(int(one["mutants"]) for one in measured)
        if not count:
            return {}
        shares = {
            name: sum(float(one[name]) * int(one["mutants"]) for one in measured) / count
            for name in ("strength", "strength_of_suite")
        }
        return {"mutants": count, **shares}


class _Tagged(msgspec.Struct):
    tags: dict[str, str] = {}


def take_inventory(
    tree: SourceTree, folder: Path, *, allow_unsafe: bool = False, notice: Notice = ignore
) -> Inventory:
    """Run a tree's tests once under the recorder, or read what an earlier run in the folder recorded.

    Args:
        tree: the repository.
        folder: where results lie.
        allow_unsafe: as `Sandbox` takes it.
        notice: told before the tests run.

    Raises:
        UserError: the tree holds no Python.
        SandboxError: the machine failed.
    """
    files, unreadable = read_modules(tree)
    if not files:
        raise UserError(f"{tree.name}: no Python module of a package that can be read")
    limits = Limits(
        packages=packages_with_tests(tree),
        cpu_s=RECORDING_SECONDS,
        output_bytes=RECORDED_BYTES,
        processes=PROCESSES,
    )
    kept = folder / "recording.json"
    with Sandbox(limits, 1, allow_unsafe=allow_unsafe) as sandbox:
        key = key_of(tree, sandbox, "recording")
        recording = _kept_recording(kept, key)
        if recording is None:
            notice(f"the tests of {tree.name} run once, recorded, for at most {RECORDING_SECONDS:g} CPU seconds")
            with telling(notice, "the tests", f"{RECORDING_SECONDS:g} CPU seconds"):
                recording = record_tests(tree, files, sandbox, RECORDING_SECONDS)
            write_content(kept, encode(RecordingPart(key=key, recording=recording)))
    modules = tuple(ParsedModule(file) for file in files)
    return Inventory(
        tree=tree,
        modules=modules,
        recording=recording,
        functions=tuple(list_functions(modules, recording)),
        unreadable=tuple(unreadable),
        compiled=tuple(compiled_files(tree)),
    )


def finished_parts(path: Path, kind: type[_Part], key: str, notice: Notice) -> dict[tuple[str, int], _Part]:
    """What a journal holds of the same work, by id and line of the function."""
    return {(one.id, one.line): one for one in read_journal(path, kind, notice=notice) if one.key == key}


def _kept_recording(path: Path, key: str) -> Recording | None:
    try:
        part = msgspec.json.decode(path.read_bytes(), type=RecordingPart)
    except (OSError, msgspec.DecodeError):
        return None
    return part.recording if part.key == key else None


def key_of(tree: SourceTree, sandbox: Sandbox, *asked: object) -> str:
    """Of a piece of work: all that decides its result."""
    code = [path.read_bytes() for path in sorted(Path(__file__).parent.glob("*.py"))]
    program = hashlib.sha256(b"".join(code)).hexdigest()
    return sha256_json([tree.sha256, tree.commit, sandbox.conditions, sys.version, program, *map(str, asked)])


def build_functions(
    inventory: Inventory,
    options: RepositoryOptions,
    folder: Path,
    suite: SuiteRefusals = MappingProxyType({}),
    *,
    workers: int | None = None,
    allow_unsafe: bool = False,
    progress: Callable[[], object] = lambda: None,
    notice: Notice = lambda sentence: None,
) -> BuiltFunctions:
    """Make the problems of every function; functions that an earlier run in the folder finished are read.

    Args:
        inventory: of the tree.
        options: what to build.
        folder: where results lie.
        suite: what the repository's own tests make of mutants; a problem has to refuse nearly as many.
        workers: programs run at once.
        allow_unsafe: as `Sandbox` takes it.
        progress: told of each function.
        notice: told of damaged lines of the journal.

    Raises:
        SandboxError: the machine failed.
    """
    with two_jails(inventory, workers, allow_unsafe=allow_unsafe) as (first, second):
        key = key_of(inventory.tree, first, options.kinds, options.seed, options.inputs, options.least)
        work = _FunctionWork(inventory, options, suite, TwoJails(first, second), key)
        path = folder / _PARTS
        earlier = {(one.id, one.line, one.key): one for one in read_journal(path, FunctionPart, notice=notice)}
        parts: list[FunctionPart] = []
        counts = dict.fromkeys(options.kinds, 0)
        lock = threading.Lock()
        with Journal[FunctionPart](path, notice=notice, fsync_every=1) as journal:

            def made(function: FunctionPlace) -> FunctionPart:
                if (part := earlier.get((function.id, function.node.lineno, work.key(function)))) is None:
                    part = work.part(function)
                    with lock:  # not in order: what is finished behind a slow function outlives a kill
                        journal.append(part)
                return part

            for part in in_order(_drawn(inventory.functions, options), made, workers=first.workers):
                parts.append(part)
                progress()
                for kind in part.rows:
                    counts[kind] += 1  # type: ignore[index]  # kinds of the options
                if options.size is not None and min(counts.values()) >= options.size:
                    break
    return _in_the_order_of(inventory.functions, parts, options)


@contextmanager
def two_jails(
    inventory: Inventory, workers: int | None, *, allow_unsafe: bool
) -> Iterator[tuple[Sandbox, Sandbox]]:
    """Sandboxes in which functions of a tree may be called, of two hash seeds."""
    limits = Limits(packages=packages_with_tests(inventory.tree), cpu_s=_CPU_S, memory_bytes=_MEMORY)
    with (
        Sandbox(limits, workers, allow_unsafe=allow_unsafe) as first,
        Sandbox(limits, workers, allow_unsafe=allow_unsafe, hash_seed=1) as second,
    ):
        yield first, second


def drawn_parts(inventory: Inventory, options: RepositoryOptions) -> Iterator[Inventory]:
    """The functions of which rows are made: all, or where fewer rows are wanted some that are drawn, then more."""
    if options.size is None:
        yield inventory
        return
    drawn, taken = _drawn(inventory.functions, options), _TRIED * options.size
    while taken < len(drawn):
        some = {(one.id, one.node.lineno) for one in drawn[:taken]}
        kept = tuple(one for one in inventory.functions if (one.id, one.node.lineno) in some)
        yield msgspec.structs.replace(inventory, functions=kept)
        taken *= 2
    yield inventory


def _drawn(functions: Sequence[FunctionPlace], options: RepositoryOptions) -> list[FunctionPlace]:
    """The functions in the order in which they are tried: as they stand, or drawn where not all are wanted."""
    if options.size is None:
        return list(functions)
    return sorted(functions, key=lambda function: sha256_json([options.seed, function.id]))


def _in_the_order_of(
    functions: Sequence[FunctionPlace], parts: Sequence[FunctionPart], options: RepositoryOptions
) -> BuiltFunctions:
    """The rows as their functions stand in the tree; no more of a kind than asked for, no program twice."""
    rows: dict[Kind, list[tuple[int, str]]] = {kind: [] for kind in options.kinds}
    left_out: list[tuple[Kind, Refused]] = []
    places = {(one.id, one.node.lineno): (number, one.place) for number, one in enumerate(functions)}
    programs: dict[str, str] = {}
    for part in parts:
        number, place = places[part.id, part.line]
        for kind in options.kinds:
            if kind not in part.rows:
                left_out.append((kind, Refused(place, part.left_out[kind])))
                continue
            other = place
            if kind == "predict":
                program = msgspec.json.decode(part.rows[kind], type=ExecutionRow).code
                other = programs.setdefault(identity(program), place)
            if other != place:
                left_out.append((kind, Refused(place, f"it is the same program as another: {other}")))
            elif options.size is None or len(rows[kind]) < options.size:
                rows[kind].append((number, part.rows[kind]))
    return BuiltFunctions(
        rows={kind: [row for _, row in sorted(found)] for kind, found in rows.items()}, left_out=left_out
    )


class _FunctionWork:
    """What is done for each function."""

    def __init__(
        self, inventory: Inventory, options: RepositoryOptions, suite: SuiteRefusals, jails: TwoJails, key: str
    ) -> None:
        tree = inventory.tree
        self._tree, self._options, self._jails, self._key = tree, options, jails, key
        self._suite = suite
        self._package = Package(inventory.modules)
        self._modules = inventory.modules
        self._literals = TreeLiterals(tree.files)
        stubs = {
            path: text.decode("utf-8", "replace") for path, text in tree.files.items() if path.endswith(".pyi")
        }
        self._repository = Repository(inventory.modules, stubs)
        self._why_unrecorded = inventory.recording.why_none

    @cached_property
    def _side(self) -> TestSide:
        """Made when it is needed: it parses every test."""
        return TestSide(self._tree, self._modules)

    def part(self, function: FunctionPlace) -> FunctionPart:
        """The rows of a function and why there are no others."""
        rows: dict[str, str] = {}
        left_out: dict[str, str] = {}
        if "predict" in self._options.kinds:
            try:
                asked = self._options
                row = prediction_row(function, self._repository, self._jails, asked.inputs, asked.seed)
                rows["predict"] = encode(row).decode()
            except (NotRecorded, *_UNWORKABLE) as refusal:
                left_out["predict"] = _why(refusal)
        for kind, made in self._decided(function):
            if isinstance(made, str):
                left_out[kind] = made
            else:
                rows[kind] = made.decode()
        key = self.key(function)
        return FunctionPart(key=key, id=function.id, line=function.node.lineno, rows=rows, left_out=left_out)

    def key(self, function: FunctionPlace) -> str:
        """Of the work, with what the suite makes of the function's mutants."""
        return sha256_json([self._key, sorted(self._suite.get((function.id, function.node.lineno), {}).items())])

    def _decided(self, function: FunctionPlace) -> Iterator[tuple[str, bytes | str]]:
        """Each kind that calls decide, or else the tests, with its row or why there is none."""
        kinds = [kind for kind in DECIDED_KINDS if kind in self._options.kinds]
        if not kinds:
            return
        try:
            decided: Decider = self._by_calls(function)
        except (NotRecorded, *_UNWORKABLE) as refusal:
            outside = _why(refusal)
            try:
                seed, floor = self._options.seed, self._floor(function)
                decided = decide_by_tests(function, self._side, self._tree, self._jails, seed, floor)
            except (NotRecorded, *_UNWORKABLE) as other:
                why = _why(other)
                told = why if why == outside or function.seen is None else f"{why}{BY_CALLS}{outside}"
                yield from ((kind, told) for kind in kinds)
                return
        tops = imported_tops(self._package.texts(function.module.dotted))
        packages = installed_packages(tops, self._tree.name)
        for kind, row in problem_rows(decided, self._tree, packages, kinds, self._jails.first):
            yield kind, row if isinstance(row, str) else encode(row)

    def _by_calls(self, function: FunctionPlace) -> Decided:
        why = function.why_not_outside()
        if not function.outside_obstacle and self._why_unrecorded:
            why = "nothing was recorded"
        if why:
            raise NotRecorded(why)
        seed, floor = self._options.seed, self._floor(function)
        return decide_by_calls(function, self._package, self._literals, self._jails, seed, floor)

    def _floor(self, function: FunctionPlace) -> StrengthFloor:
        whole = self._suite.get((function.id, function.node.lineno), {})
        return StrengthFloor(least=self._options.least, whole=whole)


_UNWORKABLE = (RecursionError, SyntaxError, ValueError)
"""What trees raise that are nested too deeply, or that no text can be written of."""


def _why(refusal: Exception) -> str:
    if isinstance(refusal, NotRecorded):
        return str(refusal)
    return f"its tree cannot be worked on: {type(refusal).__name__}: {refusal}"
