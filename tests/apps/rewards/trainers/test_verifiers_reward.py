"""verifiers: ``Task.score`` of a trace, and ``Rubric.score_group`` (PrimeIntellect-ai/verifiers@a60a606)."""

from __future__ import annotations

import asyncio
import tomllib
from typing import Any

import pytest

from support.pages import blocks
from support.reward_battery import ASSERTS, ROW, STDIO, UNREADABLE, battery, fenced

FORMS = [("function", ASSERTS), ("function", ROW), ("stdio", STDIO)]


@pytest.fixture(scope="module")
def vf(checkout):
    checkout("PrimeIntellect-ai+verifiers", "verifiers.v1")
    import verifiers.v1

    return verifiers.v1


@pytest.fixture(scope="module")
def legacy(checkout):
    checkout("PrimeIntellect-ai+verifiers", "verifiers.legacy")
    import verifiers.legacy

    return verifiers.legacy


def plugged(vf, data):
    """A task of which only the configuration on the page names the reward."""
    config = tomllib.loads(blocks("rewards.md", "toml", "verifiers")[0])["env"]["taskset"]["task"]
    return vf.Task(data, vf.TaskConfig.model_validate(config))


def subclassed(vf, data):
    from truegrade.apps.rewards.verifiers import TruegradeTask

    return TruegradeTask(data)


def scored(vf, make, rows):
    """Traces of replies, scored by verifiers; errors are recorded as its rollout does."""

    class Data(vf.TaskData):
        ground_truth: Any = None

    async def one(text, truth):
        task = make(vf, Data(prompt="spread", ground_truth=truth))
        node = vf.MessageNode(message=vf.AssistantMessage(content=text), sampled=True)
        agent = vf.AgentInfo(config=vf.AgentConfig())
        trace = vf.Trace(task=vf.TraceTask(type="T", data=task.data), agent=agent, nodes=[node])
        try:
            await task.score(trace)
            trace.ok = True
        except vf.RolloutError as error:
            trace.record_error(error)
        return trace

    async def every():
        return await asyncio.gather(*[one(text, truth) for text, truth in rows])

    return asyncio.run(every())


@pytest.mark.parametrize("make", [plugged, subclassed])
@pytest.mark.parametrize(("form", "truth"), FORMS)
def test_no_cheat_is_paid_and_right_programs_are(vf, make, form, truth):
    due = battery(form, truth)
    traces = scored(vf, make, [(each.text, each.ground_truth) for each in due])
    assert not [trace.errors for trace in traces if trace.errors]
    assert {each.name: trace.reward for each, trace in zip(due, traces, strict=True)} == {
        each.name: each.reward for each in due
    }
    assert all(trace.ok and [*trace.rewards] == ["truegrade"] for trace in traces)
    assert all(trace.metrics["truegrade_grader_error"] == 0.0 for trace in traces)
    assert all(trace.metrics["truegrade_acc"] == trace.reward for trace in traces)


@pytest.mark.parametrize("make", [plugged, subclassed])
def test_an_unreadable_ground_truth_is_a_trace_that_is_not_scored(vf, make):
    traces = scored(vf, make, [(fenced("print(1)"), truth) for truth in UNREADABLE])
    assert [(trace.ok, trace.rewards, trace.errors[0].type) for trace in traces] == [
        (False, {"truegrade": None}, "TaskError")
    ] * len(UNREADABLE)


# ------------------------------------------------------------------------------------------------- legacy


def rolled_out(legacy, rows, rubric=None, group=True):
    from truegrade.apps.rewards.verifiers_legacy import truegrade_rubric

    rubric = rubric or truegrade_rubric(retry_s=30.0)
    states = [
        legacy.State(
            {"prompt": [], "completion": [{"role": "assistant", "content": text}], "answer": "", "error": None,
             "info": {"ground_truth": truth}, "trajectory": [{"advantage": None, "reward": None}]}
        )
        for text, truth in rows
    ]  # fmt: skip

    async def score():
        if group:
            await rubric.score_group(states)
        else:
            await asyncio.gather(*[rubric.score_rollout(state) for state in states])

    asyncio.run(score())
    return states


@pytest.mark.parametrize("group", [True, False])
@pytest.mark.parametrize(("form", "truth"), FORMS)
def test_the_rubric_pays_no_cheat(legacy, form, truth, group):
    due = battery(form, truth)
    states = rolled_out(legacy, [(each.text, each.ground_truth) for each in due], group=group)
    assert {each.name: state["reward"] for each, state in zip(due, states, strict=True)} == {
        each.name: each.reward for each in due
    }
    assert {name for state in states for name in state["metrics"]} == {
        "truegrade", "truegrade_pass_rate", "truegrade_tampering", "truegrade_truncated"
    }  # fmt: skip


def test_what_is_not_known_moves_no_baseline_and_is_an_error_to_roll_out_again(legacy):
    due = battery("function", ASSERTS, cheats=0)
    rows = [
        *[(each.text, each.ground_truth) for each in due],
        *[(fenced("print(1)"), truth) for truth in UNREADABLE],
    ]
    known, unknown = (states := rolled_out(legacy, rows))[: len(due)], states[len(due) :]
    assert [(state["reward"], state["advantage"], state["error"]) for state in known] == [
        (1.0, 0.5, None), (0.0, -0.5, None)
    ]  # fmt: skip
    assert all(state["advantage"] == 0.0 and state["reward"] == 0.5 for state in unknown)
    assert all(state["trajectory"] == [{"advantage": 0.0, "reward": 0.5}] for state in unknown)
    assert all(isinstance(state["error"], legacy.InfraError) for state in unknown)


def test_one_at_a_time_what_is_not_known_is_an_error(legacy):
    states = rolled_out(legacy, [(fenced("print(1)"), truth) for truth in UNREADABLE], group=False)
    assert all(isinstance(state["error"], legacy.InfraError) for state in states)


def test_the_rubric_on_the_page(legacy):
    names: dict[str, Any] = {}
    exec(blocks("rewards.md", "py", "verifiers")[0], names)
    (state,) = rolled_out(legacy, [(fenced("def spread(numbers):\n    return 6"), ASSERTS)], names["rubric"])
    assert state["reward"] == 0.0
