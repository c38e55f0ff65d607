"""A hostile sample gets a verdict, and changes none of its neighbours'."""

from __future__ import annotations

import pytest
from livecodebench_corpus.hostile import BAD, FORGERIES, GOOD, GOOD_METHOD, HOSTILE
from livecodebench_rows import case_row, grade

from support.thorough import one_in
from truegrade.grading.contests import harness
from truegrade.grading.contests.tests import Tests as Given
from truegrade.profiles import open_profile
from truegrade.sandbox import Sandbox
from truegrade.sandbox.limits import MIB

PROFILES = ("livecodebench", "livecodebench-2025-01", "evalscope", "lm-eval-fork", "evalscope-sandbox", "strict")
LITTLE = 512 * MIB
"""Of memory: a program that fills 4 GiB first, as much as the profiles grant, takes seconds for each."""


def kept(row):
    """What must not depend on the neighbours."""
    judgement = row["judgement"]
    return row["passed"], row["results"], judgement.reason, "tampering" in judgement.marks


@pytest.mark.slow
@pytest.mark.parametrize("profile", one_in(6, PROFILES))
def test_a_hostile_sample_aborts_nothing_and_changes_no_neighbour(profile):
    calm = [case_row(case) for case in (GOOD, BAD, GOOD_METHOD)]
    alone = [kept(row) for row in grade(profile, calm, memory_bytes=LITTLE)]
    assert [passed for passed, *_ in alone] == [True, False, True]
    mixed = [row for case in HOSTILE.values() for row in (case_row(case), *calm)]
    found = grade(profile, mixed, workers=2, memory_bytes=LITTLE)
    for start in range(0, len(mixed), 4):
        assert [kept(row) for row in found[start + 1 : start + 4]] == alone, mixed[start][0].id
    judged = dict(zip(HOSTILE, found[::4], strict=True))
    for name in HOSTILE:
        assert judged[name]["judgement"].reason.value != "grader_error", name


@pytest.mark.parametrize("profile", PROFILES)
def test_a_forged_pass_is_the_published_one_and_says_so(profile):
    found = dict(zip(FORGERIES, grade(profile, [case_row(HOSTILE[name]) for name in FORGERIES]), strict=True))
    for name, row in found.items():
        if profile == "strict":
            assert not row["passed"], name
        elif row["passed"]:
            assert "tampering" in row["judgement"].marks, name


def test_a_program_that_sleeps_through_the_alarm_holds_its_worker_no_longer_than_the_harness_waits(monkeypatch):
    """It was held for three times that and half a minute, 650 s and more with 30 tests."""
    monkeypatch.setattr(harness, "_START_S", 0.4)
    profile = open_profile("livecodebench")
    rules = profile.harness.rules | {"timeout_s": 0.1, "whole_seconds": False}
    short = harness.Harness(rules=rules, added_s=0.0, runner_error=profile.harness.runner_error)
    code = "import signal, time\nsignal.signal(14, signal.SIG_IGN)\ntime.sleep(60)\n"
    tests = Given(inputs=("",), outputs=("",), function=None)
    with Sandbox(profile.limits, 1, allow_unsafe=True) as sandbox:
        judgement = harness.grade_as(short, code, tests, sandbox)
    assert judgement.reason == "time_limit" and judgement.harness["results"] == [-2]
    assert judgement.wall_s < 30  # the program sleeps for a minute
