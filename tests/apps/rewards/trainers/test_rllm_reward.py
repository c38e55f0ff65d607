"""rLLM: its runner and its engine call the evaluator, its loader finds it by name (rllm-org/rllm@9beb6e0)."""

from __future__ import annotations

import asyncio
import sys
import tomllib
from pathlib import Path

import pytest

from support.pages import blocks
from support.reward_battery import ASSERTS, CALLS, ROW, STDIO, UNREADABLE, battery, fenced
from truegrade.apps.rewards.records import RewardError
from truegrade.errors import UserError

ROOT = Path(__file__).parents[4]


@pytest.fixture(scope="module")
def rllm(checkout):
    checkout("rllm-org+rllm", "rllm_model_gateway.models", "rllm-model-gateway/src")
    checkout("rllm-org+rllm", "rllm.eval.runner")
    import rllm

    return rllm


class Gateway:
    """rLLM's tests have one like it: what the model said, session by session."""

    def __init__(self, replies):
        self.replies = replies

    async def acreate_session(self, session_id, is_validation=False, sampling_params=None):
        pass

    def get_session_url(self, session_id, public=True):
        return f"http://gateway/{session_id}"

    async def aget_traces(self, session_id):
        from rllm_model_gateway.models import TraceRecord

        return [
            TraceRecord(
                trace_id=session_id, session_id=session_id, model="m", messages=[{"role": "user", "content": "Q"}],
                response_message={"role": "assistant", "content": self.replies[session_id.partition(":")[0]]},
                prompt_token_ids=[1], completion_token_ids=[2], logprobs=[0.0], finish_reason="stop", metadata={},
            )
        ]  # fmt: skip

    async def adelete_session(self, session_id):
        pass

    async def adelete_sessions(self, session_ids):
        pass


def run(rllm, evaluator, rows):
    """What ``rllm eval`` makes of rows whose replies the gateway recorded."""
    from rllm.eval.runner import run_dataset
    from rllm.types import Task

    @rllm.rollout(name="one-turn")
    def flow(task, config):
        return None

    tasks = [
        Task(id=f"t{at}", instruction="spread", metadata={"ground_truth": truth})
        for at, (_, truth) in enumerate(rows)
    ]
    gateway = Gateway({f"t{at}": text for at, (text, _) in enumerate(rows)})
    return asyncio.run(run_dataset(tasks, flow, "http://gateway", "m", evaluator=evaluator, gateway=gateway))


def evaluator_of_the_page():
    """``AgentTrainer(..., evaluator=...)`` as the page has it, with what it is given."""
    given = {}
    (code,) = blocks("rewards.md", "py", "rLLM")
    trainer = "from rllm.trainer import AgentTrainer\n"
    assert trainer in code
    exec(code.replace(trainer, ""), {"AgentTrainer": lambda **kwargs: given.update(kwargs), "given": None})
    return given["evaluator"]


@pytest.mark.parametrize(
    ("form", "truth"), [("function", ASSERTS), ("function", ROW), ("function", CALLS), ("stdio", STDIO)]
)
def test_no_cheat_is_paid_and_right_programs_are(rllm, form, truth):
    due = battery(form, truth, cheats=None if truth is ASSERTS else 1)
    result, episodes = run(rllm, evaluator_of_the_page(), [(each.text, each.ground_truth) for each in due])
    items = sorted(result.items, key=lambda item: item.idx)
    assert {each.name: item.reward for each, item in zip(due, items, strict=True)} == {
        each.name: each.reward for each in due
    }
    assert [item.is_correct for item in items] == [each.reward == 1.0 for each in due]
    assert all(item.error is None and item.signals["grader_error"] == 0.0 for item in items)
    assert all(episode.metrics["reason"] for episode in episodes)


def test_an_unreadable_ground_truth_is_an_error_and_no_trajectory(rllm):
    from truegrade.apps.rewards.rllm import TruegradeEvaluator

    rows = [(fenced("print(1)"), truth) for truth in UNREADABLE]
    result, episodes = run(rllm, TruegradeEvaluator(retry_s=20.0), rows)
    assert all("no reward" in item.error for item in result.items)
    assert len(result.items) == len(UNREADABLE)
    assert episodes == []


@pytest.mark.parametrize("where", ["artifact", "output", "step"])
def test_answers_are_looked_for_where_rllm_looks(rllm, where):
    from rllm.eval.reward_fns._helpers import extract_answer_text
    from rllm.types import Episode, Step, Trajectory

    from truegrade.apps.rewards.rllm import TruegradeEvaluator

    right = fenced("def spread(numbers):\n    return max(numbers) - min(numbers) if numbers else 0")
    step = Step(model_response="thinking", output=right if where == "step" else None)
    trajectory = Trajectory(steps=[step], output=right if where == "output" else None)
    episode = Episode(trajectories=[trajectory], artifacts={"answer": right} if where == "artifact" else {})
    assert extract_answer_text(episode) == right
    assert TruegradeEvaluator().evaluate({"ground_truth": ASSERTS}, episode).reward == 1.0


def test_the_loader_finds_it_by_name(rllm, tmp_path, monkeypatch):
    from rllm.eval.evaluator_loader import load_evaluator

    groups = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["entry-points"]
    info = tmp_path / "truegrade_entries-0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: truegrade-entries\nVersion: 0\n")
    names = "\n".join(f"{name} = {where}" for name, where in groups["rllm.evaluators"].items())
    (info / "entry_points.txt").write_text(f"[rllm.evaluators]\n{names}\n")
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    assert type(load_evaluator("truegrade")).__name__ == "TruegradeEvaluator"
    monkeypatch.setenv("TRUEGRADE_REWARD_SCHEME", "most")
    with pytest.raises(UserError, match="TRUEGRADE_REWARD_SCHEME"):
        load_evaluator("truegrade")


def test_the_older_form(rllm):
    from rllm.rewards.reward_types import RewardOutput

    from truegrade.apps.rewards.rllm import truegrade_reward

    due = battery("function", ASSERTS, cheats=1)
    found = [truegrade_reward(task_info={"ground_truth": each.ground_truth}, action=each.text) for each in due]
    assert all(isinstance(one, RewardOutput) for one in found)
    assert [one.reward for one in found] == [each.reward for each in due]
    with pytest.raises(RewardError):
        truegrade_reward({"ground_truth": "[]"}, due[0].text)
