"""Profiles under another time limit: ``human-eval+30s``, ``grade --timeout 30``."""

import json

import pytest
from contest_rows import contest
from profile_rows import oracle, problem

from support.thorough import one_in
from truegrade import api
from truegrade.errors import UnknownName, UserError
from truegrade.grading.evalplus import Checks
from truegrade.pipeline.verdicts import limits_for
from truegrade.profiles import open_profile
from truegrade.profiles.contest_profile import timed
from truegrade.records import Answer, Reason
from truegrade.sandbox import Sandbox

BUSY = (
    "import time\ndef add(a, b):\n    end = time.process_time() + 0.3\n    while time.process_time() < end: pass\n"
)
BUSY += "    return a + b\n"
SHORT, LONG = "0.1", "20"


def verdict(name, task, code=BUSY):
    profile = open_profile(name)
    with Sandbox(limits_for(profile, [task]), workers=1) as sandbox:
        return profile.judgement(task, Answer(value=code, found=""), sandbox)


@pytest.mark.parametrize(
    ("name", "benchmark"),
    one_in(2, [("strict", "humaneval"), ("human-eval", "humaneval"), ("evalscope", "humaneval"),
               ("evalscope", "mbpp"), ("evalplus", "humanevalplus"), ("bigcode", "humanevalplus")]),
)  # fmt: skip
def test_the_limit_of_a_program_or_a_call_is_the_one_that_was_asked_for(name, benchmark):
    task = oracle(base_inputs=((1, 2),), plus_inputs=()) if benchmark.endswith("plus") else problem(benchmark)
    short, long = (verdict(f"{name}+{seconds}s", task) for seconds in (SHORT, LONG))
    assert (short.reason, short.time_sensitive) == (Reason.TIME_LIMIT, True)
    assert (long.reason, long.time_sensitive) == (Reason.PASSED, False)


@pytest.mark.slow
@pytest.mark.parametrize("name", one_in(3, ["livecodebench", "evalscope-sandbox", "strict"]))
def test_and_that_of_a_test_of_a_contest(name):
    task = contest((("1\n2", "3"),), function="add")
    busy = BUSY.replace("0.3", "1.3")
    assert [verdict(f"{name}+{s}s", task, busy).reason for s in (1, 20)] == [Reason.TIME_LIMIT, Reason.PASSED]


def test_the_id_says_so_and_opens_it_again():
    profile = open_profile("human-eval+30s")
    assert profile.id == "human-eval@6d43fb9+30s" and open_profile(profile.id).timeout_s == 30
    assert open_profile("human-eval").id == "human-eval@6d43fb9"
    for wrong in ("human-eval+0s", "human-eval+s", "human-eval+nans", "human-eval+-1s", "human-eval+infs"):
        with pytest.raises(UserError, match="time limit"):
            open_profile(wrong)
    with pytest.raises(UnknownName):
        open_profile("human-evil+30s")


def test_calls_of_a_group_get_the_limit_each_and_an_alarm_whole_seconds():
    group = Checks(limits_s=(4.0, 8.0), values="", needs_numpy=False)
    assert group.total_s == 14 and group.within(100.0).limits_s == (100.0, 100.0)
    assert group.within(100.0).total_s == 102
    profile = open_profile("livecodebench+0.5s")
    assert timed(profile.harness, profile).rules["timeout_s"] == 1


def test_a_longer_limit_settles_a_verdict_in_a_column_of_its_own(data_dir, tmp_path):
    rows = tmp_path / "samples.jsonl"
    body = (
        "    return x + y\n\nimport time\nend = time.process_time() + 0.3\nwhile time.process_time() < end: pass\n"
    )
    rows.write_text(json.dumps({"task_id": "HumanEval/53", "completion": body}) + "\n")
    more = {"benchmark": "humaneval", "data": data_dir, "out": tmp_path / "run", "profiles": ["human-eval"]}
    run = api.grade(rows, timeout_s=0.1, **more)
    run = api.grade(tmp_path / "run", timeout_s=60, profiles=["human-eval"], data=data_dir)
    assert run.profiles == ("human-eval@6d43fb9+0.1s", "human-eval@6d43fb9+60s")
    (short,), (long,) = (list(run.verdicts(name)) for name in run.profiles)
    assert (short.reason, short.time_sensitive) == (Reason.TIME_LIMIT, True)
    assert (long.reason, long.time_sensitive) == (Reason.PASSED, False)
    with pytest.raises(UserError, match="time limit"):
        api.grade(tmp_path / "run", timeout_s=-1, profiles=["human-eval"], data=data_dir)
