"""Conditions on a repository's tests: what was not decided lets none pass that does not bound it."""

import msgspec
import pytest

from truegrade.apps.repository.strength import NO_MUTANT
from truegrade.apps.repository.suite_strength import (
    NONE_DECIDED,
    ForgeryShown,
    KillShare,
    SuiteSummary,
    holds_for_suite,
    read_suite_condition,
)

replace = msgspec.structs.replace
FORGERY = ForgeryShown(name="exit", what="exits with 0", tried=3, believed={"exit code": 0})
DECIDED = SuiteSummary(
    name="tool", version="1", commit="", functions=2, tests=4, statuses={"killed": 9, "survived": 1},
    whole=KillShare(name="all", killed=9, mutants=10, low=0.6, high=1.0), modules=(), by_function=(), unreached=(),
    unmeasured={"tool.py:1 constant": NO_MUTANT}, undecided={"test_flaky": "flaky"}, idle=(), survivors=(),
    forgeries=(FORGERY,),
)  # fmt: skip


def holds(text, summary):
    return holds_for_suite(read_suite_condition(text), summary)


@pytest.mark.parametrize(
    "text", ["kill < 0.9", "kill > 0.9", "survivors > 1", "undecided > 1", "forgeable", "idle"]
)
def test_nothing_holds_of_a_suite_that_is_decided_and_strong(text):
    assert not holds(text, DECIDED)


@pytest.mark.parametrize(
    "open_one",
    [
        {"statuses": {"killed": 9, "survived": 1, "undecided": 1}},
        {"unmeasured": {"tool.py:1 f": "it did not end"}},
    ],
)
def test_undecided_mutants_and_functions_may_have_survived(open_one):
    summary = replace(DECIDED, **open_one)
    assert holds("kill < 0.8", summary) and holds("kill >= 0.8", summary) and holds("survivors > 20", summary)
    assert not holds("kill < 0.8 or undecided > 2", summary)
    assert holds("kill < 0.8 or undecided > 1", summary)
    assert holds("undecided < 0 or kill < 0.8", summary) and holds("kill < 0.8 and undecided", summary)
    assert not holds("kill < 0.8", replace(DECIDED, unmeasured={"tool.py:1 f": NONE_DECIDED}))


def test_a_suite_of_which_nothing_was_measured_passes_no_check():
    nothing = replace(DECIDED, whole=None, statuses={}, forgeries=(replace(FORGERY, tried=0),))
    assert all(holds(text, nothing) for text in ("kill < 0.1", "survivors > 9", "idle > 9", "forgeable"))
    assert holds("forgeable", replace(DECIDED, forgeries=(replace(FORGERY, believed={"exit code": 1}),)))
