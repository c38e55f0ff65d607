"""Tests for mutants that a repository's own tests accept: a call of the original, and what it gives."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from truegrade.apps.repository.build import Inventory, PartOfFunction, finished_parts, key_of, two_jails
from truegrade.apps.repository.functions import FunctionPlace
from truegrade.apps.repository.outside import DecidingCall, TreeLiterals, accepting, repeating_calls, rewritings_of
from truegrade.apps.repository.packing import Package
from truegrade.apps.repository.replaying import TwoJails, observe_variants, refusing
from truegrade.apps.repository.strength import (
    KILLED,
    AddedTests,
    FunctionResult,
    MutantResult,
    StrengthOptions,
    SuiteSummary,
    WarmTests,
)
from truegrade.datasets.executions import NotRecorded, RecordedCase, call_text, write_content
from truegrade.errors import UserError
from truegrade.files.threads import in_order
from truegrade.sandbox import Sandbox
from truegrade.store.journal import Journal, Notice

TESTS = "test_survivors.py"
_FOUND = "survivors.jsonl"
_FURTHER = 4
"""Calls beside those that the survivors ask for, each of another outcome: for faults that nobody thought of."""
_MOST_EDGES = 60
_SHORT = 4
"""Characters of a text in a function that is put into arguments."""
_SECONDS = 0.05
"""What an added test is taken to need; a tenth of a second and a half is its limit."""


class AddedCall(msgspec.Struct, frozen=True, kw_only=True):
    """A call that becomes a test."""

    args: str
    """Its text behind the name of the function, brackets included."""
    kind: str
    """``value``, ``items`` or ``raised``."""
    due: str
    """The literal, or the name of the exception's type."""
    refuses: tuple[str, ...]
    """Lines of the mutants that it was chosen for."""


class FoundCalls(PartOfFunction, frozen=True, kw_only=True):
    """The calls for the survivors of one function, as the journal keeps them."""

    calls: tuple[AddedCall, ...] = ()
    rewritings: tuple[str, ...] = ()
    held_out: int = 0
    """Survivors, each of which once had no part in the choice; none where there is a single one."""
    told_apart: int = 0
    """Of these, those that some call tried tells from the original."""
    held_out_killed: int = 0
    why_none: str = ""


def add_tests(
    inventory: Inventory, results: Sequence[FunctionResult], summary: SuiteSummary, options: StrengthOptions,
    sandbox: Sandbox, folder: Path, *, workers: int | None, allow_unsafe: bool,
    progress: Callable[[bool], None] = lambda failed: None, notice: Notice = lambda sentence: None,
) -> SuiteSummary:  # fmt: skip
    """Write tests for survivors, see that they pass on the original and which mutants they refuse.

    Args:
        inventory: of the tree.
        results: of its functions, in their order.
        summary: of the results.
        options: of the assay.
        sandbox: in which its tests run.
        folder: where `TESTS` is written.
        workers: programs run at once.
        allow_unsafe: as `Sandbox` takes it.
        progress: told, function by function, whether no call was found.
        notice: told of damaged lines of the journal.

    Returns:
        The summary, with what became of the tests.

    Raises:
        SandboxError: the machine failed.
    """
    weak = [(function, one) for function, one in zip(inventory.functions, results, strict=True) if one.survivors]
    with two_jails(inventory, workers, allow_unsafe=allow_unsafe) as jails:
        key = key_of(inventory.tree, jails[0], "survivors", options)
        search = _Search(inventory, TwoJails(*jails), options.seed, key)
        found = _kept_or_found(weak, search, folder, key, jails[0].workers, progress, notice)
    named = dict(_named(weak, found))
    text = _file(weak, named)
    refused: dict[tuple[str, str], str] = {}
    tried = spoiled = 0
    if named:
        refused, tried, spoiled, dropped = _verified(inventory, sandbox, weak, found, named, text)
        named = {name: one for name, one in named.items() if name not in dropped}
        text = _file(weak, named)
    path = folder / TESTS
    if named:
        write_content(path, text.encode())
    else:
        path.unlink(missing_ok=True)
    return msgspec.structs.replace(
        summary,
        survivors=tuple(
            msgspec.structs.replace(one, test=refused.get((one.function, one.mutant), ""))
            for one in summary.survivors
        ),
        added=AddedTests(
            tests=len(named),
            killed=len(refused),
            held_out=sum(one.held_out for one in found),
            told_apart=sum(one.told_apart for one in found),
            held_out_killed=sum(one.held_out_killed for one in found),
            rewritings=tried,
            rewritings_refused=spoiled,
            left_out=dict(Counter(one.why_none for one in found if one.why_none)),
        ),
    )


