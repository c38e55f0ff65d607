"""Which arguments a function is called with: those that make it go ways that others do not.

Candidates are the calls that stand in its repository and drawn ones. All are watched in the jail; those that go a
way not gone before are varied, and of all that were answered the ones are chosen that together go the most ways.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from random import Random
from typing import Any

import msgspec

from truegrade.builders.mine.discover import FoundFunction
from truegrade.builders.mine.drawing import Drawer, vocabulary_of
from truegrade.builders.mutation.mutation_options import MutationOptions
from truegrade.builders.mutation.observing import NOT_RUN, Arc, observe_calls
from truegrade.builders.mutation.validity import is_askable
from truegrade.datasets.literal_text import call_text, literal_text
from truegrade.datasets.recording import NotRecorded, RecordedCase
from truegrade.grading.executor import Executor
from truegrade.records import sha256_json

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
