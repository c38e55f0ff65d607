"""verl: its own loader and reward manager call ``compute_score`` (verl-project/verl@1dda039)."""

from __future__ import annotations

import asyncio

import pytest

from support.pages import blocks
from support.reward_battery import ASSERTS, CALLS, ROW, STDIO, UNREADABLE, battery, fenced
from truegrade.apps.rewards.records import RewardError
from truegrade.apps.rewards.verl import compute_score

KEYS = {"score", "acc", "pass_rate", "tampering", "grader_error", "truncated"}
CONFIG = """
reward:
  num_workers: 8
  custom_reward_function: {path: null, name: null, reward_kwargs: {retry_s: 20.0}}
  reward_manager: {source: register, name: naive, module: null}
  sandbox_fusion: {url: null, max_concurrent: 64, memory_limit_mb: 1024}
"""


class Tokenizer:
    """Characters are tokens."""

    def decode(self, ids, skip_special_tokens=True):
        return "".join(map(chr, ids.tolist()))


@pytest.fixture(scope="module")
def manager(checkout):
    checkout("verl-project+verl", "verl.trainer.ppo.reward")
    from omegaconf import OmegaConf
    from verl.trainer.ppo.reward import load_reward_manager

    lines = [
        line.removeprefix("+") for line in blocks("rewards.md", "sh", "verl")[0].split() if ".url=" not in line
    ]
    config = OmegaConf.merge(OmegaConf.create(CONFIG), OmegaConf.from_dotlist(lines))
    return load_reward_manager(config, Tokenizer())


def rewarded(manager, rows):
    """What verl's manager makes of rows, all under way at once, in its own loop."""
    import numpy as np
    import torch
    from verl import DataProto

    def item(text, truth):
        ids = torch.tensor([[ord(letter) for letter in text]])
        return DataProto.from_dict(
            tensors={"responses": ids, "attention_mask": torch.ones_like(ids)},
            non_tensors={
                "data_source": np.array(["taco"], dtype=object),
                "reward_model": np.array([{"ground_truth": truth}], dtype=object),
                "extra_info": np.array([{}], dtype=object),
            },
        )

    async def every():
        asked = [manager.run_single(item(text, truth)) for text, truth in rows]
        return await asyncio.gather(*asked, return_exceptions=True)

    return manager.loop.run_until_complete(every())


@pytest.mark.parametrize(
    ("form", "truth"), [("function", ASSERTS), ("function", ROW), ("function", CALLS), ("stdio", STDIO)]
)
def test_no_cheat_is_paid_and_right_programs_are(manager, form, truth):
    due = battery(form, truth)
    found = rewarded(manager, [(each.text, each.ground_truth) for each in due])
    assert {each.name: one["reward_score"] for each, one in zip(due, found, strict=True)} == {
        each.name: each.reward for each in due
    }
    assert all(set(one["reward_extra_info"]) == KEYS for one in found)


def test_an_unreadable_ground_truth_ends_the_step(manager):
    found = rewarded(manager, [(fenced("print(1)"), truth) for truth in UNREADABLE])
    assert [type(one) for one in found] == [RewardError] * len(UNREADABLE)


def test_the_same_without_verl():
    async def both():
        due = battery("function", ASSERTS, cheats=1)
        return due, await asyncio.gather(*[compute_score("d", each.text, each.ground_truth) for each in due])

    due, found = asyncio.run(both())
    assert [one["score"] for one in found] == [each.reward for each in due]
    assert all(set(one) == KEYS for one in found)