def _kept_or_found(
    weak: Sequence[tuple[FunctionPlace, FunctionResult]], search: _Search, folder: Path, key: str, workers: int,
    progress: Callable[[bool], None], notice: Notice,
) -> list[FoundCalls]:  # fmt: skip
    path = folder / _FOUND
    earlier = finished_parts(path, FoundCalls, key, notice)
    found: list[FoundCalls] = []
    with Journal[FoundCalls](path, notice=notice, fsync_every=1) as journal:
        for one in in_order(
            weak, lambda pair: earlier.get((pair[1].id, pair[1].line)) or search.found(*pair), workers=workers
        ):
            if (one.id, one.line) not in earlier:
                journal.append(one)
            found.append(one)
            progress(not one.calls)
    return found


class _Search:
    """Looks for calls that tell mutants from their original."""

    def __init__(self, inventory: Inventory, jails: TwoJails, seed: int, key: str) -> None:
        self._package = Package(inventory.modules)
        self._literals = TreeLiterals(inventory.tree.files)
        self._jails, self._seed, self._key = jails, seed, key

    def found(self, function: FunctionPlace, result: FunctionResult) -> FoundCalls:
        """The calls for a function's survivors, or why there are none."""
        blank = FoundCalls(key=self._key, id=result.id, line=result.line)
        try:
            if why := function.why_not_outside(least=1):
                raise NotRecorded(why)
            return self._calls(function, result.survivors, blank)
        except (NotRecorded, RecursionError, SyntaxError, ValueError) as error:
            return msgspec.structs.replace(blank, why_none=str(error).partition(": ")[0])

    def _calls(self, function: FunctionPlace, survivors: Sequence[MutantResult], blank: FoundCalls) -> FoundCalls:
        prefix, name = self._package.prefix(function), function.node.name
        calls = repeating_calls(function, prefix, self._literals, self._jails, self._seed, 1, _at_edges(function))
        decorators = "".join(f"@{ast.unparse(one)}\n" for one in function.node.decorator_list)
        rewritings = rewritings_of(function)
        variants = [*rewritings, *(decorators + one.code for one in survivors)]
        expected, cases = [call.outcome for call in calls], [call.case for call in calls]
        seen = observe_variants(prefix, function.source, name, variants, cases, expected, self._jails.first)
        usable = accepting(calls, seen[: len(rewritings)])
        refused = [refusing(answers, expected) & {*usable} for answers in seen[len(rewritings) :]]
        if not any(refused):
            raise NotRecorded("no call that was tried tells a survivor from the original")
        chosen = _chosen(calls, usable, refused)
        halves = [refused[::2], refused[1::2]] if len(refused) > 1 else []
        of_others = [{*_chosen(calls, usable, half)} for half in reversed(halves)]
        return msgspec.structs.replace(
            blank,
            calls=tuple(_added_call(calls[one], one, survivors, refused) for one in chosen),
            rewritings=tuple(rewritings),
            held_out=sum(map(len, halves)),
            told_apart=sum(bool(each) for half in halves for each in half),
            held_out_killed=sum(
                bool(each & others) for half, others in zip(halves, of_others, strict=True) for each in half
            ),
        )


def _at_edges(function: FunctionPlace) -> list[RecordedCase]:
    """Recorded calls with numbers next to those that stand in the function, or with its short texts inside."""
    constants = [node.value for node in ast.walk(function.node) if isinstance(node, ast.Constant)]
    numbers = {value for value in constants if type(value) is int}
    near = sorted({number + step for number in numbers for step in (-1, 0, 1)})
    short = sorted({value for value in constants if type(value) is str and 0 < len(value) <= _SHORT})
    found: dict[str, RecordedCase] = {}
    for case, _ in function.recorded():
        for place, held in enumerate(case.args):
            others: list[object] = [*near] if type(held) is int else []
            if type(held) is str:
                others = [f"{held[: len(held) // 2]}{text}{held[len(held) // 2 :]}" for text in short]
            for other in others:
                args = (*case.args[:place], other, *case.args[place + 1 :])
                found.setdefault(repr((args, case.kwargs)), RecordedCase(args, case.kwargs))
    return list(found.values())[:_MOST_EDGES]


def _chosen(calls: Sequence[DecidingCall], usable: Sequence[int], refused: Sequence[set[int]]) -> list[int]:
    """Calls that refuse as many mutants as any, one after the other the one that refuses most; then a few more."""
    taken: list[int] = []
    alive = [each for each in refused if each]
    while alive:
        best = max(usable, key=lambda one: (sum(one in each for each in alive), -one))
        taken.append(best)
        alive = [each for each in alive if best not in each]
    outcomes = {(calls[one].outcome.kind, calls[one].outcome.text) for one in taken}
    further = 0
    for one in usable:
        outcome = (calls[one].outcome.kind, calls[one].outcome.text)
        if further < _FURTHER and outcome not in outcomes:
            outcomes.add(outcome)
            taken.append(one)
            further += 1
    return sorted(taken)


