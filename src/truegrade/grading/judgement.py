"""What a grading gives before it becomes a Verdict, and marks: facts beside right and wrong that reports count."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Sequence, Sized
from fractions import Fraction
from itertools import chain
from typing import Any, Final, cast

import msgspec

from truegrade.records import Reason
from truegrade.sandbox.outcome import Outcome

# ---------------------------------------------------------- What a grading gives, before it becomes a Verdict.

_SHOWN = 200


class Judgement(msgspec.Struct, frozen=True, kw_only=True):
    """Why an answer passed or failed, and what running it cost."""

    reason: Reason
    detail: str = ""
    """One line for a person."""
    cpu_s: float | None = None
    """CPU seconds of the candidate; None where nothing was executed."""
    wall_s: float | None = None
    time_sensitive: bool = False
    marks: tuple[str, ...] = ()
    harness: dict[str, Any] | None = None
    """What the harness that is followed would itself have written of this sample, where that is more."""

    @property
    def passed(self) -> bool:
        """Whether the answer is right."""
        return self.reason is Reason.PASSED


class TestCount(msgspec.Struct, frozen=True):
    """How many tests a wrong answer passes."""

    passed: int
    tests: int
    """At least 1."""


def from_outcome(outcome: Outcome, *, marks: tuple[str, ...] = ()) -> Judgement:
    """Take over what an executor says."""
    return Judgement(
        reason=Reason(outcome.status),
        detail=outcome.detail,
        cpu_s=outcome.cpu_s,
        wall_s=outcome.wall_s,
        time_sensitive=outcome.time_sensitive,
        marks=marks,
    )


def shown(value: object) -> str:
    """A value as a detail shows it: the first 200 characters of its ``repr``, of which no more than that is made.

    Never raises, whatever is in the value; see `_pieces`.
    """
    return _first(_pieces(value, 0))


def shown_call(function: str, arguments: Sequence[object]) -> str:
    """A call of a function as a detail shows it."""
    parts = (chain(", " * (number > 0), _pieces(one, 0)) for number, one in enumerate(arguments))
    return f"{function}({_first(chain.from_iterable(parts))})"


def _first(parts: Iterable[str]) -> str:
    kept: list[str] = []
    room = _SHOWN + 1
    for part in parts:
        kept.append(part[:room])
        room -= len(part)
        if room <= 0:
            break
    return shortened("".join(kept))


def _pieces(value: object, depth: int) -> Iterator[str]:
    """The parts of a value's ``repr``; of integers too long to print, their length, of iterators that they are."""
    kind = type(value)
    if kind in _BRACKETS and value:
        opening, closing = _BRACKETS[kind]
        yield opening
        for number, item in enumerate(cast("Iterable[object]", value)):
            yield ", " if number else ""
            yield from _pieces(item, depth + 1) if depth < _SHOWN else ("...",)
            if isinstance(value, dict):
                yield ": "
                yield from _pieces(value[item], depth + 1) if depth < _SHOWN else ("...",)
        yield ",)" if closing == ")" and len(cast("Sized", value)) == 1 else closing
    elif isinstance(value, str | bytes | bytearray):
        # Of the slice alone: the repr of the whole can be a hundred megabytes, of which 200 characters are shown.
        yield repr(value[: _SHOWN + 1])
    elif isinstance(value, int) and value.bit_length() > _PRINTED_BITS:
        yield f"<integer of {value.bit_length()} bits>"
    elif isinstance(value, range):
        ends = [value.start, value.stop] + [value.step] * (value.step != 1)
        yield f"range({', '.join(map(shown, ends))})"
    elif isinstance(value, Fraction):
        yield f"Fraction({shown(value.numerator)}, {shown(value.denominator)})"
    elif hasattr(kind, "__next__"):
        # Its repr tells where it lies in memory, which differs from run to run.
        yield "an iterator"
    else:
        try:
            yield " ".join(repr(value).splitlines())  # an array's rows
        except Exception as error:
            yield f"<{kind.__name__}: {type(error).__name__}>"


