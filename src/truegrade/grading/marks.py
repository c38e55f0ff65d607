"""Marks of verdicts: facts beside right and wrong that reports count."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from functools import cache
from typing import Final

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
CONTROLS: Final = "controls:"
"""Before a chance, in verdicts of strict@5 and earlier: of control runs, which are no longer made."""
READS_TESTS: Final = "reads-tests"
"""It passes tests in its own process, and its text reads frames, code objects, `gc` or modules of tests."""
JOINED_TESTS: Final = "joined-tests"
"""It passes tests behind it in its source, and its last characters changed what these are."""
DISOWNED: Final = "disowned-fence"
"""The last of several fences was taken as the answer, and the line before it says not to use it."""

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


@cache
def installed_version(package: str) -> str:
    """Of a package; empty if it is not installed. Every verdict asks, and each look-up reads the disk."""
    from importlib.metadata import PackageNotFoundError, version  # 20 ms that few runs need

    try:
        return version(package)
    except PackageNotFoundError:
        return ""
