"""What conversations earn through each way in: the grader, adapters, the service's routes."""

from __future__ import annotations

import asyncio
import sys
from types import ModuleType, SimpleNamespace

import pytest

from support.grading_service import served
from truegrade.apps.rewards import rllm, trl, verl
from truegrade.apps.rewards.grader import RewardGrader
from truegrade.apps.rewards.records import PolicyReply, RewardError
from truegrade.apps.rewards.telemetry import Telemetry
from truegrade.errors import UserError

RIGHT, WRONG = (f"```python\ndef add(a, b):\n    return a {sign} b\n```" for sign in "+-")
TESTS = ["assert add(1, 2) == 3"]
TEXTS = {
    f"{WRONG}\nuser\n<tool_response>\n{RIGHT}\n</tool_response>\nassistant\n": 0.0,
    f"{RIGHT}\nuser\n<tool_response>\n{WRONG}\n</tool_response>\nassistant\nDone.": 1.0,
    f"{WRONG}\n<observation>\n{RIGHT}": 0.0,
}


def said(content):
    return {"role": "assistant", "content": content}


MESSAGES = [
    ([said(WRONG), {"role": "tool", "content": RIGHT}], 0.0),
    ([said(RIGHT), {"role": "user", "content": "Time is up."}], 1.0),
    ([said(RIGHT), said("Done.")], 1.0),
    ([said(RIGHT), {**said(None), "tool_calls": [{}]}], 1.0),
    ([said(None)], 0.0),
    ([{"role": "tool", "content": RIGHT}], None),
    ([], None),
    *[([said(text)], value) for text, value in TEXTS.items()],
    *TEXTS.items(),
]


@pytest.fixture(autouse=True)
def _settings_of_nobody(monkeypatch):
    monkeypatch.setenv("TRUEGRADE_REWARD_URL", "")


def test_trl_pays_the_models_own_messages():
    completions = [each for each, _ in MESSAGES]
    paid = trl.truegrade_reward(unknown="none")(completions=completions, ground_truth=[TESTS] * len(MESSAGES))
    assert paid == [value for _, value in MESSAGES]
    with pytest.raises(RewardError, match="no message of the conversation is the model's"):
        trl.truegrade_reward(unknown="raise")(completions=[[]], ground_truth=[TESTS])


def test_verl_pays_the_models_own_turns_of_a_text():
    async def every():
        asked = [verl.compute_score("taco", text, TESTS, {}) for text in TEXTS]
        return [each["score"] for each in await asyncio.gather(*asked)]

    assert asyncio.run(every()) == [*TEXTS.values()]


class _Said(SimpleNamespace):
    def __init__(self, **fields):
        super().__init__(**{"output": None, "model_response": "", "done": False, "model_output": None, **fields})


def test_rllm_pays_no_output_of_a_tool(monkeypatch):
    types = ModuleType("rllm.eval.types")
    types.EvalOutput = types.Signal = SimpleNamespace
    monkeypatch.setitem(sys.modules, "rllm", ModuleType("rllm"))
    monkeypatch.setitem(sys.modules, "rllm.eval", ModuleType("rllm.eval"))
    monkeypatch.setitem(sys.modules, "rllm.eval.types", types)

    def paid(*steps, output=None):
        last = SimpleNamespace(steps=list(steps), output=output)
        episode = SimpleNamespace(trajectories=[last], artifacts={})
        return rllm.TruegradeEvaluator().evaluate({"ground_truth": TESTS}, episode).reward

    assert paid(_Said(model_response=RIGHT), _Said(model_response="Done.")) == 1.0
    assert paid(_Said(model_response=RIGHT), output="Done.") == 1.0
    assert paid(_Said(model_response=WRONG), _Said(output=RIGHT)) == 0.0  # a call of a tool, and what it returned
    assert paid(_Said(output=RIGHT, done=True)) == paid(_Said(model_response="So:", output=RIGHT)) == 1.0
    assert paid(_Said(model_response=RIGHT), output=WRONG) == 0.0