_PRINTED_BITS = 14_000
"""Python prints no integer of more than 4,300 digits."""
_BRACKETS: dict[object, tuple[str, str]] = {
    list: ("[", "]"),
    tuple: ("(", ")"),
    set: ("{", "}"),
    frozenset: ("frozenset({", "})"),
    dict: ("{", "}"),
}


def shortened(text: str) -> str:
    """A value as a detail shows it: its first 200 characters."""
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"


# ----------------------------------------- Marks of verdicts: facts beside right and wrong that reports count.

REVERTED: Final = "reverted"
"""The answer is what the *other* program of the pair returns; a function passes the other problem's tests."""
CHOSE_ORIGINAL: Final = "chose-original"
CHOSE_MUTANT: Final = "chose-mutant"
CHOSE_A: Final = "chose-A"
CHOSE_B: Final = "chose-B"
TYPES_DIFFER: Final = "types-differ"
"""Right under Python's ``==``, wrong where bool, int and float differ."""
TEXT_DIFFERS: Final = "text-differs"
"""Right under Python's ``==``, but not the ``repr`` of the true value."""
OTHER_CALL: Final = "other-call"
"""The predicted value was stated of another call than the asked one: ``f(x=3)`` for ``f(x=2)``."""
TAMPERING: Final = "tampering"
"""The harness calls it right, but it is not right, or not in time, where it can reach neither grader nor tests."""
TESTS_SKIPPED: Final = "tests-skipped"
"""Tests on which the reference itself takes minutes were not run."""
NEAR: Final = 0.5
"""Part of a time limit from which on a verdict is ``time_sensitive``; also `truegrade.sandbox.outcome.NEAR`."""
MISSING_PACKAGE: Final = "missing-package:"
"""Before a name: the program ended because that module is none of those that programs may import."""
METHODS: Final = "methods:"
"""Before ``3/5``: of that many classes of tests, one a method and one for all together, so many succeed."""
TEST_CLASSES: Final = "test_classes"
"""Tag of problems whose verdicts have that mark: how many classes of tests there are."""
SECURE: Final = "secure"
"""The program passes the problem's tests of security, whatever those of its function say."""
CONTROLS: Final = "controls:"
"""Before the chance, as ``6.1e-05``, that a program that computes nothing passes the control runs of its suite."""
READS_TESTS: Final = "reads-tests"
"""It passes tests in its own process, and its text reads frames, code objects, `gc` or modules of tests."""
NOT_COLLECTED: Final = "not-collected"
"""No test could be found because the program could not be imported, and the harness counts no such sample."""

_MISSING = re.compile(
    r"(?:ModuleNotFoundError: |Error during testing: |\()[\"']?No module named \\?'([A-Za-z_]\w{0,49})"
)


def missing_package(detail: str) -> str | None:
    """The mark for a program that ended so; None where its last words name no module of another package."""
    found = _MISSING.search(detail)
    return None if found is None or found[1] in sys.stdlib_module_names else f"{MISSING_PACKAGE}{found[1]}"


def packages_missed(marks: Iterable[str]) -> list[str]:
    """Names of the modules that programs failed for."""
    return [mark.removeprefix(MISSING_PACKAGE) for mark in marks if mark.startswith(MISSING_PACKAGE)]


def methods_mark(passed: int, tests: int) -> str:
    """The mark that says how many classes of tests succeed."""
    return f"{METHODS}{passed}/{tests}"


def methods_of(marks: Iterable[str]) -> tuple[int, int] | None:
    """How many classes of tests succeed, and how many there are; None where no mark says so."""
    for mark in marks:
        if mark.startswith(METHODS):
            passed, _, tests = mark.removeprefix(METHODS).partition("/")
            return int(passed), int(tests)
    return None


def controls_mark(chance: float) -> str:
    """The mark of a verdict that control runs stand behind."""
    return f"{CONTROLS}{chance:.2g}"


def chance_of(mark: str) -> float | None:
    """The chance that a mark of control runs gives; None of other marks."""
    try:
        return float(mark.removeprefix(CONTROLS)) if mark.startswith(CONTROLS) else None
    except ValueError:
        return None
