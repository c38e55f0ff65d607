"""How strong a repository's tests are: which mutants of its functions they refuse, and which tests refuse any."""

from __future__ import annotations

import ast
import base64
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import msgspec
from msgspec import structs

from truegrade.apps.repository.build import (
    PROCESSES,
    RECORDED_BYTES,
    Inventory,
    PartOfFunction,
    finished_parts,
    key_of,
)
from truegrade.apps.repository.deciding_mutants import bare_mutants, without_body
from truegrade.apps.repository.functions import (
    AT_IMPORT,
    TEST_SECONDS,
    UNREACHED,
    FunctionPlace,
    asked_of_pytest,
    bare_function,
    laid_out,
)
from truegrade.apps.repository.jailed import runner_source
from truegrade.apps.repository.source import import_root, packages_with_tests
from truegrade.builders.mutation.mutants import Mutant
from truegrade.datasets.executions import write_content
from truegrade.errors import UserError
from truegrade.files import syntax
from truegrade.files.json_text import encode
from truegrade.files.running import telling
from truegrade.files.threads import in_order
from truegrade.sandbox import Limits, Sandbox
from truegrade.store.journal import Journal, Notice, ignore

MUTANTS = "mutants.jsonl"
"""The journal of an assay: a function a line."""
_SURVEY = "survey.json"
_SURVEY_SECONDS = 900.0
_BATCH = 120
"""Mutants of one call of the jail."""
_SLOW_S = 0.5
_STARTING_S = 10.0
"""Wall seconds of the tests that start processes, of which each function's mutants have to run all that fit."""
_NONE: Mapping[str, bytes] = MappingProxyType({})
NO_MUTANT = "no mutant of it can be made"
KILLED = frozenset({"killed", "time", "ended"})
"""What counts as killed: a test fails, takes too long, or its process ends."""


class StrengthOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What to measure."""

    seed: int = 0
    """Decides the mutants of a function that are tried, and generated calls."""
    most: int = 20
    """Mutants of each function."""
    processes: bool = True
    """Whether tests that start processes, which may reach any function, have to run every mutant as well: as long
    as two measures have no such tests, they are one."""


class TestSurvey(msgspec.Struct, frozen=True, kw_only=True):
    """How the tests end without any mutant."""

    key: str
    took: dict[str, tuple[float, float]] = {}
    """CPU and wall seconds of each test that passed in every order."""
    undecided: dict[str, str] = {}
    """Tests that did not, each with why: they decide nothing."""


class MutantResult(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a mutant."""

    id: str
    operator: str
    line: int
    """Of the original, in its file."""
    code: str
    """The definition, without decorators."""
    status: str
    """``killed``, ``time`` or ``ended`` (its process), ``survived``, ``not seen`` (no test refuses it in a process
    that has loaded the modules before), ``not applicable`` or ``undecided``."""
    by: str = ""
    """The first test that failed."""
    why: str = ""
    """Why it was not applicable, or is undecided."""


class FunctionResult(PartOfFunction, frozen=True, kw_only=True):
    """What became of the mutants of a function, as the journal keeps it."""

    place: str
    """For a person: path, line and name."""
    original: str = ""
    """In the layout of the mutants."""
    tests: tuple[str, ...] = ()
    """Tests that decided."""
    killers: tuple[str, ...] = ()
    """Of these, those that failed without its body or first on a mutant of it, and on nothing before."""
    mutants: tuple[MutantResult, ...] = ()
    why_none: str = ""
    """Why there are no mutants, or why those that no test was seen to refuse say nothing."""

    @property
    def counted(self) -> tuple[MutantResult, ...]:
        """Mutants that say how strong the tests are."""
        return () if self.why_none else self.mutants

    @property
    def killed(self) -> int:
        """Mutants that some test refuses."""
        return sum(one.status in KILLED for one in self.counted)

    @property
    def survivors(self) -> list[MutantResult]:
        """Mutants that every test accepts."""
        return [one for one in self.counted if one.status == "survived"]

    @property
    def decided(self) -> int:
        """Mutants that were killed or survived."""
        return self.killed + len(self.survivors)