def _added_call(
    call: DecidingCall, number: int, survivors: Sequence[MutantResult], refused: Sequence[set[int]]
) -> AddedCall:
    outcome = call.outcome
    lines = {mutant.line for mutant, by in zip(survivors, refused, strict=True) if number in by}
    return AddedCall(
        args=(call_text("", call.case.args, call.case.kwargs) or ""),
        kind=outcome.kind,
        due=outcome.value if outcome.kind == "raised" else (outcome.text or ""),
        refuses=tuple(f"line {line}" for line in sorted(lines)),
    )


# ------------------------------------------------------------------------ The file of tests, and its proof.


def _named(
    weak: Sequence[tuple[FunctionPlace, FunctionResult]], found: Sequence[FoundCalls]
) -> Iterator[tuple[str, tuple[int, AddedCall]]]:
    """Names of the tests, each with the place of its function and its call."""
    taken: Counter[str] = Counter()
    for place, ((function, _), one) in enumerate(zip(weak, found, strict=True)):
        for call in one.calls:
            taken[function.node.name] += 1
            yield f"test_{function.node.name.strip('_')}_{taken[function.node.name]}", (place, call)


def _file(weak: Sequence[tuple[FunctionPlace, FunctionResult]], named: Mapping[str, tuple[int, AddedCall]]) -> str:
    """The text of the file of tests."""
    aliases: dict[int, str] = {}
    for place in sorted({place for place, _ in named.values()}):
        function = weak[place][0]
        twice = function.node.name in aliases.values() or function.node.name.startswith("test")
        dotted = function.module.dotted.replace(".", "_")
        aliases[place] = f"call_{dotted}_{function.node.name}" if twice else function.node.name
    lines = ['"""What functions give today. Comments name the faults that only these tests refuse."""\n']
    lines += ["import pytest\n"] if any(call.kind == "raised" for _, call in named.values()) else []
    for place, alias in aliases.items():
        function = weak[place][0]
        renamed = "" if alias == function.node.name else f" as {alias}"
        lines.append(f"from {function.module.dotted} import {function.node.name}{renamed}")
    for name, (place, call) in named.items():
        lines += ["", "", f"def {name}():", *_body(call, aliases[place], weak[place][0])]
    return "\n".join(lines) + "\n"


def _body(call: AddedCall, alias: str, function: FunctionPlace) -> Iterator[str]:
    if call.refuses:
        yield f"    # refuses faults in {function.module.path}, {', '.join(call.refuses)}"
    if call.kind == "raised":
        yield f"    with pytest.raises(Exception) as raised:\n        {alias}{call.args}"
        yield f"    assert raised.type.__name__ == {call.due!r}"
    else:
        made = f"{alias}{call.args}" if call.kind == "value" else f"list({alias}{call.args})"
        singular = call.due in ("None", "True", "False")
        yield f"    assert {made} {'is' if singular else '=='} {call.due}"


def _verified(
    inventory: Inventory, sandbox: Sandbox, weak: Sequence[tuple[FunctionPlace, FunctionResult]],
    found: Sequence[FoundCalls], named: Mapping[str, tuple[int, AddedCall]], text: str,
) -> tuple[dict[tuple[str, str], str], int, int, set[str]]:  # fmt: skip
    """By function and mutant the test that refuses it; rewritings tried and refused; tests that must go."""
    warm = WarmTests(inventory, sandbox, {TESTS: text.encode()})
    took = {f"{TESTS}::{name}": (_SECONDS, _SECONDS) for name in named}
    places = []
    for place, ((function, result), one) in enumerate(zip(weak, found, strict=True)):
        tests = [f"{TESTS}::{name}" for name, (of, _) in named.items() if of == place]
        if tests:
            places.append((function, tests, [*(mutant.code for mutant in result.survivors), *one.rewritings]))
    try:
        answers = warm.measure(places, took)
    except UserError:  # a module that cannot be imported by its name, for one
        return {}, 0, 0, {*named}
    refused: dict[tuple[str, str], str] = {}
    tried = spoiled = 0
    dropped: set[str] = {test.partition("::")[2] for test in answers["left_over"]}
    by_place = {function.place: result for function, result in weak}
    for (function, _, _), answer in zip(places, answers["functions"], strict=True):
        survivors = by_place[function.place].survivors
        dropped |= {test.partition("::")[2] for test in answer["dropped"]}
        for mutant, (status, by, _) in zip(survivors, answer["mutants"], strict=False):
            if status in KILLED:
                refused[function.place, mutant.id] = by.partition("::")[2]
        rewritten = [status for status, _, _ in answer["mutants"][len(survivors) :] if status != "not applicable"]
        tried += len(rewritten)
        spoiled += sum(status in KILLED for status in rewritten)
    return {key: test for key, test in refused.items() if test not in dropped}, tried, spoiled, dropped
