"""What an answer, and variants of it, give on calls: in fresh processes of the jail, outside any other program."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.resources import files
from random import Random
from typing import Any, NamedTuple

import msgspec

from truegrade.datasets.executions import RecordedCase, literal_text
from truegrade.grading.executor import Executor
from truegrade.sandbox.outcome import CallResult

# The tests of every problem begin with the text of the next two functions, so these stand alone.


def equals_exactly(got: Any, due: Any) -> bool:
    """Whether a value is the one that is due: of the same types, but for the last digits of floats.

    The order of sets and of the keys of dictionaries decides nothing.
    """
    import builtins as plain

    if plain.type(got) is not plain.type(due):
        return False
    if plain.isinstance(due, plain.list | plain.tuple):
        pairs = plain.zip(got, due, strict=False)
        return plain.len(got) == plain.len(due) and plain.all(equals_exactly(*pair) for pair in pairs)
    if plain.isinstance(due, plain.dict):
        return plain.len(got) == plain.len(due) and plain.all(
            key in got and equals_exactly(got[key], due[key])  # the repository may define `items`
            for key in due
        )
    alike: bool = got == due
    if not alike and plain.isinstance(due, plain.float | plain.complex):
        alike = plain.abs(got - due) <= 1e-9 * plain.max(plain.abs(got), plain.abs(due), 1e-3)
    return alike


def type_raised(call: Callable[[], Any]) -> str:
    """The name of the exception that a call raises, or that its items raise; empty where it raises none."""
    import builtins as plain

    try:
        value = call()
        if plain.hasattr(value, "__next__"):
            plain.list(value)
    except plain.Exception as error:
        return plain.type(error).__name__
    return ""


MOST_RESULT_CHARS = 600
_FUTURE = "from __future__ import annotations\n"
_VARIANT_S = 1.0
"""CPU seconds of a variant on all calls."""
_BATCH_S = 40.0
_MOST_STARTS = 12
"""Processes in which a batch of variants goes on where one has ended."""
_UNREPEATABLE = frozenset({"RecursionError", "MemoryError", "TimeoutError"})
"""Exceptions that hang on the machine."""
_ZONES = ("UTC", "XXX-05:30")


class GivenOutcome(msgspec.Struct, frozen=True):
    """What one call gave."""

    kind: str
    """``value``, ``items`` of an iterator, ``raised``; anything else decides nothing."""
    value: Any
    """Plain; of ``raised`` the name of the exception's type."""
    text: str | None
    """The value as a literal; None where it is none, or is too long."""
    changes: bool = False
    """Whether the call changed its arguments."""

    def is_like(self, other: GivenOutcome) -> bool:
        """Whether a comparison outside takes the two for the same."""
        return self.kind == other.kind and equals_exactly(self.value, other.value)


_MISSING = GivenOutcome("missing", None, None)


class TwoJails(NamedTuple):
    """Where programs run."""

    first: Executor
    second: Executor
    """With another hash seed."""


class Replays(NamedTuple):
    """What calls gave in three fresh processes."""

    outcomes: list[GivenOutcome | None]
    """By call; None where it is no plain value, or another one each time."""
    changes: bool
    """Whether a call changed its arguments."""
    why_none: str
    """Why there is nothing at all; empty where some call was answered."""


def replay_calls(prefix: str, source: str, name: str, cases: Sequence[RecordedCase], jails: TwoJails) -> Replays:
    """Make calls in three orders, under two hash seeds, in two time zones and two folders, and keep what stays.

    Args:
        prefix: stands before the answer.
        source: the answer.
        name: of the function.
        cases: arguments.
        jails: where it runs.
    """
    forward = list(range(len(cases)))
    mixed = Random(len(cases)).sample(forward, len(forward))
    runs, why = [], ""
    for executor, order, zone in (
        (jails.first, forward, 0),
        (jails.second, forward[::-1], 1),
        (jails.first, mixed, 1),
    ):
        seen, end = _observed(executor, _program(prefix, source, name, zone), [cases[one] for one in order])
        runs.append(dict(zip(order, seen, strict=False)))
        why = why or end
        if not seen:
            return Replays([None] * len(cases), False, why)
    kept = [_lasting([run.get(one, _MISSING) for run in runs]) for one in forward]
    return Replays(kept, any(one.changes for run in runs for one in run.values()), "")


def _lasting(seen: list[GivenOutcome]) -> GivenOutcome | None:
    first = seen[0]
    told = first.kind in ("value", "items", "raised") and first.text is not None
    repeats = told and all(first.is_like(other) for other in seen[1:])
    return first if repeats and not (first.kind == "raised" and first.value in _UNREPEATABLE) else None