class ToMeasure(msgspec.Struct, frozen=True, kw_only=True):
    """A function, its mutants and the tests that reach it, fastest first."""

    function: FunctionPlace
    original: str
    mutants: tuple[Mutant, ...]
    tests: tuple[str, ...]


class WarmTests:
    """The tests of a tree, collected once for each call and run in forks.

    Args:
        inventory: of the tree.
        sandbox: one of `open_sandbox`.
        others: files that are laid into the tree, by path, and whose tests are run instead of its own.
    """

    def __init__(self, inventory: Inventory, sandbox: Sandbox, others: Mapping[str, bytes] = _NONE) -> None:
        tree = inventory.tree
        laid = {**laid_out(tree), **others}
        own = asked_of_pytest(tree, [module.file for module in inventory.modules])
        self._sandbox = sandbox
        self._given = {
            "files": {path: base64.b85encode(content).decode() for path, content in laid.items()},
            "import_root": import_root(tree),
            "tests": [*others] or own,
            "test_seconds": TEST_SECONDS,
        }

    def survey(self, seed: int) -> dict[str, list[list[Any]]]:
        """How each test ended in three orders: a word, its CPU and wall seconds, the last line of its failure.

        A test that takes too long is run in the first order alone.

        Raises:
            UserError: pytest could not collect them.
            SandboxError: the machine failed.
        """
        told = self._told({"modules": [], "seed": seed}, _SURVEY_SECONDS)
        return told["tests"]  # type: ignore[no-any-return]  # by what runs in the jail

    def measure(
        self, places: Sequence[tuple[FunctionPlace, Sequence[str], Sequence[str]]],
        took: Mapping[str, tuple[float, float]],
    ) -> dict[str, Any]:  # fmt: skip
        """What becomes of variants of functions.

        Args:
            places: each function with the tests to run, in their order, and its variants.
            took: seconds of each test.

        Raises:
            UserError: the run did not end.
            SandboxError: the machine failed.
        """
        functions = [
            {
                "path": function.module.path, "line": function.first_line, "name": function.name,
                "tests": tests, "mutants": variants, "removed": without_body(function.node),
                "lines": (function.node.lineno, function.node.end_lineno), "column": function.node.col_offset,
            }
            for function, tests, variants in places
        ]  # fmt: skip
        used = {test for _, tests, _ in places for test in tests}
        asked = {
            "modules": sorted({function.module.dotted for function, _, _ in places}),
            "functions": functions,
            "took": {test: took[test] for test in used if test in took},
        }
        seconds = 120 + sum(
            (len(variants) + 1) * (12 + 2 * sum(took.get(test, (1, 1))[1] for test in tests))
            for _, tests, variants in places
        )
        return self._told(asked, seconds)

    def _told(self, asked: Mapping[str, Any], seconds: float) -> dict[str, Any]:
        text = json.dumps({**self._given, **asked})
        outcome = self._sandbox.script(runner_source("warm_tests"), text, wall_s=3 * seconds, cpu_s=seconds)
        try:
            told: dict[str, Any] = json.loads(outcome.stdout)
        except ValueError:
            last = outcome.detail or outcome.stderr.strip().rpartition("\n")[2]
            raise UserError(f"the tests did not end: {outcome.status}: {last}") from None
        if "why" in told:
            raise UserError(f"the tests cannot be collected: {told['why']}")
        return told


def open_sandbox(inventory: Inventory, workers: int | None, *, allow_unsafe: bool) -> Sandbox:
    """A sandbox in which the tests of a tree may run and fork."""
    packages = packages_with_tests(inventory.tree)
    limits = Limits(packages=packages, output_bytes=RECORDED_BYTES, processes=PROCESSES)
    return Sandbox(limits, workers, allow_unsafe=allow_unsafe)


