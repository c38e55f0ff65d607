"""The adapters to trainers without the trainers: those that import none are called as theirs calls them."""

from __future__ import annotations

import asyncio
import builtins
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import truegrade.apps.rewards
from support.reward_battery import ASSERTS, ROW, STDIO, UNREADABLE, battery, fenced
from truegrade.apps.rewards import trl, verl
from truegrade.apps.rewards.records import RewardError
from truegrade.errors import UserError
from truegrade.files.extras import importing

ADAPTERS = (
    *("areal", "nemo_gym", "open_r1", "openrlhf", "rllm", "skyrl", "trl", "verifiers", "verifiers_legacy", "verl"),
)
TRAINERS = (
    *("areal", "nemo_gym", "open_r1", "openrlhf", "rllm", "skyrl_gym", "trl", "verifiers", "verl"),
    *("ray", "torch", "transformers", "datasets", "omegaconf", "fastapi", "pydantic"),
)


@pytest.fixture(autouse=True)
def _settings_of_nobody(monkeypatch):
    monkeypatch.setenv("TRUEGRADE_REWARD_URL", "")


def of_verl(rows):
    async def every():
        asked = [verl.compute_score("taco", text, truth, {}) for text, truth in rows]
        return await asyncio.gather(*asked, return_exceptions=True)

    return [one if isinstance(one, Exception) else one["score"] for one in asyncio.run(every())]


def of_trl(rows):
    """With completions that are messages; as open-r1's, which have their tests in another column."""
    completions = [[{"role": "assistant", "content": text}] for text, _ in rows]
    truths = [truth for _, truth in rows]
    return trl.truegrade_reward(unknown="none")(
        prompts=["spread"] * len(rows), completions=completions, verification_info=truths, trainer_state=object()
    )


@pytest.mark.parametrize("adapter", [of_verl, of_trl])
def test_a_right_program_is_paid_and_no_channel(adapter):
    due = [
        *battery("function", ASSERTS, cheats=1),
        *battery("function", ROW, cheats=1),
        *battery("stdio", STDIO, cheats=1),
    ]
    found = adapter([(each.text, each.ground_truth) for each in due])
    assert [(each.name, value) for each, value in zip(due, found, strict=True)] == [
        (each.name, each.reward) for each in due
    ]


@pytest.mark.parametrize("adapter", [of_verl, of_trl])
def test_nothing_known_is_no_0(adapter):
    found = adapter([(fenced("print(1)"), truth) for truth in UNREADABLE])
    assert all(value is None or isinstance(value, RewardError) for value in found)


def test_what_trl_logs():
    logged, columns = {}, {}
    reward = trl.truegrade_reward(unknown="none")
    due = battery("function", ASSERTS, cheats=0)
    reward(
        completions=[*[each.text for each in due], due[0].text], ground_truth=[ASSERTS, ASSERTS, "[]"],
        log_extra=columns.__setitem__, log_metric=logged.__setitem__,
    )  # fmt: skip
    assert columns == {"truegrade_reason": ["passed", "wrong_answer", "grader_error"]}
    assert logged == {
        "truegrade/acc": 1 / 3, "truegrade/pass_rate": 1 / 3, "truegrade/tampering": 0.0,
        "truegrade/grader_error": 1 / 3, "truegrade/truncated": 0.0,
    }  # fmt: skip


@pytest.mark.parametrize("name", ADAPTERS)
def test_an_adapter_is_short(name):
    path = Path(truegrade.apps.rewards.__file__).parent / f"{name}.py"
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 120


def test_no_trainer_is_imported():
    program = (
        "import sys, truegrade, truegrade.apps.rewards.grader, truegrade.apps.rewards.verl,"
        f" truegrade.apps.rewards.trl, truegrade.apps.rewards.open_r1;"
        f" print([*{{*sys.modules}} & {{*{TRAINERS!r}}}])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.parametrize(
    ("name", "package"),
    [("areal", "areal.workflow"), ("nemo_gym", "nemo_gym"), ("skyrl", "skyrl_gym.envs"),
     ("verifiers", "verifiers"), ("verifiers_legacy", "verifiers"), ("open_r1", "open_r1.rewards")],
)  # fmt: skip
def test_a_trainer_that_is_missing_is_named_in_one_line(monkeypatch, name, package):
    def absent(asked, *rest, **more):
        if asked.partition(".")[0] == package.partition(".")[0]:
            raise ModuleNotFoundError(f"No module named {package!r}", name=package)
        return real(asked, *rest, **more)

    real = builtins.__import__
    monkeypatch.setattr(builtins, "__import__", absent)
    monkeypatch.delitem(sys.modules, f"truegrade.apps.rewards.{name}", raising=False)
    with pytest.raises(
        UserError, match=rf"{name} needs {package}, not installed here: install it from https://\S+$"
    ):
        importlib.import_module(f"truegrade.apps.rewards.{name}").register()


def test_what_a_trainer_itself_does_not_find_stays_as_it_is():
    with pytest.raises(ModuleNotFoundError, match="math_verify"), importing("verifiers", "x", "y"):
        raise ModuleNotFoundError("No module named 'math_verify'", name="math_verify")


def test_a_reward_imports_no_client_of_models():
    """A trainer's environment may hold another version of openai than the command line takes."""
    code = f"""
import importlib, sys
from truegrade.errors import UserError
for name in {ADAPTERS!r}:
    try:
        importlib.import_module("truegrade.apps.rewards." + name)
    except UserError:  # the trainer is not here
        pass
from truegrade.apps.rewards.trl import truegrade_reward
right = "```python\\ndef f(n):\\n    return n\\n```"
paid = truegrade_reward()(prompts=["f"], completions=[right], ground_truth=[["assert f(1) == 1"]])
print(paid, sorted({{"openai", "anthropic", "google.genai", "boto3"}} & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[1.0] []\n"
