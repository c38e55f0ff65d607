"""AReaL: its workflow of one turn, and its wrapper with a pool of processes (inclusionAI/AReaL@4aef98d)."""

from __future__ import annotations

import asyncio
import logging

import pytest

from support.pages import blocks
from support.reward_battery import ASSERTS, CALLS, ROW, STDIO, UNREADABLE, battery, fenced
from truegrade.apps.rewards.records import RewardError
from truegrade.errors import UserError


@pytest.fixture(scope="module")
def areal(checkout):
    checkout("inclusionAI+AReaL", "areal.workflow.rlvr")
    from truegrade.apps.rewards import areal

    return areal


class Tokenizer:
    """Characters are tokens."""

    pad_token_id = eos_token_id = 0

    def apply_chat_template(self, messages, **_):
        return {"input_ids": [ord(letter) for letter in messages[-1]["content"]]}

    def decode(self, ids):
        return "".join(map(chr, ids))


class Engine:
    """Generates what the prompt asks it for."""

    async def agenerate(self, request):
        from areal.api import ModelResponse

        ids = [ord(letter) for letter in f"{Tokenizer().decode(request.input_ids)}<|im_end|>"]
        count = len(ids)
        return ModelResponse(
            input_tokens=request.input_ids,
            output_tokens=ids,
            output_logprobs=[0.0] * count,
            output_versions=[0] * count,
        )


def arguments_of_the_page():
    """What the page gives ``trainer.train``."""
    given = {}

    class Trainer:
        def train(self, **kwargs):
            given.update(kwargs)

    from areal.api.cli_args import GRPOConfig

    class Config:
        gconfig = GRPOConfig.__dataclass_fields__["gconfig"].default_factory()
        tokenizer_path = Tokenizer()

    (code,) = blocks("rewards.md", "py", "AReaL")
    exec(code, {"trainer": Trainer(), "config": Config()})
    return given


def episodes(rows, group=1):
    """Trajectories of the page's workflow, all under way at once, in AReaL's groups."""
    from areal.infra.remote_inf_engine import GroupedRolloutWorkflow
    from areal.utils.dynamic_import import import_from_string

    given = arguments_of_the_page()
    workflow = import_from_string(given["workflow"])(**given["workflow_kwargs"])
    grouped = GroupedRolloutWorkflow(workflow, group, logging.getLogger("areal"))
    data = [{"messages": [{"role": "user", "content": text}], "ground_truth": truth} for text, truth in rows]

    async def every():
        return await asyncio.gather(*[grouped.arun_episode(Engine(), each) for each in data])

    return asyncio.run(every())


@pytest.mark.parametrize(
    ("form", "truth"), [("function", ASSERTS), ("function", ROW), ("function", CALLS), ("stdio", STDIO)]
)
def test_no_cheat_is_paid_and_right_programs_are(areal, form, truth):
    due = battery(form, truth, cheats=None if truth is ASSERTS else 1)
    found = episodes([(each.text, each.ground_truth) for each in due])
    assert {each.name: one["rewards"].tolist() for each, one in zip(due, found, strict=True)} == {
        each.name: [each.reward] for each in due
    }


def test_an_unreadable_ground_truth_is_no_trajectory(areal, monkeypatch):
    monkeypatch.setenv("TRUEGRADE_REWARD_RETRY_S", "20")
    assert episodes([(fenced("print(1)"), truth) for truth in UNREADABLE], group=2) == [None] * len(UNREADABLE)


def test_a_wrong_setting_is_found_before_training(areal, monkeypatch):
    monkeypatch.setenv("TRUEGRADE_REWARD_ON_ERROR", "ignore")
    with pytest.raises(UserError, match="TRUEGRADE_REWARD_ON_ERROR"):
        episodes([])


def test_the_function_in_areals_pool_of_processes(areal):
    from areal.api.reward_api import AsyncRewardWrapper

    wrapped = AsyncRewardWrapper(areal.reward_fn, max_workers=2, max_retries=0)
    due = battery("function", ASSERTS, cheats=1)[:6]

    async def every(rows):
        asked = [wrapped("spread", f"{text}<|im_end|>", [1], [2], ground_truth=truth) for text, truth in rows]
        return await asyncio.gather(*asked, return_exceptions=True)

    assert asyncio.run(every([(each.text, each.ground_truth) for each in due])) == [each.reward for each in due]
    found = asyncio.run(every([(due[0].text, truth) for truth in UNREADABLE]))
    assert [type(one) for one in found] == [RewardError] * len(UNREADABLE)