def survey_tests(
    inventory: Inventory, sandbox: Sandbox, folder: Path, seed: int, *, notice: Notice = ignore
) -> TestSurvey:
    """Which tests pass in every order, run in the jail or read from what an earlier run in the folder wrote;
    ``notice`` is told every ten seconds that they still run.

    Raises:
        UserError: none does.
        SandboxError: the machine failed.
    """
    if inventory.recording.why_none:
        raise UserError(f"{inventory.tree.name}: {inventory.recording.why_none}")
    key = key_of(inventory.tree, sandbox, "survey", seed)
    try:
        kept = msgspec.json.decode((folder / _SURVEY).read_bytes(), type=TestSurvey)
    except (OSError, msgspec.DecodeError):
        kept = None
    if kept is None or kept.key != key:
        with telling(notice, "the tests, in three orders,", f"{_SURVEY_SECONDS:g} CPU seconds"):
            kept = _survey_of(WarmTests(inventory, sandbox).survey(seed), key)
        write_content(folder / _SURVEY, encode(kept))
    if not kept.took:
        first = next((f"{name}: {why}" for name, why in kept.undecided.items()), "none was collected")
        raise UserError(f"{inventory.tree.name}: no test passes in the sandbox each time: {first}")
    return kept


def _survey_of(tests: Mapping[str, list[list[Any]]], key: str) -> TestSurvey:
    took: dict[str, tuple[float, float]] = {}
    undecided: dict[str, str] = {}
    for name, runs in tests.items():
        words = [run[0] for run in runs]
        last = next((run[3] for run in runs if run[3]), "")
        if all(word == "passed" for word in words):
            took[name] = (max(run[1] for run in runs), max(run[2] for run in runs))
        elif "passed" in words:
            undecided[name] = f"flaky: it passes in {words.count('passed')} of {len(words)} orders: {last}"
        else:
            undecided[name] = f"fails: {last}"
    return TestSurvey(key=key, took=took, undecided=undecided)


def measure_functions(
    inventory: Inventory, survey: TestSurvey, options: StrengthOptions, sandbox: Sandbox, folder: Path, *,
    progress: Callable[[], object] = lambda: None,
    notice: Notice = lambda sentence: None,
) -> list[FunctionResult]:  # fmt: skip
    """What becomes of the mutants of every function; those that an earlier run in the folder finished are read.

    Args:
        inventory: of the tree.
        survey: of its tests.
        options: what to measure.
        sandbox: one of `open_sandbox`.
        folder: where results lie.
        progress: told of each function.
        notice: told of damaged lines of the journal.

    Raises:
        SandboxError: the machine failed.
    """
    options = structs.replace(options, processes=options.processes and bool(inventory.recording.starting))
    key = key_of(inventory.tree, sandbox, "strength", options)
    path = folder / MUTANTS
    earlier = finished_parts(path, FunctionResult, key, notice)
    found: dict[tuple[str, int], FunctionResult] = {}
    warm = WarmTests(inventory, sandbox)
    with Journal[FunctionResult](path, notice=notice, fsync_every=1) as journal:
        missing: list[ToMeasure] = []
        for function in inventory.functions:
            known = earlier.get((function.id, function.node.lineno))
            starting = inventory.recording.starting if options.processes else ()
            asked = known or to_measure(function, survey, options, starting)
            if isinstance(asked, str):
                asked = _result(function, key, why_none=asked)
                journal.append(asked)
            if isinstance(asked, ToMeasure):
                missing.append(asked)
                continue
            found[asked.id, asked.line] = asked
            progress()
        work = lambda batch: _measured(warm, batch, survey, key)  # noqa: E731
        for results in in_order(_batches(missing), work, workers=sandbox.workers, stop=sandbox.close):
            for one in results:
                journal.append(one)
                found[one.id, one.line] = one
                progress()
    return [found[function.id, function.node.lineno] for function in inventory.functions]


def _batches(functions: Sequence[ToMeasure]) -> Iterator[list[ToMeasure]]:
    batch: list[ToMeasure] = []
    for function in functions:
        if batch and sum(len(one.mutants) for one in (*batch, function)) > _BATCH:
            yield batch
            batch = []
        batch.append(function)
    if batch:
        yield batch


