"""Problems to repair, and a jail."""

import pytest

from truegrade.records import Case, CasesTask, Problem
from truegrade.sandbox import Limits, Sandbox

BUGGY = '''def total(numbers):
    result = 0
    for number in numbers:
        result -= number
    return result


"""The sum."""
'''


@pytest.fixture(scope="session")
def jail():
    with Sandbox(Limits(cpu_s=5), workers=1, allow_unsafe=True) as opened:
        yield opened


@pytest.fixture(scope="session")
def total():
    """Add numbers up; the buggy program subtracts, and passes one test of four."""
    cases = tuple(Case(arguments=(row,), expected=sum(row)) for row in ([], [1, 2], [3], [4, 5, 6]))
    task = CasesTask(
        entry_point="total", buggy=BUGGY, reference=BUGGY.replace("-=", "+="), cases=cases, comparator="eq"
    )
    return Problem(id="total", benchmark="quixbugs", dataset_sha256="d", cluster="total", task=task)
