"""Rows of own problems about a function: write it, repair it, complete it, predict what it returns."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Sequence
from random import Random
from textwrap import dedent, indent
from typing import Any, Protocol

import msgspec

from truegrade.apps.repository.deciding_mutants import TriedMutant, without_body
from truegrade.apps.repository.drawing import Drawer, Parameter, parameters_of, vocabulary_of
from truegrade.apps.repository.functions import FunctionPlace
from truegrade.apps.repository.hidden_behaviour import HIDDEN, HIDES, HiddenBehaviour
from truegrade.apps.repository.packing import BodyLines, body_lines, body_removed, outline
from truegrade.apps.repository.programs import Repository
from truegrade.apps.repository.replaying import TwoJails
from truegrade.apps.repository.source import SourceTree, last_change, lines_of
from truegrade.benchmarks.own_rows import BenchmarkRow
from truegrade.builders.mutation.file import is_askable, mutate_row
from truegrade.builders.mutation.mutants import Mutant, MutationOptions
from truegrade.builders.mutation.observing import NOT_RUN, Arc, observe_calls
from truegrade.builders.mutation.operators import OPERATORS, WIDER_OPERATORS
from truegrade.builders.mutation.states import with_states
from truegrade.datasets.executions import (
    ExecutionRow,
    NotRecorded,
    RecordedCalls,
    RecordedCase,
    call_text,
    literal_text,
    record,
)
from truegrade.grading.executor import Executor
from truegrade.grading.judgement import Judgement
from truegrade.records import sha256_json
from truegrade.sandbox.outcome import one_line

DECIDED_KINDS = ("write", "repair", "complete")
_MOST_FILE_CHARS = 12_000
"""Of a file that is shown whole; of a larger one the bodies of the other functions are left out."""
_LEAST_STATEMENTS = 3
_ASKED = {
    "write": "Its body is missing here.",
    "repair": "It has one bug: correct it, and give the whole function.",
    "complete": "The end of its body is missing here: give the whole function.",
}
FOR_METHODS = " Give it as a plain function "
_METHOD = (
    FOR_METHODS + "`{own}` of the module, without decorators and with the parameters that it has in"
    " its class, which calls it."
)
_DECORATED = " Its decorators are part of it."
_PROMPT = """\
The function `{name}` belongs to the file `{path}`{of}. {asked} The rest of the file is there when it runs.{method}

```python
{file}
```
"""


class Decider(Protocol):
    """A function, and what decides about answers to it."""

    @property
    def function(self) -> FunctionPlace:
        """The function."""

    @property
    def mutants(self) -> Sequence[TriedMutant]:
        """Mutants of it that were tried."""

    @property
    def row(self) -> dict[str, Any]:
        """What its problems' rows hold, whatever they ask for: fields of `BenchmarkRow`."""

    def judged(self, source: str, executor: Executor) -> Judgement:
        """What the judge says of an answer."""


def problem_rows(
    decided: Decider, tree: SourceTree, packages: tuple[str, ...], kinds: Sequence[str], executor: Executor
) -> Iterator[tuple[str, BenchmarkRow | str]]:
    """The rows of a function, each with its kind; instead of a row, why there is none.

    The judge has the last word: it accepts the reference, and refuses what a row gives or leaves out.

    Args:
        decided: the function and what decides.
        tree: its repository.
        packages: installed ones that the module imports.
        kinds: out of `DECIDED_KINDS`.
        executor: the jail, with these packages.
    """
    function = decided.function
    reference = decided.judged(function.source, executor)
    removed = decided.judged(without_body(function.node), executor)
    hidden = HiddenBehaviour(function, lambda source: not decided.judged(source, executor).passed)
    for kind in kinds:
        try:
            if not reference.passed:
                raise NotRecorded(f"the judge refuses its own code: {reference.reason}: {reference.detail}")
            if removed.passed:
                raise NotRecorded("the judge accepts a removed body")
            yield kind, _row(kind, decided, tree, packages, _file_shown(kind, decided, executor), hidden)
        except NotRecorded as refusal:
            yield kind, str(refusal)


