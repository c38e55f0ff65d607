"""open-r1: its ``get_reward_funcs`` and its ``grpo.py`` (huggingface/open-r1@1416fa0) under TRL 0.18.0."""

from __future__ import annotations

import json
import runpy
import shlex
import sys

import pytest
import yaml

from support.pages import blocks
from support.reward_battery import ASSERTS, ROW, STDIO, UNREADABLE, battery, fenced
from support.tiny_llama import write_llama
from truegrade.apps.rewards.open_r1 import register
from truegrade.apps.rewards.records import RewardError


@pytest.fixture
def rewards(checkout, monkeypatch):
    checkout("huggingface+open-r1", "open_r1.rewards", "src")
    import open_r1.rewards

    monkeypatch.setattr(open_r1.rewards, "get_reward_funcs", open_r1.rewards.get_reward_funcs)
    return open_r1.rewards


@pytest.fixture
def grpo(rewards):
    trl = pytest.importorskip("trl")
    if trl.__version__ != "0.18.0":
        pytest.skip("trainers not present: open-r1 runs with TRL 0.18.0")
    return pytest.importorskip("open_r1.configs", exc_type=ImportError)


class Arguments:
    """What ``get_reward_funcs`` reads of ``GRPOScriptArguments``, which TRL's own class is below."""

    reward_funcs = ("truegrade", "format")
    cosine_min_value_wrong = cosine_max_value_wrong = cosine_min_value_correct = cosine_max_value_correct = 0.0
    cosine_max_len = repetition_n_grams = max_completion_len = soft_punish_cache = 10
    repetition_max_penalty = -1.0
    parallel_code_exec_per_proc = code_eval_test_batch_size = 1
    code_provider, code_eval_scoring_mode, code_language = "e2b", "weighted_sum", "python"


def called(rewards, rows):
    """As TRL 0.18 calls it: a plain call, its answer a list."""
    ours, theirs = rewards.get_reward_funcs(Arguments())
    assert theirs is rewards.format_reward
    prompts = [[{"role": "user", "content": "spread"}]] * len(rows)
    completions = [[{"role": "assistant", "content": text}] for text, _ in rows]
    found = ours(prompts=prompts, completions=completions, verification_info=[truth for _, truth in rows])
    return list(found)


def info(truth):
    """As the column of open-r1/verifiable-coding-problems-python."""
    tests = json.loads(truth)
    cases = [{"input": one, "output": two} for one, two in zip(tests["inputs"], tests["outputs"], strict=True)]
    return {"language": "python", "test_cases": cases}


@pytest.mark.parametrize(("form", "truth"), [("function", ASSERTS), ("function", ROW), ("stdio", info(STDIO))])
def test_no_cheat_is_paid_and_right_programs_are(rewards, form, truth):
    register()
    due = battery(form, truth)
    found = called(rewards, [(each.text, each.ground_truth) for each in due])
    assert dict(zip([each.name for each in due], found, strict=True)) == {each.name: each.reward for each in due}


@pytest.mark.parametrize("truth", [*UNREADABLE, {"language": "rust", "test_cases": [{"input": "", "output": ""}]}])
def test_an_unreadable_ground_truth_is_no_reward(rewards, truth):
    register(unknown="raise")
    with pytest.raises(RewardError):
        called(rewards, [(fenced("print(1)"), truth)])


def trained(folder, monkeypatch, truth):
    """The command on the page, with a model of random weights and a data set of one row."""
    (folder / "data").mkdir()
    row = {"problem": "spread", "verification_info": truth}
    (folder / "data" / "train.jsonl").write_text("".join(f"{json.dumps(row)}\n" for _ in range(4)))
    recipe = yaml.safe_load(blocks("rewards.md", "yaml", "open-r1")[0]) | {
        "model_name_or_path": str(write_llama(folder / "model")), "dataset_name": str(folder / "data"),
        "dataset_prompt_column": "problem", "output_dir": str(folder / "out"), "max_steps": 1,
        "num_generations": 2,
        "per_device_train_batch_size": 2, "max_completion_length": 4, "use_cpu": True, "report_to": [],
        "bf16": False, "save_strategy": "no", "logging_steps": 1, "torch_dtype": "float32",
    }  # fmt: skip
    (folder / "recipe.yaml").write_text(yaml.safe_dump(recipe))
    words = shlex.split(blocks("rewards.md", "console", "open-r1")[0].removeprefix("$ "))
    module = words[words.index("--module") + 1]
    monkeypatch.setattr(sys, "argv", [module, "--config", str(folder / "recipe.yaml")])
    runpy.run_module(module, run_name="__main__")
    return json.loads((folder / "out" / "trainer_state.json").read_text())["log_history"]


def test_a_step_of_training(grpo, tmp_path, monkeypatch):
    logged = trained(tmp_path, monkeypatch, info(STDIO))
    assert logged[0]["rewards/truegrade/mean"] == 0.0
    assert "rewards/format_reward/mean" in logged[0]


def test_training_ends_where_nothing_is_known_since_that_trl_would_take_it_for_0(grpo, tmp_path, monkeypatch):
    with pytest.raises(RewardError):
        trained(tmp_path, monkeypatch, {"language": "rust", "test_cases": [{"input": "1", "output": "1"}]})
