"""TRL: ``GRPOTrainer`` calls the reward function, in a step of training too (huggingface/trl@f2cd577)."""

from __future__ import annotations

from collections import defaultdict
from types import SimpleNamespace

import pytest

from support.pages import blocks
from support.reward_battery import ASSERTS, RIGHT, ROW, STDIO, UNREADABLE, WRONG, battery, fenced
from support.tiny_llama import write_llama
from truegrade.apps.rewards.records import RewardError
from truegrade.apps.rewards.trl import truegrade_reward
from truegrade.errors import UserError


@pytest.fixture(scope="module")
def calculate(checkout):
    """``_calculate_rewards`` on what it needs of a trainer: the rest of one would load a model."""
    checkout("huggingface+trl", "trl")
    import torch
    from accelerate import Accelerator
    from trl.trainer import grpo_trainer

    def found(reward, rows):
        trainer = object.__new__(grpo_trainer.GRPOTrainer)
        logged = defaultdict(list)
        trainer.__dict__.update(
            accelerator=Accelerator(cpu=True), reward_funcs=[reward], reward_processing_classes=[None],
            reward_func_names=["truegrade"], state=SimpleNamespace(global_step=0), environments=None,
            model=SimpleNamespace(training=True), _metrics={"train": defaultdict(list)},
            _logs={"extra": defaultdict(list)}, _pending_metrics=logged, _pending_extra_logs=defaultdict(list),
            args=SimpleNamespace(report_to=[]),
        )  # fmt: skip
        prompts = [[{"role": "user", "content": "spread"}]] * len(rows)
        completions = [[{"role": "assistant", "content": text}] for text, _ in rows]
        inputs = [
            {"prompt": prompt, "ground_truth": truth} for prompt, (_, truth) in zip(prompts, rows, strict=True)
        ]
        return trainer._calculate_rewards(inputs, prompts, completions, [[1]] * len(rows))[:, 0], trainer

    assert torch.__version__
    return found


@pytest.mark.parametrize(("form", "truth"), [("function", ASSERTS), ("function", ROW), ("stdio", STDIO)])
def test_no_cheat_is_paid_and_right_programs_are(calculate, form, truth):
    due = battery(form, truth)
    found, _ = calculate(truegrade_reward(), [(each.text, each.ground_truth) for each in due])
    assert dict(zip([each.name for each in due], found.tolist(), strict=True)) == {
        each.name: each.reward for each in due
    }


def test_an_unreadable_ground_truth_is_left_out_of_the_group(calculate):
    found, _ = calculate(truegrade_reward(), [(fenced("print(1)"), truth) for truth in UNREADABLE])
    assert found.isnan().all()


PLANTED = [fenced(RIGHT["function"]), fenced(WRONG["function"]), *[fenced(RIGHT["function"])] * 2]
"""A group of four: right, wrong, then two whose tests cannot be read."""


def trained(folder, truths, monkeypatch):
    """The trainer of the page, on a model of random weights, for one step; its replies replaced by known ones."""
    import trl
    from transformers import AutoModelForCausalLM, AutoTokenizer

    import datasets

    model = write_llama(folder / "model")
    config = trl.GRPOConfig(
        output_dir=str(folder / "out"), max_steps=1, num_generations=4, per_device_train_batch_size=4,
        use_cpu=True,
        max_completion_length=4, logging_steps=1, report_to=[], bf16=False, save_strategy="no",
        shuffle_dataset=False,
    )  # fmt: skip
    row = {"prompt": [{"role": "user", "content": "spread"}], "ground_truth": ASSERTS}
    names = {
        "model": AutoModelForCausalLM.from_pretrained(model), "tokenizer": AutoTokenizer.from_pretrained(model),
        "config": config, "dataset": datasets.Dataset.from_list([row] * 4), "GRPOTrainer": trl.GRPOTrainer,
    }  # fmt: skip
    exec(blocks("rewards.md", "py", "TRL")[0], names)
    trainer, ours = names["trainer"], names["trainer"].reward_funcs[0]

    def truegrade(completions, ground_truth, **columns):
        assert ground_truth == [ASSERTS] * len(completions)
        planted = [[{"role": "assistant", "content": text}] for text in PLANTED]
        return ours(completions=planted, ground_truth=truths, **columns)

    trainer.reward_funcs = [truegrade]
    scored = []
    inner = trainer._generate_and_score_completions
    monkeypatch.setattr(
        trainer, "_generate_and_score_completions", lambda rows: scored.append(inner(rows)) or scored[-1]
    )
    trainer.train()
    return trainer, scored[0]["advantages"]


def test_a_step_of_training_leaves_out_what_is_not_known_and_logs_why(calculate, tmp_path, monkeypatch):
    trainer, advantages = trained(tmp_path, [ASSERTS, ASSERTS, "[]", "[]"], monkeypatch)
    assert advantages.tolist() == pytest.approx([0.7071, -0.7071, 0.0, 0.0], abs=1e-3)
    (logged,) = [row for row in trainer.state.log_history if "reward" in row]
    assert logged["rewards/truegrade/mean"] == logged["reward"] == 0.5
    assert logged["truegrade/grader_error"] == 0.5
    assert logged["truegrade/pass_rate"] == 0.25
    assert [*trainer._logs["extra"]["truegrade_reason"]][:1] == ["passed"]


def test_an_older_trl_would_take_none_for_0_so_it_is_an_error(calculate, monkeypatch):
    monkeypatch.setattr("truegrade.apps.rewards.trl.version", lambda name: "1.5.1")
    with pytest.raises(RewardError):
        calculate(truegrade_reward(), [(fenced("print(1)"), "[]")])
    found, _ = calculate(truegrade_reward(unknown="none"), [(fenced("print(1)"), "[]")])
    assert found.isnan().all()


@pytest.mark.parametrize(
    ("setting", "message"), [({"scheme": "most"}, "`scheme`"), ({"unknown": "zero"}, "`unknown`")]
)
def test_a_wrong_setting_is_found_before_training(setting, message):
    with pytest.raises(UserError, match=message):
        truegrade_reward(**setting)
