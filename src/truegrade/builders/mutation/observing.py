"""What programs do, seen from outside: many mutants in one jailed process, each alone where one spoils it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Literal

from truegrade.builders.mutation.mutation_options import MutationOptions
from truegrade.grading.executor import Executor
from truegrade.sandbox.outcome import CallResult

Traced = Literal["lines", "expressions", ""]
Place = tuple[int, ...]
Arc = tuple[Place, Place]

BATCH = 32
"""Mutants in one process."""
NOT_RUN = "not run"
_MOST_STARTS = 3
"""Processes in which `observe_calls` goes on where one has ended."""
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
    executor: Executor, code: str, calls: Sequence[str], options: MutationOptions
) -> Iterator[ObservedCase]:
    """Watch each call of a program by itself, whatever became of the ones before it.

    A call that ends its process is followed by the next in a new one; after a few of those the rest is not run.
    """
    asked = [(code, (call,)) for call in calls]
    for _ in range(_MOST_STARTS):
        answered, end = _observed(executor, asked, options, "lines")
        yield from (seen.cases[0] for seen in answered)
        if len(answered) == len(asked):
            return
        yield ObservedCase(*end)
        asked = asked[len(answered) + 1 :]
    yield from (ObservedCase(NOT_RUN, "others ended their processes") for _ in asked)


def _observed(
    executor: Executor, asked: Sequence[tuple[str, tuple[str, ...]]], options: MutationOptions, traced: Traced
) -> tuple[list[Observation], tuple[str, str]]:
    """What programs do on their calls in one process, as far as it got, and how it ended."""
    answered: list[Observation] = []

    def keep(number: int, result: CallResult) -> bool:
        answered.append(_observation(result, len(asked[number][1])))
        return True

    chance = _TRACED_CHANCE if traced else _PLAIN_CHANCE
    rest = (options.preamble, traced, options.max_steps, options.max_chars, chance)
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
    except (TypeError, ValueError):
        return _FORGED
    return seen if seen.failure is not None or len(seen.cases) == calls else _FORGED


_FORGED = Observation((ObservedCase("tampering", "the program answered in the watcher's place"),))


def _case(kind: Any, text: Any, steps: Any, places: Any, arcs: Any) -> ObservedCase:
    """One call, if it is told as `observer.observe` tells it."""
    ends = [place for arc in arcs for place in arc]
    told = isinstance(kind, str) and isinstance(text, str) and isinstance(steps, int)
    if not told or not all(map(_is_place, [*places, *ends])) or any(len(arc) != 2 for arc in arcs):
        raise TypeError("not a case")
    return ObservedCase(kind, text, steps, frozenset(places), frozenset(arcs))


def _is_place(place: Any) -> bool:
    return isinstance(place, tuple) and len(place) in {1, 4} and all(isinstance(part, int) for part in place)


@cache
def _observer_source() -> str:
    return files("truegrade.builders.mutation").joinpath("observer.py").read_text(encoding="utf-8")
