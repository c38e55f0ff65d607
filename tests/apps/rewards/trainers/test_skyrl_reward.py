"""SkyRL: ``skyrl_gym.make`` builds the environment, 32 threads step it (NovaSky-AI/SkyRL@a956457)."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from support.pages import blocks
from support.reward_battery import ASSERTS, ROW, STDIO, UNREADABLE, battery, fenced
from truegrade.apps.rewards.records import RewardError

THREADS = 32
"""``max_env_workers`` of SkyRL."""


@pytest.fixture(scope="module")
def skyrl_gym(checkout):
    checkout("NovaSky-AI+SkyRL", "skyrl_gym", "skyrl-gym")
    import skyrl_gym

    exec(blocks("rewards.md", "py", "SkyRL")[0], {})
    return skyrl_gym


def stepped(skyrl_gym, rows):
    def step(row):
        text, truth = row
        extras = {"reward_spec": {"method": "rule", "ground_truth": truth}, "max_turns": 1}
        env = skyrl_gym.make("truegrade", env_config={"retry_s": 30.0}, extras=extras)
        env.init([{"role": "user", "content": "spread"}])
        try:
            return env.step(text), env.get_metrics()
        except RewardError as error:
            return error, {}

    with ThreadPoolExecutor(THREADS) as threads:
        return list(threads.map(step, rows))


@pytest.mark.parametrize(("form", "truth"), [("function", ASSERTS), ("function", ROW), ("stdio", STDIO)])
def test_no_cheat_is_paid_and_right_programs_are(skyrl_gym, form, truth):
    due = battery(form, truth)
    found = stepped(skyrl_gym, [(each.text, each.ground_truth) for each in due])
    assert {each.name: said["reward"] for each, (said, _) in zip(due, found, strict=True)} == {
        each.name: each.reward for each in due
    }
    assert all(said["done"] and metrics["grader_error"] == 0.0 for said, metrics in found)


def test_an_unreadable_ground_truth_is_no_reward(skyrl_gym):
    found = stepped(skyrl_gym, [(fenced("print(1)"), truth) for truth in UNREADABLE])
    assert [type(said) for said, _ in found] == [RewardError] * len(UNREADABLE)
