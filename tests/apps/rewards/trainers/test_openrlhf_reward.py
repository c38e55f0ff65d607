"""OpenRLHF: its executor loads the file or asks the route (OpenRLHF/OpenRLHF@3c3be62)."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import types
from importlib.machinery import ModuleSpec
from types import SimpleNamespace
from unittest.mock import MagicMock

import pytest

from support.grading_service import served
from support.pages import blocks
from support.reward_battery import ASSERTS, CALLS, ROW, STDIO, UNREADABLE, battery, fenced

PROMPT = "<|im_start|>user\nspread<|im_end|>\n<|im_start|>assistant\n"
RIGHT = fenced("def spread(numbers):\n    return max(numbers) - min(numbers) if numbers else 0")


class AcceleratorsOnly:
    """Finds a stand-in for the modules that need an accelerator."""

    def find_spec(self, name, path=None, target=None):
        return (
            ModuleSpec(name, self, is_package=True)
            if name.split(".")[0] in {"flash_attn", "deepspeed", "vllm"}
            else None
        )

    def create_module(self, spec):
        module = types.ModuleType(spec.name)
        module.__path__ = []
        module.__getattr__ = lambda name: MagicMock()
        return module

    def exec_module(self, module):
        pass


@pytest.fixture(scope="module")
def agent(checkout):
    finder = AcceleratorsOnly()
    sys.meta_path.insert(0, finder)
    try:
        checkout("OpenRLHF+OpenRLHF", "openrlhf.utils.agent")
        import openrlhf.trainer.ppo_utils.experience_maker
        import openrlhf.trainer.ppo_utils.samples_generator
        import openrlhf.utils.agent
    finally:
        sys.meta_path.remove(finder)
    return openrlhf.utils.agent


class Tokenizer:
    """Characters are tokens."""

    def __call__(self, text, add_special_tokens, return_tensors):
        import torch

        return {"input_ids": torch.tensor([[ord(letter) for letter in text]])}

    def decode(self, ids, skip_special_tokens):
        assert not skip_special_tokens
        return "".join(map(chr, ids))


class Engine:
    """Generates what it was given."""

    def __init__(self, text):
        self.text = f"{text}<|im_end|>"

    async def generate(self, prompt, params, multi_modal_data=None):
        ids = [ord(letter) for letter in self.text]
        output = SimpleNamespace(token_ids=ids, text=self.text, finish_reason="stop", logprobs=None)
        return SimpleNamespace(outputs=[output])


def executed(agent, url, rows):
    """What OpenRLHF makes of replies, all under way at once: an ``Experience`` each."""
    from openrlhf.trainer.ppo_utils.samples_generator import SamplesGenerator

    executor = agent.SingleTurnAgentExecutor(url)
    params = SimpleNamespace(max_tokens=100, logprobs=None)

    async def every():
        one = [executor.execute(PROMPT, truth, params, 10_000, Tokenizer(), Engine(text)) for text, truth in rows]
        return await asyncio.gather(*one)

    generator = object.__new__(SamplesGenerator)
    return [generator._process_response_into_experience(each, max_len=100_000) for each in asyncio.run(every())]


def file_of_the_page():
    """What a shell makes of the page's argument."""
    argument = blocks("rewards.md", "sh", "OpenRLHF")[0].partition("--reward.remote_url ")[2].splitlines()[0]
    asked = argument.replace("python -c", f"{sys.executable} -c")
    return subprocess.run(["sh", "-c", f"printf %s {asked}"], capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize(
    ("form", "truth"), [("function", ASSERTS), ("function", ROW), ("function", CALLS), ("stdio", STDIO)]
)
def test_no_cheat_is_paid_and_right_programs_are(agent, form, truth):
    due = battery(form, truth, cheats=None if truth is ASSERTS else 1)
    found = executed(agent, file_of_the_page(), [(each.text, each.ground_truth) for each in due])
    assert {each.name: one.rewards.tolist() for each, one in zip(due, found, strict=True)} == {
        each.name: [each.reward] for each in due
    }
    assert all(one.scores.tolist() == one.rewards.tolist() for one in found)
    for one in found:
        assert {"acc", "pass_rate", "tampering", "grader_error", "truncated"} <= set(one.info)
        assert one.info["acc"].tolist() == one.rewards.tolist()


def test_the_route_pays_as_the_file(agent):
    due = battery("function", ASSERTS, cheats=1)
    with served(token=None) as service:
        url = [f"{service.address}/openrlhf"]
        found = executed(agent, url, [(each.text, each.ground_truth) for each in due])
    assert [one.rewards.tolist() for one in found] == [[each.reward] for each in due]


def test_an_unreadable_ground_truth_is_no_reward_and_never_0(agent, monkeypatch):
    monkeypatch.setenv("TRUEGRADE_REWARD_RETRY_S", "20")
    found = executed(agent, file_of_the_page(), [(RIGHT, truth) for truth in UNREADABLE])
    assert [one.rewards for one in found] == [None] * len(UNREADABLE)


def test_no_reward_ends_the_step(agent, monkeypatch):
    from openrlhf.trainer.ppo_utils.experience_maker import RemoteExperienceMaker

    (one,) = executed(agent, file_of_the_page(), [(RIGHT, "[]")])
    maker = object.__new__(RemoteExperienceMaker)
    maker.strategy = SimpleNamespace(
        args=SimpleNamespace(ds=SimpleNamespace(ring_attn_size=1, tensor_parallel_size=1))
    )
    maker.reward_model_group = None
    monkeypatch.setattr("openrlhf.trainer.ppo_utils.experience_maker.ray", MagicMock())
    with pytest.raises(ValueError, match="reward_model_group is required"):
        maker.make_experience([one])
