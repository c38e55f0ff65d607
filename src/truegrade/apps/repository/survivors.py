"""Calls that tell mutants which a repository's own tests accept from the original."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from truegrade.apps.repository.build import Inventory, PartOfFunction, key_of, two_jails
from truegrade.apps.repository.functions import FunctionPlace
from truegrade.apps.repository.outside import (
    DecidingCall,
    TreeLiterals,
    accepting,
    cases_that_vary,
    repeating_calls,
    rewritings_of,
)
from truegrade.apps.repository.packing import Package
from truegrade.apps.repository.replaying import Answers, GivenOutcome, TwoJails, observe_variants, refusing
from truegrade.apps.repository.strength import FunctionResult, MutantResult
from truegrade.datasets.executions import NotRecorded, RecordedCase, call_text
from truegrade.files.threads import in_order
from truegrade.records import sha256_json
from truegrade.store.journal import Journal, Notice, read_journal

FOUND_CALLS = "survivors.jsonl"
"""The journal of a search: a function a line."""
_MOST_EDGES = 60
_BY_IDENTITY = ("None", "True", "False")
"""Values that a test compares with ``is``."""
_SHORT = 4
"""Characters of a text in a function that is put into arguments."""


class FoundCalls(PartOfFunction, frozen=True, kw_only=True):
    """The calls for the survivors of one function, as the journal keeps them."""

    calls: dict[str, str] = msgspec.field(default_factory=dict)
    """By mutant, a call and what the original gives."""
    why_none: str = ""


def calls_for_survivors(
    inventory: Inventory, results: Sequence[FunctionResult], seed: int, folder: Path, *,
    workers: int | None, allow_unsafe: bool,
    progress: Callable[[], object] = lambda: None, notice: Notice = lambda sentence: None,
) -> dict[tuple[str, str], str]:  # fmt: skip
    """By place of the function and mutant, a call that every rewriting answers as the original, and it does not.

    Args:
        inventory: of the tree.
        results: of its functions, in their order.
        seed: of generated calls.
        folder: where results lie; what an earlier run found is read.
        workers: programs run at once.
        allow_unsafe: as `Sandbox` takes it.
        progress: told of each function.
        notice: told of damaged lines of the journal.

    Raises:
        SandboxError: the machine failed.
    """
    weak = [(function, one) for function, one in zip(inventory.functions, results, strict=True) if one.survivors]
    found: dict[tuple[str, str], str] = {}
    with two_jails(inventory, workers, allow_unsafe=allow_unsafe) as jails:
        key = key_of(inventory.tree, jails[0], "survivors", seed)
        search = _Search(inventory, TwoJails(*jails), seed, key)
        earlier = {(one.id, one.line, one.key): one for one in read_journal(folder / FOUND_CALLS, FoundCalls)}

        def made(pair: tuple[FunctionPlace, FunctionResult]) -> FoundCalls:
            return earlier.get((pair[1].id, pair[1].line, search.key(pair[1]))) or search.found(*pair)

        with Journal[FoundCalls](folder / FOUND_CALLS, notice=notice, fsync_every=1) as journal:
            for (function, _), one in zip(weak, in_order(weak, made, workers=jails[0].workers), strict=True):
                if (one.id, one.line, one.key) not in earlier:
                    journal.append(one)
                found |= {(function.place, mutant): call for mutant, call in one.calls.items()}
                progress()
    return found


class _Search:
    """Looks for calls that tell mutants from their original."""

    def __init__(self, inventory: Inventory, jails: TwoJails, seed: int, key: str) -> None:
        self._package = Package(inventory.modules)
        self._literals = TreeLiterals(inventory.tree.files)
        self._jails, self._seed, self._key = jails, seed, key

    def key(self, result: FunctionResult) -> str:
        """Of the search for a function's survivors."""
        return sha256_json([self._key, [mutant.id for mutant in result.survivors]])

    def found(self, function: FunctionPlace, result: FunctionResult) -> FoundCalls:
        """The calls for a function's survivors, or why there are none."""
        blank = FoundCalls(key=self.key(result), id=result.id, line=result.line)
        try:
            if why := function.why_not_outside(least=1):
                raise NotRecorded(why)
            return self._calls(function, result.survivors, blank)
        except (NotRecorded, RecursionError, SyntaxError, ValueError) as error:
            return msgspec.structs.replace(blank, why_none=str(error).partition(": ")[0])

    def _calls(self, function: FunctionPlace, survivors: Sequence[MutantResult], blank: FoundCalls) -> FoundCalls:
        prefix, name = self._package.prefix(function), function.node.name
        more = [*_at_edges(function), *cases_that_vary(function)]
        errors = _raised_by(function.node)
        calls = repeating_calls(function, prefix, self._literals, self._jails, self._seed, 1, more, errors)
        decorators = "".join(f"@{ast.unparse(one)}\n" for one in function.node.decorator_list)
        rewritings = [*rewritings_of(function), function.source]  # which a registry may not take twice
        variants = [*rewritings, *(decorators + one.code for one in survivors)]
        expected, cases = [call.outcome for call in calls], [call.case for call in calls]
        seen = observe_variants(prefix, function.source, name, variants, cases, expected, self._jails.first)
        usable = accepting(calls, seen[: len(rewritings)])
        refused = [
            {call for call in refusing(answers, expected) & {*usable} if _fails(answers, call, expected[call])}
            for answers in seen[len(rewritings) :]
        ]
        if not any(refused):
            raise NotRecorded("no call that was tried tells a survivor from the original")
        texts = {
            mutant.id: _told(name, calls[min(by)]) for mutant, by in zip(survivors, refused, strict=True) if by
        }
        return msgspec.structs.replace(blank, calls=texts)


def _raised_by(node: ast.AST) -> set[str]:
    """Names of the errors that a function raises itself."""
    raised = (each.exc for each in ast.walk(node) if isinstance(each, ast.Raise))
    made = (each.func if isinstance(each, ast.Call) else each for each in raised)
    return {each.id for each in made if isinstance(each, ast.Name)}


def _fails(answers: Answers, call: int, due: GivenOutcome) -> bool:
    """Whether the line that `_told` writes of a call fails of what a mutant gives: 90 is 90.0 to an ``==``."""
    given = answers[call] if answers is not None and call < len(answers) else None
    if given is None or given.kind != due.kind or due.kind == "raised" or due.text in _BY_IDENTITY:
        return True
    try:
        return not bool(given.value == due.value)
    except (ValueError, RecursionError):
        return False


def _told(name: str, call: DecidingCall) -> str:
    """A call and what the original gives, as a line of a test."""
    asked, outcome = call_text(name, call.case.args, call.case.kwargs), call.outcome
    if outcome.kind == "raised":
        return f"{asked} raises {outcome.value}"
    made = asked if outcome.kind == "value" else f"list({asked})"
    return f"{made} {'is' if outcome.text in _BY_IDENTITY else '=='} {outcome.text}"


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