def to_measure(
    function: FunctionPlace, survey: TestSurvey, options: StrengthOptions, starting: Sequence[str] = ()
) -> ToMeasure | str:
    """The mutants of a function and the tests that decide about them, or why there are none.

    Args:
        function: any.
        survey: of the tests.
        options: what to measure.
        starting: tests that start processes.
    """
    if function.seen is None:
        return UNREACHED
    reached_by = {*function.seen.tests}
    reaching = [test for test in survey.took if test in reached_by]
    if not reaching:
        return "every test that reaches it fails or is flaky"
    original, mutants = bare_mutants(function, options.seed)
    if not mutants:
        return NO_MUTANT
    return ToMeasure(
        function=function,
        original=original,
        mutants=tuple(mutants[: options.most]),
        tests=(*_in_order(reaching, survey), *_starting_processes(starting, survey, {*reaching})),
    )


def _in_order(tests: Iterable[str], survey: TestSurvey) -> list[str]:
    """Tests as they were collected, slow ones last: an order by seconds would be another one each time."""
    return sorted(tests, key=lambda test: survey.took[test][0] > _SLOW_S)


def _starting_processes(starting: Iterable[str], survey: TestSurvey, others: set[str]) -> list[str]:
    """The fastest tests, for so many seconds together, that may reach a function in a process that they start."""
    left, kept = _STARTING_S, []
    usable = [one for one in starting if one in survey.took and one not in others]
    for test in sorted(usable, key=lambda one: survey.took[one][1]):
        left -= survey.took[test][1]
        if left < 0:
            break
        kept.append(test)
    return kept


def _line_in_file(function: FunctionPlace, original: str, mutant: Mutant) -> int:
    """The line of the file on which what a mutant changes stands."""
    lines: dict[int, int] = {}
    for written, there in zip(
        ast.walk(syntax.parse(original).body[0]), ast.walk(bare_function(function)), strict=False
    ):
        if type(written) is type(there) and hasattr(written, "lineno"):
            lines.setdefault(written.lineno, there.lineno)  # type: ignore[attr-defined]  # of one type
    return lines.get(mutant.span[0], function.node.lineno)


def _measured(warm: WarmTests, batch: Sequence[ToMeasure], survey: TestSurvey, key: str) -> list[FunctionResult]:
    """What becomes of a batch; where its call does not come to an end, of each function alone."""
    places = [(one.function, one.tests, [mutant.code for mutant in one.mutants]) for one in batch]
    try:
        told = warm.measure(places, survey.took)
    except UserError as error:
        if len(batch) > 1:
            return [result for one in batch for result in _measured(warm, [one], survey, key)]
        return [_result(batch[0].function, key, why_none=str(error))]
    left_over = {*told["left_over"]}
    return [_of_told(one, answer, left_over, key) for one, answer in zip(batch, told["functions"], strict=True)]


def _of_told(one: ToMeasure, answer: Mapping[str, Any], left_over: set[str], key: str) -> FunctionResult:
    """The result of a function; a test that fails without a mutant in the end has decided nothing."""
    dropped = {*answer["dropped"]} | left_over
    at_import = one.function.seen is not None and one.function.seen.at_import
    mutants = []
    for mutant, (status, by, why) in zip(one.mutants, answer["mutants"], strict=True):
        spoiled = f"{by} fails without a mutant as well, after others had run" if by in left_over else ""
        mutants.append(
            MutantResult(
                id=mutant.id, operator=mutant.operator, code=mutant.code, by=by,
                status="undecided" if spoiled else "not seen" if at_import and status == "survived" else status,
                why=spoiled or why,
                line=_line_in_file(one.function, one.original, mutant),
            )
        )  # fmt: skip
    return _result(
        one.function, key, original=one.original, mutants=tuple(mutants),
        tests=tuple(test for test in one.tests if test not in dropped),
        killers=tuple(test for test in answer["killers"] if test not in dropped),
        why_none=AT_IMPORT if at_import else "",
    )  # fmt: skip


def _result(function: FunctionPlace, key: str, **fields: Any) -> FunctionResult:
    return FunctionResult(key=key, id=function.id, line=function.node.lineno, place=function.place, **fields)
