"""The failing test with expected and actual value, parsed from the one-line detail of a verdict.

Plain searches, no patterns: the line quotes what a program returned, which may be hostile.
"""

from __future__ import annotations

import msgspec

_VERBS = (" gave ", " returned ", " printed ")
_EXPECTED = ", expected "
_FAILED = "` failed"
_IN = ", in `"


class FailureLine(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """As much of a failure as the line says."""

    test: str = ""
    expected: str = ""
    got: str = ""


def read_failure(detail: str) -> FailureLine | None:
    """Take a line of detail apart, as the graders word it; None where it is in no known shape."""
    return _statement(detail) or _comparison(detail) or _exception(detail)


def _statement(detail: str) -> FailureLine | None:
    """```TEST` failed; expected E; the program returned G``, perhaps behind an exception."""
    before, quote, rest = detail.partition("`")
    test, failed, facts = rest.partition(_FAILED)
    if not quote or not failed or (before and not before.endswith(": ")):
        return None
    said, _, got = facts.partition("; the program returned ")
    expected = said.removeprefix("; expected ") if said else _right_side(test)
    return FailureLine(test=test, expected=expected, got=got)


def _comparison(detail: str) -> FailureLine | None:
    """``answered G, expected E``; ``f(1) gave G, expected E``."""
    head, comma, expected = detail.rpartition(_EXPECTED)
    if not comma:
        return None
    if head.startswith(("answered ", "printed ")):
        return FailureLine(expected=expected, got=head.partition(" ")[2])
    found = [(place, verb) for verb in _VERBS if (place := head.find(verb)) > 0]
    if not found:
        return None
    place, verb = min(found)
    return FailureLine(test=head[:place], expected=expected, got=head[place + len(verb) :])


def _exception(detail: str) -> FailureLine | None:
    """``IndexError: pop from empty list, in `TEST```; ``f([]) raised IndexError: ...``."""
    error, _, test = detail.rpartition(_IN)
    if error and test.endswith("`"):
        return FailureLine(test=test[:-1], expected=_right_side(test[:-1]), got=error)
    call, raised, error = detail.partition(") raised ")
    return FailureLine(test=f"{call})", got=error) if raised else None


def _right_side(test: str) -> str:
    """What an assertion that compares one call with a value expects."""
    left, equal, right = test.partition(") == ")
    return right if equal and left.startswith("assert ") and " == " not in right else ""