def _program(prefix: str, source: str, name: str, zone: int) -> str:
    """Prefix, answer and watcher, in a time zone and a folder."""
    future = _FUTURE if prefix.startswith(_FUTURE) else ""
    head = "import os, time\nos.environ['TZ'] = {zone!r}\ntime.tzset()\n{folder}del os, time\n"
    folder = "os.makedirs('else/where')\nos.chdir('else/where')\n" if zone else ""
    watch = files("truegrade.apps.repository").joinpath("watcher.py").read_text(encoding="utf-8")
    tail = (
        "import builtins as _truegrade_plain\n_truegrade_watch = {}\n"
        f"_truegrade_plain.exec({watch!r}, _truegrade_watch)\n"
        f"_truegrade_own = _truegrade_plain.globals()\n"
        "def _truegrade_observe(args, kwargs):\n"
        f"    return _truegrade_watch['observe_call'](_truegrade_own[{name!r}], args, kwargs)\n"
        "def _truegrade_variant(source, calls, seconds):\n"
        f"    return _truegrade_watch['observe_variant'](_truegrade_own, {name!r}, source, calls, seconds)\n"
    )
    return (
        f"{future}{head.format(zone=_ZONES[zone], folder=folder)}{prefix.removeprefix(future)}\n{source}\n{tail}"
    )


def _observed(executor: Executor, program: str, cases: Sequence[RecordedCase]) -> tuple[list[GivenOutcome], str]:
    """What calls gave in one process, as far as it got, and how it ended where that was early."""
    seen: list[GivenOutcome] = []

    def keep(_: int, result: CallResult) -> bool:
        seen.append(_outcome(result))
        return True

    calls = [(case.args, case.kwargs) for case in cases]
    ended = executor.call(program, "_truegrade_observe", calls, keep)
    return seen, "" if len(seen) == len(calls) else f"{ended.status}: {ended.detail}"


def _outcome(result: CallResult) -> GivenOutcome:
    if result.error is not None:
        return _MISSING
    try:
        kind, value, changes = result.value
        return GivenOutcome(str(kind), value, literal_text(value, MOST_RESULT_CHARS), changes is True)
    except (TypeError, ValueError):
        return _MISSING


Answers = list[GivenOutcome] | None
"""What a variant gives, call by call, up to where its time was up; None where it cannot be defined."""


def observe_variants(
    prefix: str, reference: str, name: str, variants: Sequence[str], cases: Sequence[RecordedCase],
    expected: Sequence[GivenOutcome], executor: Executor,
) -> list[Answers]:  # fmt: skip
    """What variants of an answer give.

    All run in one process, which ends with the reference: where that no longer gives what is expected, some
    variant has spoiled the process, and each then gets one of its own.

    Args:
        prefix: stands before the answer.
        reference: the answer.
        name: of the function.
        variants: sources that define it.
        cases: arguments.
        expected: what the reference gives.
        executor: the jail.
    """
    seen = _in_one_process(prefix, reference, name, [*variants, reference], cases, executor)
    if all_alike(seen[-1], expected):
        return seen[:-1]
    return [_in_one_process(prefix, reference, name, [one], cases, executor)[0] for one in variants]


def all_alike(answers: Answers, expected: Sequence[GivenOutcome]) -> bool:
    """Whether a variant answers every call as expected."""
    return answers is not None and not refusing(answers, expected)


def refusing(answers: Answers, expected: Sequence[GivenOutcome]) -> set[int]:
    """The calls that refuse a variant."""
    given = answers or []
    return {
        number for number, due in enumerate(expected) if number >= len(given) or not given[number].is_like(due)
    }


def _in_one_process(
    prefix: str, reference: str, name: str, variants: Sequence[str], cases: Sequence[RecordedCase],
    executor: Executor,
) -> list[Answers]:  # fmt: skip
    calls = [(case.args, case.kwargs) for case in cases]
    program = _program(prefix, reference, name, 0)
    seen: list[Answers] = []

    def keep(_: int, result: CallResult) -> bool:
        seen.append(_answers(result))
        return True

    for _ in range(_MOST_STARTS):
        asked = [(source, calls, _VARIANT_S) for source in variants[len(seen) :]]
        executor.call(program, "_truegrade_variant", asked, keep, cpu_s=_BATCH_S)
        if len(seen) >= len(variants):
            return seen
        seen.append([])  # it ended the process
        if len(seen) >= len(variants):
            return seen
    return seen + [[]] * (len(variants) - len(seen))


def _answers(result: CallResult) -> Answers:
    try:
        told = result.value
        return None if told is None else [GivenOutcome(str(kind), value, None) for kind, value in told]
    except (TypeError, ValueError):
        return []