def _file_shown(kind: str, decided: Decider, executor: Executor) -> str:
    """The text of the file in a prompt.

    Raises:
        NotRecorded: there is no problem of this kind.
    """
    function = decided.function
    lines = lines_of(function.module.text)
    body = body_lines(function.node, lines)
    if body is None:
        raise NotRecorded("its body stands on the line of its head")
    if kind == "write":
        return body_removed(function)
    if kind == "complete":
        given = _first_half(function, body, lines)
        if not given:
            raise NotRecorded(f"its body has fewer than {_LEAST_STATEMENTS} statements")
        begin = (function.node.lineno if function.is_method else function.first_line) - 1
        if decided.judged(dedent("".join([*lines[begin : body.begin], *given])), executor).passed:
            raise NotRecorded("its first statements alone pass")
        return body_removed(function, [*given, f"{body.indent}...  # the rest is missing\n"])
    mutant = _hardest(decided)
    if decided.judged(mutant.code, executor).passed:
        raise NotRecorded("the judge accepts its mutant")
    before, after = function.first_line - 1, lines[function.node.end_lineno or 0 :]
    if not function.is_method:
        return "".join([*lines[:before], f"{mutant.code}\n", *after])
    margin = lines[function.node.lineno - 1].encode()[: function.node.col_offset].decode()
    code = indent(f"{mutant.code}\n", margin)
    return "".join([*lines[: function.node.lineno - 1], code, *after])


def _first_half(function: FunctionPlace, body: BodyLines, lines: Sequence[str]) -> Sequence[str]:
    """The lines of the first statements of its body; none where there are too few."""
    node = function.node
    inside = node.body[1:] if ast.get_docstring(node, clean=False) is not None else node.body
    if len(inside) < _LEAST_STATEMENTS:
        return []
    return lines[body.begin : inside[len(inside) // 2 - 1].end_lineno]


def _hardest(decided: Decider) -> Mutant:
    """The mutant that fewest calls refuse; of equals the one that was drawn first."""
    return min((one for one in decided.mutants if one.refused_by), key=lambda one: one.refused_by).mutant


def _row(
    kind: str,
    decided: Decider,
    tree: SourceTree,
    packages: tuple[str, ...],
    file: str,
    hidden: HiddenBehaviour,
) -> BenchmarkRow:
    function = decided.function
    path, own = function.module.path, function.node.name
    of = f" of {tree.name} {tree.version}".rstrip() if tree.version else ""
    if len(file) > _MOST_FILE_CHARS:
        file = outline(file, own)
    seen, fields = function.seen, decided.row
    tags = {
        "kind": kind,
        "function": function.id,
        "tests": str(len(seen.tests) if seen else 0),
        **fields["tags"],
    }
    if tree.commit:
        commit, day = last_change(tree, path, function.first_line, function.node.end_lineno or 0)
        tags |= {"commit": tree.commit, "changed": commit, "contest_date": day}
    decorated = _DECORATED if function.node.decorator_list else ""
    prompt = _PROMPT.format(
        name=function.name,
        path=path,
        of=of,
        asked=_ASKED[kind],
        method=_METHOD.format(own=own) if function.is_method else decorated,
        file=file.strip("\n"),
    )
    hides = hidden.untold(file)
    tags |= {HIDDEN: "yes", HIDES: ", ".join(hides)} if hides else {HIDDEN: "no"}
    row = {"packages": packages, **fields, "tags": tags}
    return BenchmarkRow(
        id=f"{function.id}/{kind}", prompt=prompt, entry_point=own, reference=function.source, **row
    )


# ------------------------ Problems of kind *predict*: what a pure function of the package returns, standing alone.
# Candidates are the calls that the tests make and drawn ones. All are watched in the jail; those that go a way not
# gone before are varied, and of all that were answered the ones are chosen that together go the most ways.


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
        parameters = parameters_of(node, module.stubs.get(node.name), repository.aliases(module))
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
                self.why = f"{seen.kind} {one_line(seen.text)[:60]}".replace("value", "returned")

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
    row = _prediction_row(found, record(jails.first, jails.second, found.program, found.function, cases))
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


def _prediction_row(found: PureFunction, recorded: RecordedCalls) -> ExecutionRow:
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
