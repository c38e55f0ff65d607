"""What programs do, seen from outside: many mutants in one jailed process, each alone where one spoils it."""

from __future__ import annotations

import ast
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import Any, Literal

from truegrade.builders.mutation.mutants import Mutant, MutationOptions
from truegrade.grading.executor import Executor
from truegrade.sandbox.outcome import CallResult

Traced = Literal["lines", "expressions", ""]
Place = tuple[int, ...]
Arc = tuple[Place, Place]

LineSeen = tuple[int, int, tuple[str, ...]]
"""A line's number, how often it ran, and a variable's value each of the first times; empty where it had none."""

BATCH = 32
"""Mutants in one process."""
NOT_RUN = "not run"
_MOST_STARTS = 3
"""Processes in which `observe_calls` goes on where one has ended."""
_ENTRY, _EXIT = (0,), (-1,)
"""Where a frame begins and ends, among the places of arcs."""
_TRACED_CHANCE, _PLAIN_CHANCE = 1, 2
"""Seeds of `random` in watched and in plain runs: a program whose value hangs on them is found out."""


@dataclass(frozen=True)
class ObservedCase:
    """One call: ``value`` with its ``repr``, or a kind of failure with the reason; and which way it went."""

    kind: str
    text: str
    steps: int = 0
    places: frozenset[Place] = frozenset()
    arcs: frozenset[Arc] = frozenset()
    lines: tuple[LineSeen, ...] = ()
    """Of those that were to be seen more of."""


@dataclass(frozen=True)
class Observation:
    """All calls of a program, up to the first that failed."""

    cases: tuple[ObservedCase, ...]

    @property
    def failure(self) -> ObservedCase | None:
        """The call that gave no value."""
        return next((case for case in self.cases if case.kind != "value"), None)

    @property
    def outputs(self) -> tuple[str, ...]:
        """``repr`` of each value."""
        return tuple(case.text for case in self.cases)


class Observer:
    """Runs the variants of one program on its calls.

    Args:
        executor: the jail.
        calls: expressions such as ``f(1, 2)``.
        options: limits and preamble.
    """

    def __init__(self, executor: Executor, calls: Sequence[str], options: MutationOptions) -> None:
        self._executor, self._calls, self._options = executor, tuple(calls), options

    def alone(self, code: str, traced: Traced = "") -> Observation:
        """Observe a program in a process of its own."""
        answered, end = self._run([code], traced)
        return answered[0] if answered else Observation((ObservedCase(*end),))

    def together(
        self, original: Observation, original_code: str, codes: Sequence[str], traced: Traced
    ) -> Iterator[Observation]:
        """Observe programs, as if each had a process of its own.

        Each process ends by observing the original again. If that differs from what the original did alone, some
        program has spoiled the process, and all of its programs are observed alone instead.
        """
        for start in range(0, len(codes), BATCH):
            yield from self._batch(original, original_code, codes[start : start + BATCH], traced)

    def _batch(
        self, original: Observation, original_code: str, codes: Sequence[str], traced: Traced
    ) -> Iterator[Observation]:
        if not codes:
            return
        answered, end = self._run([*codes, original_code], traced)
        if len(answered) > len(codes) and answered[-1] == original:
            yield from answered[:-1]
        elif len(answered) >= len(codes):
            yield from (self.alone(code, traced) for code in codes)
        elif answered:  # where the process ended is where the next one begins
            yield from self._batch(original, original_code, codes[: len(answered)], traced)
            yield from self._batch(original, original_code, codes[len(answered) :], traced)
        else:  # the first program of a process ends it just as it would alone
            yield Observation((ObservedCase(*end),))
            yield from self._batch(original, original_code, codes[1:], traced)

    def _run(self, codes: Sequence[str], traced: Traced) -> tuple[list[Observation], tuple[str, str]]:
        """Observations in one process, as far as it got, and how it ended."""
        return _observed(self._executor, [(code, self._calls) for code in codes], self._options, traced)


def observe_calls(
    executor: Executor,
    code: str,
    calls: Sequence[str],
    options: MutationOptions,
    lines: Mapping[int, str] = MappingProxyType({}),
) -> Iterator[ObservedCase]:
    """Watch each call of a program by itself, whatever became of the ones before it.

    Of ``lines`` it is told how often they ran, and what the variable that is named for each then held.

    A call that ends its process is followed by the next in a new one; after a few of those the rest is not run.
    """
    asked = [(code, (call,)) for call in calls]
    for _ in range(_MOST_STARTS):
        answered, end = _observed(executor, asked, options, "lines", lines)
        yield from (seen.cases[0] for seen in answered)
        if len(answered) == len(asked):
            return
        yield ObservedCase(*end)
        asked = asked[len(answered) + 1 :]
    yield from (ObservedCase(NOT_RUN, "others ended their processes") for _ in asked)


def _observed(
    executor: Executor,
    asked: Sequence[tuple[str, tuple[str, ...]]],
    options: MutationOptions,
    traced: Traced,
    lines: Mapping[int, str] = MappingProxyType({}),
) -> tuple[list[Observation], tuple[str, str]]:
    """What programs do on their calls in one process, as far as it got, and how it ended."""
    answered: list[Observation] = []

    def keep(number: int, result: CallResult) -> bool:
        answered.append(_observation(result, len(asked[number][1])))
        return True

    chance = _TRACED_CHANCE if traced else _PLAIN_CHANCE
    rest = (options.preamble, traced, options.max_steps, options.max_chars, chance, dict(lines))
    outcome = executor.call(
        _observer_source(), "observe", [(*each, *rest) for each in asked], keep, cpu_s=options.cpu_s
    )
    return answered, (outcome.status, outcome.detail)


