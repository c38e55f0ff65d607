"""Problems of kind *predict*: what a pure function of the package returns, as a program that stands alone.

Candidates are the calls that the tests make and drawn ones. All are watched in the jail; those that go a way not
gone before are varied, and of all that were answered the ones are chosen that together go the most ways.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from random import Random
from typing import Any

import msgspec

from truegrade.apps.repository.drawing import Drawer, Parameter, parameters_of, vocabulary_of
from truegrade.apps.repository.functions import FunctionPlace
from truegrade.apps.repository.programs import Repository
from truegrade.apps.repository.replaying import TwoJails
from truegrade.builders.mutation.file import is_askable, mutate_row
from truegrade.builders.mutation.mutants import MutationOptions
from truegrade.builders.mutation.observing import NOT_RUN, Arc, observe_calls
from truegrade.builders.mutation.operators import OPERATORS, WIDER_OPERATORS
from truegrade.builders.mutation.states import with_states
from truegrade.datasets.executions import ExecutionRow, NotRecorded, RecordedCalls, RecordedCase, record
from truegrade.datasets.literal_text import call_text, literal_text
from truegrade.grading.executor import Executor
from truegrade.records import sha256_json


class PureFunction(msgspec.Struct, frozen=True, kw_only=True):
    """A function that may become an item."""

    function: str
    program: str
    """The function with what it needs, without docstrings and comments."""
    place: FunctionPlace
    parameters: tuple[Parameter, ...]
    examples: tuple[RecordedCase, ...]
    """Calls that the tests make."""


def pure_function(place: FunctionPlace, repository: Repository) -> PureFunction:
    """A function as a program of its own.

    Raises:
        NotRecorded: it is not pure, as far as its tree tells, or takes no arguments that literals could be.
    """
    node = place.node
    if not isinstance(node, ast.FunctionDef):
        raise NotRecorded("it is async")
    static = [ast.unparse(each) for each in node.decorator_list] == ["staticmethod"]
    if place.outside_obstacle and not (place.is_method and static):
        raise NotRecorded(place.outside_obstacle)
    module = repository.modules[place.module.path]
    try:
        parameters = parameters_of(node, module.stubs.get(node.name), module.aliases)
        program = repository.program(module, node)
    except (RecursionError, SyntaxError) as error:
        raise NotRecorded(f"it cannot be rewritten: {error}") from None
    return PureFunction(
        function=node.name,
        program=program,
        place=place,
        parameters=parameters,
        examples=tuple(case for case, _ in place.recorded()),
    )


_DRAWN, _VARIED = 48, 48
"""Calls drawn at first, and varied from the best of them."""
_MAX_ARGUMENT_CHARS = 200
"""Characters of one call."""
_MOST_DRAWS = 4
"""Times that calls are drawn while too few are answered."""
_WATCH = MutationOptions(cpu_s=2.0, max_steps=5_000, most=100)
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


def choose_cases(found: PureFunction, wanted: int, seed: int, executor: Executor) -> list[RecordedCase]:
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


def _seed(found: PureFunction, seed: int) -> int:
    """A seed of its own for each program, so that one more function changes no other's inputs."""
    return int(sha256_json([seed, found.program])[:12], 16)


class _Trial:
    """What became of the calls tried so far."""

    def __init__(self, found: PureFunction, executor: Executor) -> None:
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


def prediction_row(
    place: FunctionPlace, repository: Repository, jails: TwoJails, inputs: int, seed: int
) -> ExecutionRow:
    """Calls of a function that go many ways, what they return in two processes, and a value inside each.

    The row also has the program's mutant, where one is told from it by the calls, with the same.

    Args:
        place: the function.
        repository: its package.
        jails: where it runs; nothing of it runs anywhere else.
        inputs: calls.
        seed: of the drawn ones, of the mutant and of the values inside.

    Raises:
        NotRecorded: the function makes no item.
    """
    found = pure_function(place, repository)
    try:
        cases = choose_cases(found, inputs, seed, jails.first)
    except Opaque:
        found = _as_list(found)
        cases = choose_cases(found, inputs, seed, jails.first)
    row = _row(found, record(jails.first, jails.second, found.program, found.function, cases))
    for operators in (OPERATORS, WIDER_OPERATORS):
        options = msgspec.structs.replace(_WATCH, seed=seed, operators=tuple(operators))
        (row,) = mutate_row(row, options, jails.first, jails.second)
        if row.has_mutation:
            break
    return with_states(row, jails, options)


def _as_list(found: PureFunction) -> PureFunction:
    """A function that returns what another one yields, as a list."""
    name = f"{found.function}_as_list"
    program = (
        f"{found.program}\ndef {name}(*args, **kwargs):\n    return list({found.function}(*args, **kwargs))\n"
    )
    return msgspec.structs.replace(found, function=name, program=program)


def _row(found: PureFunction, recorded: RecordedCalls) -> ExecutionRow:
    place = found.place
    return ExecutionRow(
        id=f"{place.id}/predict",
        function_name=found.function,
        code=found.program,
        input=recorded.calls,
        output=recorded.outputs,
        correct_condition=recorded.conditions,
        arity=len(found.parameters),
        metadata={"source": "truegrade repository", "file": place.module.path, "line": place.node.lineno},
    )
