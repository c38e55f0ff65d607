"""Which runs are marked as ones that the clock may have decided."""

import pytest

from truegrade.grading import marks
from truegrade.sandbox import Limits, Sandbox, outcome, wire
from truegrade.sandbox.outcome import Stop, conclude

LIMITS = Limits(cpu_s=3.0, wall_s=4.0)
PASSED, LATE = Stop(wire.PASSED, ""), Stop(wire.TIME_LIMIT, "over 3.3 CPU seconds")


@pytest.mark.parametrize(
    ("stop", "cpu_s", "wall_s", "marked", "repeated"),
    [
        (PASSED, 1.4, 1.9, False, False),
        (PASSED, 1.6, 1.9, True, False),
        (PASSED, 0.1, 2.1, True, False),
        (PASSED, 2.8, 2.9, True, True),
        (PASSED, 3.1, 3.1, True, True),  # over the limit, yet ended: time_limit
        (LATE, 3.318, 3.4, True, False),
        (LATE, 3.320, 3.6, True, False),
        (LATE, 0.2, 4.5, True, False),
    ],
)
def test_every_run_that_a_limit_could_turn_is_marked(stop, cpu_s, wall_s, marked, repeated):
    found = conclude(stop, LIMITS, cpu_s, wall_s)
    assert (found.time_sensitive, found.close) == (marked, repeated)


@pytest.mark.parametrize("as_tests", [False, True])
def test_a_program_that_never_ends_is_run_once(monkeypatch, as_tests):
    runs = []
    once = Sandbox._once
    monkeypatch.setattr(Sandbox, "_once", lambda *args: runs.append(once(*args)) or runs[-1])
    with Sandbox(Limits(cpu_s=0.5, wall_s=60.0), workers=1, allow_unsafe=True) as sandbox:
        if as_tests:
            found = sandbox.judge("def f():\n    while True: pass", "f()", ["f"])
        else:
            found = sandbox.script("while True: pass")
    assert found.status == wire.TIME_LIMIT and len(runs) == 1


def test_grading_marks_from_the_same_part_of_a_limit():
    assert marks.NEAR == outcome.NEAR