def _observation(result: CallResult, calls: int) -> Observation:
    """What an answer of the jail says; a program can forge one, so an answer of no known form is a failed call."""
    if result.error is not None:
        return Observation((ObservedCase("raised", result.error),))
    try:
        seen = Observation(tuple(_case(*case) for case in result.value))
    except (TypeError, ValueError, IndexError):
        return _FORGED
    return seen if seen.failure is not None or len(seen.cases) == calls else _FORGED


_FORGED = Observation((ObservedCase("tampering", "the program answered in the watcher's place"),))


def _case(kind: Any, text: Any, steps: Any, numbers: Any, places: Any, arcs: Any, lines: Any) -> ObservedCase:
    """One call, if it is told as `observer.observe` tells it."""
    told = isinstance(kind, str) and isinstance(text, str) and isinstance(steps, int)
    if not told or numbers not in {1, _EXPRESSION}:
        raise TypeError("not a case")
    visited: list[Place] = list(zip(*[iter(memoryview(places).cast("i"))] * numbers, strict=True))
    ends, indices = [*visited, _EXIT, _ENTRY], iter(memoryview(arcs).cast("i"))
    steps_between = frozenset((ends[one], ends[other]) for one, other in zip(indices, indices, strict=True))
    more = tuple((int(line), int(runs), tuple(map(str, values))) for line, runs, values in lines)
    return ObservedCase(kind, text, steps, frozenset(visited), steps_between, more)


@cache
def _observer_source() -> str:
    return files("truegrade.builders.mutation").joinpath("observer.py").read_text(encoding="utf-8")


# ----------------------------------------------------------------------------------------------------------------
# How alike two programs run: Jaccard similarity of what is visited, and of the steps from one place to the next.
# A mutant's places are told in the original's coordinates. What lies inside the mutated span is one place in
# both: the comparison is of the way around the change, not of the change.


Point = tuple[int, int]
_EXPRESSION = 4
"""Numbers of a place that is an expression; a line has one."""


def similarity(original: Observation, mutant: Observation, change: Mutant) -> tuple[float, float]:
    """Jaccard similarities of visited places and of arcs, over all cases together; 1 means the same way."""
    begin, end = change.span[:2], change.span[2:]
    places, arcs = _project_observation(original, _projection(begin, end, end))
    other_places, other_arcs = _project_observation(mutant, _projection(begin, end, change.new_end))
    return _jaccard(places, other_places), _jaccard(arcs, other_arcs)


_Told = tuple[frozenset[Hashable], frozenset[Hashable]]


def _project_observation(seen: Observation, project: Callable[[Place], Place]) -> _Told:
    """Places and arcs in the original's coordinates, each with its case."""
    places: set[Hashable] = set()
    arcs: set[Hashable] = set()
    for number, case in enumerate(seen.cases):
        places.update((number, project(place)) for place in case.places)
        for one, other in case.arcs:
            begin, end = project(one), project(other)
            if begin != end or one == other:  # else a step within the mutated span
                arcs.add((number, begin, end))
    return frozenset(places), frozenset(arcs)


def _projection(begin: Point, end: Point, new_end: Point) -> Callable[[Place], Place]:
    """Maps places of a text in which ``begin`` to ``new_end`` stands for the original's ``begin`` to ``end``."""

    def point(line: int, column: int) -> Point:
        if (line, column) < new_end:
            return line, column
        if line == new_end[0]:
            return end[0], column - new_end[1] + end[1]
        return line - new_end[0] + end[0], column

    def project(place: Place) -> Place:
        if len(place) != _EXPRESSION:
            line = place[0]
            return place if line <= begin[0] else (max(begin[0], line - new_end[0] + end[0]),)
        first, last = (place[0], place[1]), (place[2], place[3])
        if begin <= first and last <= new_end:
            return (*begin, *end)
        return (*point(*first), *point(*last))

    return project


def _jaccard(one: frozenset[Hashable], other: frozenset[Hashable]) -> float:
    union = one | other
    return len(one & other) / len(union) if union else 1.0


# ------------------------------------------- What makes a program hard to follow, as far as it can be counted.


_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def has_one_line(tree: ast.Module) -> bool:
    """Whether a call can visit one line alone: imports, and a function of one statement on one line."""
    *imports, function = tree.body
    if not isinstance(function, ast.FunctionDef) or function.decorator_list or function.args.defaults:
        return False
    first, last = function.body[0], function.body[-1]
    only_imports = all(isinstance(each, ast.Import | ast.ImportFrom) for each in imports)
    return only_imports and not any(function.args.kw_defaults) and first.lineno == last.end_lineno


def lines_of_code(code: str) -> int:
    """Lines that are not blank; in a normal form there are no comments."""
    return sum(1 for line in code.splitlines() if line.strip())


def loop_depth(tree: ast.AST) -> int:
    """The deepest nesting of loops, each ``for`` of a comprehension among them."""
    inner = max((loop_depth(child) for child in ast.iter_child_nodes(tree)), default=0)
    if isinstance(tree, _LOOPS):
        return inner + 1
    if isinstance(tree, _COMPREHENSIONS):
        return inner + len(tree.generators)
    return inner