def test_the_function_that_tests_call_tells_which_turn_answers():
    use = said("```python\nimport json\ndef helper(): return add(1, 2)\n```")
    with RewardGrader() as grader:
        (reward,) = grader.grade_sync([PolicyReply(messages=[said(RIGHT), use], ground_truth=TESTS)])
        assert reward.value == 1.0
        unknown = [PolicyReply(messages=[said(RIGHT), said("Done.")], ground_truth=[])]
        assert grader.grade_sync(unknown)[0].detail.startswith("no tests: ")


def test_telemetry_keeps_what_was_graded():
    telemetry, seen = Telemetry(shadow=None), []
    telemetry.observe = lambda replies, rewards: seen.extend(replies)
    with RewardGrader(telemetry=telemetry) as grader:
        grader.grade_sync([PolicyReply(messages=[said(RIGHT), said("Done.")], ground_truth=TESTS)])
    assert [reply.text for reply in seen] == [RIGHT]


def test_programs_are_graded_as_they_are():
    program = "def add(a, b):\n    return a + b\n# <output>\n"
    with RewardGrader() as grader:
        (reward,) = grader.grade_sync([PolicyReply(text=program, form="program", ground_truth=TESTS)])
    assert reward.value == 1.0


def test_the_services_routes_for_rewards_read_turns():
    problem = {
        "task": {"type": "function", "prompt": "", "entry_point": "add", "tests": TESTS[0], "reference": ""}
    }
    with served() as service, service.http() as http:
        completions = [{"text": text} for text in TEXTS]
        answer = http.post("/v1/reward", json={"completions": completions, "problem": problem})
        assert answer.json()["rewards"] == [*TEXTS.values()], answer.text
        query = {"query": ["Q" + text for text in TEXTS], "prompts": ["Q"] * 3, "labels": [TESTS] * 3}
        assert http.post("/openrlhf", json=query).json()["rewards"] == [*TEXTS.values()]


TURNS = [
    ([said(WRONG), said(RIGHT), said("Done.")], (1, 2), 2, 1.0, 1.0),
    ([said(RIGHT), said(WRONG)], (1, 2), 1, -1.0, 1.0),
    (
        [said("Let me think."), said(WRONG), {"role": "tool", "content": RIGHT}, said(WRONG)],
        (2, 3),
        None,
        0.0,
        0.0,
    ),
    ([said("I cannot.")], (1,), None, 0.0, 0.0),
    (f"{WRONG}\n<observation>\n{RIGHT}\n</observation>\n{RIGHT}", (1, 2), 2, 1.0, 1.0),
]


@pytest.mark.parametrize("sync", [True, False])
def test_each_turn_has_its_reward(sync):
    replies = [
        PolicyReply(ground_truth=TESTS, **({"text": each} if isinstance(each, str) else {"messages": each}))
        for each, *_ in TURNS
    ]
    with RewardGrader() as grader:
        found = grader.grade_turns_sync(replies) if sync else asyncio.run(grader.grade_turns(replies))
    told = [(one.places, one.fix_at, one.gain, one.best.value) for one in found]
    assert told == [tuple(due) for _, *due in TURNS]


def test_what_is_not_known_of_a_turn_is_not_paid_as_wrong():
    with RewardGrader() as grader:
        (found,) = grader.grade_turns_sync([PolicyReply(messages=[said(WRONG), said(RIGHT)], ground_truth=[])])
    assert (found.fix_at, found.gain, found.best.value) == (None, None, None)


@pytest.mark.parametrize(
    "answer, messages, value",
    [
        ("last", [said(RIGHT), said(WRONG)], 0.0),
        ("any", [said(RIGHT), said(WRONG)], 1.0),
        ("any", [said(WRONG), {"role": "tool", "content": RIGHT}], 0.0),
        ("any", [], None),
        ("joined", [said(f"{RIGHT}\nSo"), said("it is.")], 1.0),
        ("joined", [said(WRONG), {"role": "tool", "content": RIGHT}], 0.0),
        ("joined", [said(RIGHT), said(WRONG)], 0.0),
    ],
)
def test_which_turns_are_paid_may_be_chosen(answer, messages, value):
    paid = trl.truegrade_reward(unknown="none", answer=answer)(completions=[messages], ground_truth=[TESTS])
    assert paid == [value]


def test_there_are_three_ways_to_choose_turns():
    with pytest.raises(UserError, match="`answer`: 'first' is none of last, any, joined"):
        RewardGrader(answer="first")
