"""The profiles of trainers' rewards pay what the trainers' own code paid `run_trainer_rewards.py`."""

from __future__ import annotations

import json
import os

import pytest
from contest_rows import contest
from peer_process import peers, rows
from peer_replies import fenced
from profile_rows import completion, problem, sandbox_of
from run_trainer_rewards import FULL, GOLDEN, name, ours, scores
from trainer_corpus import ADD, MANY, SUMS, TRAINERS, functions, stdio, tagged

from support.thorough import one_in
from truegrade.grading import judgement
from truegrade.profiles import open_profile
from truegrade.records import Reason

STORED = json.loads(GOLDEN.read_text())
DIFFERENT = {
    "open-instruct asserts": {
        "e1d7e32d7e": "the shared arrays of results are not reproduced",
        "b1c2a3653d": "standard output has no reconfigure here",
    },
    "open-instruct stdio": {
        "00dd5a1234": "sys.stdout cannot be closed here",
        "9346b94293": "the list of tests is in no frame here",
        "1297e48411": "the list of tests is in no object here",
        "1a91211b99": "the shared arrays of results are not reproduced",
    },
    "open-r1 stdio": {"b3d86b3e3f": "the jail has no commands that a program could start"},
    "verl-sandbox-fusion stdio": {
        "197f9737ce": "a program that reads standard input has no __file__ here",
        "b3d86b3e3f": "the jail has no commands that a program could start",
    },
    "code-r1 asserts": {"ca080196e0": "a file may begin with a byte order mark, a text for python -c may not"},
    "code-r1 stdio": {"0a448db998": "the jail has no commands that a program could start"},
}
"""Comparison -> row -> why the verdicts differ."""
ADDS = "def add(a, b):\n    return a + b\n"
SUM = "for _ in range(int(input())):\n    print(sum(map(int, input().split())))\n"


def _judged(profile, task, reply, form="reply"):
    rules = open_profile(profile)
    answer = rules.answer(task, completion(reply, form))
    if answer.value is None:
        return answer.reason
    return rules.judgement(task, answer, sandbox_of(rules.limits)).reason


def _counted(profile, task, code):
    rules = open_profile(profile)
    return rules.tests_passed(task, rules.extract(task, completion(code, "program")), sandbox_of(rules.limits))


@pytest.mark.parametrize("compared", one_in(4, TRAINERS), ids=name)
def test_a_verdict_is_that_of_the_trainer(compared):
    stored = STORED[name(compared)]
    missing = [row.reply for row in compared.rows if row.key not in stored]
    assert missing == [], "run tests/profiles/run_trainer_rewards.py --peers FOLDER"
    everything = os.environ.get("TRUEGRADE_PARITY_ROWS") == "all"
    chosen = compared.rows[:: 1 if everything else compared.sample]
    found = ours(compared, chosen)
    differ = {key for key, reason in found.items() if (reason == "passed") != (stored[key] >= FULL)}
    assert differ <= DIFFERENT.get(name(compared), {}).keys()
    if everything:
        assert differ == DIFFERENT.get(name(compared), {}).keys()


@pytest.mark.slow
@pytest.mark.parametrize("compared", TRAINERS, ids=name)
def test_the_stored_scores_are_the_trainers(compared):
    chosen = rows(list(compared.rows), 6)
    try:
        paid = scores(compared, chosen, peers())
    except OSError as error:
        pytest.skip(f"peers not present: {error}")
    assert paid == {row.key: STORED[name(compared)][row.key] for row in chosen}


SHARED = [
    ("open-instruct", "asserts", ADD, "def add(a, b):\n    return 4\n"),
    ("open-instruct", "stdio", SUMS, "print(70)\n"),
    ("verl-sandbox-fusion", "asserts", ADD, "def add(a, b):\n    return 4\n"),
    ("verl-sandbox-fusion", "stdio", MANY, "n = int(input())\nprint(n if n < 9 else -1)\n"),
    ("open-r1", "stdio", MANY, "n = int(input())\nprint(n if n < 9 else -1)\n"),
]


@pytest.mark.parametrize(("profile", "form", "task", "code"), SHARED)
def test_a_share_is_counted_where_the_trainer_pays_one(profile, form, task, code):
    found = _counted(profile, task, code)
    wanted = {"open-instruct asserts": (1, 4), "open-instruct stdio": (1, 3), "open-r1 stdio": (9, 12),
              "verl-sandbox-fusion asserts": (1, 4), "verl-sandbox-fusion stdio": (9, 10)}  # fmt: skip
    assert found == judgement.TestCount(*wanted[f"{profile} {form}"])


def test_rewards_that_are_all_or_nothing_count_no_tests():
    for profile in ("rllm-kodcode", "rllm-humanevalplus", "code-r1"):
        assert _counted(profile, ADD, ADDS) is None


def test_one_test_out_of_time_loses_the_whole_score_of_open_r1():
    task = contest((("1\n", "1\n"), ("9\n", "9\n")))
    code = "n = input()\nwhile n == '9':\n    pass\nprint(n)\n"
    rules = open_profile("open-r1+0.2s")
    answer = rules.extract(task, completion(code, "program"))
    assert rules.tests_passed(task, answer, sandbox_of(rules.limits)) == judgement.TestCount(0, 2)


def test_where_there_is_no_test_nothing_is_known():
    empty = contest(())
    for profile in ("open-instruct", "open-r1", "verl-sandbox-fusion", "code-r1"):
        assert _judged(profile, empty, SUM, "program") is Reason.GRADER_ERROR
        assert _counted(profile, empty, SUM) is None


def test_a_word_keeps_a_right_program_from_being_run():
    assert _judged("open-instruct", ADD, fenced(f"# no threading\n{ADDS}")) is Reason.WRONG_ANSWER
    assert _counted("open-instruct", ADD, f"import os\n{ADDS}") == judgement.TestCount(0, 4)
    assert _judged("strict", ADD, fenced(f"# no threading\n{ADDS}")) is Reason.PASSED


def test_the_word_pytest_switches_the_tests_off():
    own = "# pytest\ndef add(a, b):\n    return 0\n\ndef test_add():\n    assert add(1, 2) == 0\n"
    assert _judged("rllm-kodcode", ADD, fenced(own)) is Reason.PASSED
    assert _judged("rllm-kodcode", ADD, fenced(own.replace("# pytest\n", ""))) is not Reason.PASSED


def test_code_r1_reads_nothing_without_its_tags():
    assert _judged("code-r1", SUMS, fenced(SUM)) is Reason.NO_CODE
    assert _judged("code-r1", SUMS, tagged(fenced(SUM))) is Reason.PASSED


def test_tests_that_a_reward_cannot_hold_are_the_graders_fault():
    loop = problem("mbpp", tests="for n in range(3):\n    assert add(n, 0) == n\n")
    assert _judged("rllm-humanevalplus", loop, ADDS, "program") is Reason.GRADER_ERROR
    assert _judged("rllm-kodcode", loop, ADDS, "program") is Reason.GRADER_ERROR
    for profile in ("open-instruct", "verl-sandbox-fusion", "code-r1"):
        assert _judged(profile, loop, ADDS, "program") is Reason.PASSED
        assert _judged(profile, loop, ADDS.replace("+", "-"), "program") is Reason.PASSED
        assert _judged(profile, loop, ADDS.replace("a + b", "b"), "program") is Reason.RUNTIME_ERROR


def test_the_rows_are_of_every_sort():
    assert len(functions()) > 400 and len(stdio()) > 100
