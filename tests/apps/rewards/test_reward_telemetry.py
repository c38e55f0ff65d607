"""What telemetry counts and keeps, by a real pool in this process."""

import json
import pickle
import time

import pytest

from support.reward_replies import LINES, SQUARES, WRONG, fenced, square
from truegrade.apps.rewards.busy_clock import BusyClock
from truegrade.apps.rewards.grader import RewardGrader
from truegrade.apps.rewards.records import PolicyReply
from truegrade.apps.rewards.telemetry import Telemetry
from truegrade.apps.rewards.trl import truegrade_reward
from truegrade.errors import UserError

EQUAL = """class E:
    def __eq__(self, other):
        return True
def f(n):
    return E()"""
LEAVES = "import os\ndef f(n):\n    os._exit(0)"


@pytest.fixture(scope="module", autouse=True)
def pool():
    """Keeps the node's pool open while graders of other settings use it."""
    with RewardGrader(workers=2) as grader:
        grader.grade_sync([square()])
        yield grader


def cheat(code, **about):
    return PolicyReply(text=fenced(code), ground_truth=SQUARES, **about)


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_a_step_counts_what_was_paid_and_names_attempts(tmp_path):
    telemetry = Telemetry(tmp_path, shadow_share=1.0)
    replies = [
        square(problem_id="a"), square(WRONG, problem_id="a"), square(truth=[], problem_id="b"),
        cheat(EQUAL, problem_id="b"), cheat(EQUAL.replace("E", "Same")), cheat(LEAVES),
    ]  # fmt: skip
    with RewardGrader(telemetry=telemetry) as grader:
        rewards = grader.grade_sync(replies)
        step = telemetry.step()
        assert telemetry.settle(30)
    assert [reward.value for reward in rewards] == [1.0, 0.0, None, 0.0, 0.0, 0.0]
    (written,) = lines(tmp_path / "steps.jsonl")
    assert (step.step, step.mean_reward, step.pass_rate) == (0, 0.2, 0.2)
    assert (step.counts.replies, step.counts.nulls, step.counts.right) == (6, 1, 1)
    assert (step.unpaid, step.looked_at, step.attempts) == (4, 4, 3)
    assert step.channels == {"equality": 2, "exit-status": 1} == written["channels"]
    assert step.attempt_rate == pytest.approx(0.5) == written["attempt_rate"]
    assert step.problems["a"].replies == 2 and step.problems["b"].nulls == 1
    kept = lines(tmp_path / "hacks.jsonl")
    assert {(one["channel"], one["paid"], one["profile"]) for one in kept} == {
        ("equality", "no", "strict"),
        ("exit-status", "no", "strict"),
    }
    assert telemetry.now.step == 1 and telemetry.now.counts.replies == 0


def test_a_leaky_profile_says_what_it_would_have_paid():
    program = {"ground_truth": SQUARES, "form": "program"}
    telemetry = Telemetry(shadow="open-instruct", shadow_share=1.0)
    with RewardGrader(telemetry=telemetry) as grader:
        grader.grade_sync([PolicyReply(text=EQUAL, **program), square(WRONG), cheat(EQUAL)])
        assert telemetry.settle(30)
    assert telemetry.now.attempts == 2 and telemetry.now.shadow_paid >= 1


def test_a_shadow_without_rules_for_a_problem_leaves_attempts_to_the_bait():
    telemetry = Telemetry(shadow="human-eval", shadow_share=1.0)
    with RewardGrader(telemetry=telemetry) as grader:
        text = fenced("n = int(input())\nraise TimeoutError")
        assert grader.grade_sync([PolicyReply(text=text, ground_truth=LINES)])[0].value == 0.0
        assert telemetry.settle(30)
    assert (telemetry.now.looked_at, telemetry.now.attempts, telemetry.now.shadow_paid) == (1, 1, 0)


def test_a_share_is_looked_at_and_the_rate_stands_for_all():
    telemetry = Telemetry(shadow_share=0.5)
    with RewardGrader(telemetry=telemetry) as grader:
        grader.grade_sync([cheat(f"{LEAVES}  # {number}") for number in range(16)])
        assert telemetry.settle(30)
    assert 0 < telemetry.now.looked_at < 16
    assert telemetry.numbers["attempt_rate"] == 1.0


def test_steps_end_by_themselves_after_so_many_replies(tmp_path):
    telemetry = Telemetry(tmp_path, shadow=None, step_replies=2)
    with RewardGrader(telemetry=telemetry) as grader:
        for _ in range(5):
            grader.grade_sync([square()])
    assert [(one["step"], one["counts"]["replies"]) for one in lines(tmp_path / "steps.jsonl")] == [(0, 2), (1, 2)]
    assert telemetry.numbers["mean_reward"] == 1.0


def test_settings_at_fault_are_named(tmp_path):
    with pytest.raises(UserError, match="`shadow_share`: 2 is no share"):
        Telemetry(shadow_share=2)
    with pytest.raises(UserError, match="`step_replies`: 0"):
        Telemetry(step_replies=0)
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="name another folder"):
        Telemetry(tmp_path / "file")


def test_the_share_of_a_step_that_rewards_take_is_known():
    with RewardGrader(telemetry=(telemetry := Telemetry(shadow=None))) as grader:
        grader.grade_sync(
            [PolicyReply(text="def f(n): return n", form="program", ground_truth=["assert f(2) == 2"])]
        )
        time.sleep(0.05)
        step = telemetry.step()
    assert 0 < step.reward_s < step.step_s - 0.04
    after = telemetry.step()
    assert after.reward_s == 0 <= after.step_s < step.step_s


def test_a_busy_clock_counts_what_runs_side_by_side_once():
    clock = BusyClock()
    with clock:
        with clock:
            time.sleep(0.01)
        assert clock.seconds >= 0.01
    spent = clock.seconds
    time.sleep(0.01)
    assert clock.seconds == spent < 0.05


def test_trl_logs_the_share_between_two_batches():
    logged = {}
    reward = truegrade_reward(unknown="none")
    for _ in range(2):
        reward(completions=["```python\ndef f(n): return n\n```"], ground_truth=[["assert f(2) == 2"]],
               log_metric=logged.__setitem__)  # fmt: skip
        first = dict(logged) if len(logged) == 5 else {}
    assert "truegrade/reward_share" not in first
    assert 0 < logged["truegrade/reward_share"] <= 1
    assert pickle.loads(pickle.dumps(reward))._time is None
