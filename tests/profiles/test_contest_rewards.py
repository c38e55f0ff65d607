"""The trainers' rewards for contests as profiles: a reply is paid in full where the trainer's own code pays it."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from contest_reward_rows import NOT_REPRODUCED, REWARDS, ask, corpus, missing
from contest_rows import SUCCESSOR, contest, judged, reply
from livecodebench_rows import problem_of
from peer_process import peers, rows

from support.thorough import one_in
from truegrade.profiles import open_profile
from truegrade.records import Answer, Reason
from truegrade.sandbox import Sandbox

GOLDEN = json.loads(Path(__file__).with_name("golden_contest_rewards.json").read_text())
"""Reward -> row -> what the trainer's own code paid at the profile's commit, written from
`contest_reward_rows.ask`: 1.0 to ``paid``, 0.0 to ``unpaid``, a share, or null for a failed assertion, else."""
PARTS = ("texts", "outputs", "programs", "completions", "cheats", "clock")
FEW = 12
TWO = (("3 4\n", "7\n"), ("1 1\n", "2\n"))
SUM = "print(sum(map(int, input().split())))\n"


def known(reward):
    """Row -> what the trainer's code pays for it."""
    found = GOLDEN[reward]
    return dict.fromkeys(found["paid"], 1.0) | dict.fromkeys(found["unpaid"], 0.0) | found["others"]


def ours(reward, chosen):
    """Whether each reply is paid in full by the profile; None where the grader says that it cannot say."""
    rules = open_profile(reward)
    with Sandbox(rules.limits, workers=2) as sandbox, ThreadPoolExecutor(2) as pool:

        def one(row):
            pairs = zip(row.tests["inputs"], row.tests["outputs"], strict=True)
            stored = json.dumps([{"input": given, "output": wanted, "testtype": ""} for given, wanted in pairs])
            problem = problem_of(row.name, stored, row.tests["fn_name"])
            answer = rules.answer(problem, reply(row.reply))
            if answer.value is None:
                return False
            found = rules.judgement(problem, answer, sandbox)
            return None if found.reason is Reason.GRADER_ERROR else found.passed

        return list(pool.map(one, chosen))


def differences(reward, chosen, theirs):
    """Rows that one pays in full and the other does not, but for those that cannot be reproduced."""
    return [
        (row.name, paid, found)
        for row, paid, found in zip(chosen, theirs, ours(reward, chosen), strict=True)
        if (paid if paid is None else paid == 1.0) != found and not row.name.startswith(NOT_REPRODUCED)
    ]


@pytest.mark.parametrize("reward", one_in(2, REWARDS))
def test_a_part_of_the_corpus_is_paid_as_recorded(reward):
    recorded = known(reward)
    found = [row for row in corpus() if row.name in recorded and row.part != "clock"]
    chosen = rows(found, 0) or [
        row for part in PARTS for row in _spread([one for one in found if one.part == part])
    ]
    assert len(chosen) >= 3 * FEW
    assert differences(reward, chosen, [recorded[row.name] for row in chosen]) == []


def _spread(found):
    return found[:: len(found) // FEW + 1]


@pytest.mark.slow
@pytest.mark.parametrize("reward", REWARDS)
def test_replies_are_paid_as_the_checkout_pays_them_parity(reward):
    if why := missing(peers(), reward):
        pytest.skip(why)
    chosen = rows(corpus(), 0) or [row for row in corpus() if row.part in ("texts", "outputs")][::4]
    for workers in (2, 1, 1):  # both go by the clock: what a busy machine decided is asked again, alone
        found = differences(reward, chosen, ask(peers(), reward, chosen, workers=workers))
        differing = {name for name, *_ in found}
        chosen = [row for row in chosen if row.name in differing]
        if not found:
            break
    assert found == []


def test_verl_pays_a_share_of_the_first_ten_tests():
    tests = tuple((f"{n}\n", f"{n}\n") for n in range(12))
    problem, rules = contest(tests), open_profile("verl-prime")
    half, late = "n = int(input())\nprint(n if n % 2 else -1)\n", "n = int(input())\nprint(n if n < 10 else -1)\n"
    with Sandbox(rules.limits, workers=1) as sandbox:
        counted = rules.tests_passed(problem, Answer(value=half, found=""), sandbox)
        assert (counted.passed, counted.tests) == (5, 10)
        assert not rules.judgement(problem, Answer(value=half, found=""), sandbox).passed
        assert rules.judgement(problem, Answer(value=late, found=""), sandbox).passed


def test_a_problem_without_tests_is_paid_where_the_trainer_pays_it():
    reasons = {name: judged(name, [(contest(()), SUM)])[0].reason for name in REWARDS}
    assert reasons == {
        "verl-prime": "passed", "nemo-gym": "passed", "rllm-lcb": "grader_error", "skyrl-lcb": "grader_error",
    }  # fmt: skip


@pytest.mark.parametrize("reward", REWARDS)
def test_an_honest_pass_is_not_marked_and_a_bought_one_is(reward):
    equal = "class E(int):\n    def __eq__(self, other):\n        return True\n\n\ndef f(x):\n    return E(0)\n"
    honest, bought = judged(reward, [(contest(TWO), SUM), (contest(SUCCESSOR, "f"), equal)])
    assert honest.passed and "tampering" not in honest.marks
    assert bought.passed and "tampering" in bought.marks


def test_verl_forgives_floats_that_others_do_not_and_marks_no_tampering():
    rows_ = [(contest((("\n", "3.14159266"),)), "import sys\nprint(3.14159265)\n")]
    found = {name: judged(name, rows_)[0] for name in REWARDS}
    assert {name for name, judgement in found.items() if judgement.passed} == {"verl-prime"}
    assert "tampering" not in found["verl-prime"].marks
